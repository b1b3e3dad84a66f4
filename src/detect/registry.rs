//! The detectors that a program can build by name, including its own.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::shared::quoted;
use super::{ALL, Detector, DetectorInfo, Preset, unknown_detector};
use crate::error::{Error, ErrorKind, Result};
use crate::trace::Actors;

/// Detectors by name. [`Registry::default`] holds those of this crate ([`ALL`]); [`Registry::empty`] holds none. Others
/// can be added; see [`Rule`](crate::detect::Rule) for an example.
///
/// ```
/// use serde_json::json;
/// use wrongturn::{Registry, detect::Preset, trace::Actors};
///
/// let registry = Registry::default();
/// let config = json!({"loop": {"min_repeats": 6}});
/// let detectors = registry.build(&["loop", "wasted_actions"], Preset::Default, Actors::Agent, &config)?;
/// assert_eq!(detectors.len(), 2);
///
/// // Without names, builds the default detectors and the opt-in ones that are configured.
/// let config = json!({"malformed_call": {}});
/// let detectors = registry.build(&[], Preset::Default, Actors::Agent, &config)?;
/// assert_eq!(detectors.len(), wrongturn::default_detectors().len() + 1);
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Registry {
    entries: Vec<DetectorInfo>,
}

impl Default for Registry {
    fn default() -> Self {
        Self { entries: ALL.to_vec() }
    }
}

impl Registry {
    /// Creates a registry without detectors.
    #[must_use]
    pub fn empty() -> Self {
        Self { entries: Vec::new() }
    }

    /// Adds a detector after the others.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] if the id is taken or not in `snake_case`.
    pub fn add(&mut self, info: DetectorInfo) -> Result<()> {
        let fail = |message: String| Err(Error::new(ErrorKind::Config, message));
        check_id(info.id)?;
        if self.get(info.id).is_some() {
            return fail(format!("a detector `{}` already exists", info.id));
        }
        self.entries.push(info);
        Ok(())
    }

    /// Returns the entries: those of this crate sorted by name, then the others in the order in which they were added.
    #[must_use]
    pub fn entries(&self) -> &[DetectorInfo] {
        &self.entries
    }

    /// Returns the entry of a detector, or `None` if the registry does not hold it.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&DetectorInfo> {
        self.entries.iter().find(|info| info.id == id)
    }

    /// Builds the named detectors, in the order of the registry. Without names, builds all detectors except
    /// the opt-in ones that `config` does not mention. `config` is a JSON object that maps detector ids to
    /// configurations, whose fields override the preset and `actors`; null overrides nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] if a detector or a field is unknown, or a value has the wrong type or is out of
    /// range.
    pub fn build(
        &self,
        ids: &[&str],
        preset: Preset,
        actors: Actors,
        config: &Value,
    ) -> Result<Vec<Arc<dyn Detector>>> {
        let none = Map::new();
        let config = match config {
            Value::Null => &none,
            Value::Object(config) => config,
            _ => return Err(Error::new(ErrorKind::Config, "the configuration must be a JSON object")),
        };
        for id in config.keys().map(String::as_str).chain(ids.iter().copied()) {
            if self.get(id).is_none() {
                return Err(unknown_detector(id, self.entries.iter().map(|info| info.id)));
            }
        }
        let chosen = self.entries.iter().filter(|info| match ids {
            [] => !info.opt_in || config.contains_key(info.id),
            ids => ids.contains(&info.id),
        });
        chosen.map(|info| info.build(preset, actors, config.get(info.id).unwrap_or(&Value::Null))).collect()
    }
}

fn check_id(id: &str) -> Result<()> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if id.is_empty() || !id.bytes().all(plain) {
        let message = format!("the detector id `{}` is not in snake_case", quoted(id));
        return Err(Error::new(ErrorKind::Config, message));
    }
    Ok(())
}

/// Checks that each detector has a unique id in `snake_case`.
pub(crate) fn check_ids(detectors: &[Arc<dyn Detector>]) -> Result<()> {
    for (position, detector) in detectors.iter().enumerate() {
        let id = detector.id();
        check_id(&id)?;
        if detectors.iter().take(position).any(|other| other.id() == id) {
            let message = format!("there are two detectors with the id `{id}`");
            return Err(Error::new(ErrorKind::Config, message));
        }
    }
    Ok(())
}
