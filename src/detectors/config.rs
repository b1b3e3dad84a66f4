//! What the configurations of all detectors have in common.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::detector::Detector;
use super::finding::{FailureClass, FailureMode};
use crate::error::{Error, ErrorKind, Result};
use crate::trace::Actors;

/// Which defaults a configuration starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Preset {
    /// The defaults for tool traces.
    #[default]
    Default,
    /// The published rules of the `BenchTrace` benchmark.
    BenchTrace,
}

crate::names::named! { Preset, "preset" { Default => "default", BenchTrace => "bench-trace" } }

/// A detector of this crate: its name, its documentation, and how it is made from a configuration.
pub(super) trait Configured: Detector + Sized + 'static {
    type Config: Serialize + DeserializeOwned + Default;
    const ID: &'static str;
    const CLASS: FailureClass;
    const SUMMARY: &'static str;
    const DOCS: &'static str;
    const MODE: FailureMode = FailureMode { class: Self::CLASS, name: Self::ID };

    fn bench_trace() -> Self::Config;
    fn with_actors(config: Self::Config, actors: Actors) -> Self::Config;
    fn build(config: Self::Config) -> Result<Self>;
}

/// A preset as JSON.
pub(super) fn preset_value<D: Configured>(preset: Preset, actors: Actors) -> Value {
    let config = match preset {
        Preset::Default => D::Config::default(),
        Preset::BenchTrace => D::bench_trace(),
    };
    serde_json::to_value(D::with_actors(config, actors)).unwrap_or_default()
}

/// The detector of a preset, with the fields of `overrides` (a JSON object, or null) put over it.
pub(super) fn build_boxed<D: Configured>(
    preset: Preset,
    actors: Actors,
    overrides: &Value,
) -> Result<std::sync::Arc<dyn Detector>> {
    let mut config = preset_value::<D>(preset, actors);
    match (overrides, config.as_object_mut()) {
        (Value::Null, _) => {}
        (Value::Object(fields), Some(config)) => {
            config.extend(fields.iter().map(|(field, value)| (field.clone(), value.clone())));
        }
        _ => return Err(Error::config(D::ID, "the configuration must be a JSON object")),
    }
    let name = |message: String| Error::new(ErrorKind::Config, format!("{}: {message}", D::ID));
    let config = read_config::<D::Config>(&config).map_err(name)?;
    Ok(std::sync::Arc::new(D::build(config).map_err(|error| name(error.message()))?))
}

/// Reads field by field, so that a wrong type names its field as well.
fn read_config<C: DeserializeOwned>(config: &Value) -> std::result::Result<C, String> {
    serde_json::from_value::<C>(config.clone()).map_err(|error| {
        let culprit = config.as_object().and_then(|fields| {
            fields.iter().find(|(field, value)| {
                let alone = Value::Object(std::iter::once(((*field).clone(), (*value).clone())).collect());
                serde_json::from_value::<C>(alone).is_err()
            })
        });
        match culprit {
            Some((field, _)) => format!("{field}: {error}"),
            None => error.to_string(),
        }
    })
}
