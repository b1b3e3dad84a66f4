//! Profiles: detectors for the runs that a filter selects, such as those of one service or model.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::detect::Detector;
use crate::path_text::path_text;
use crate::read::Format;
use crate::trace::Metadata;

/// Conditions on a run. All must hold; without conditions, every run matches. Each is a pattern for the
/// whole value: `*` matches any number of characters and `?` matches one. A condition on a value that the run
/// lacks does not hold.
///
/// ```
/// use wrongturn::{Metadata, scan::RunFilter};
///
/// let mut filter = RunFilter::default();
/// filter.service = Some("support-*".to_owned());
/// let mut run = Metadata::default();
/// assert!(!filter.matches("a.json".as_ref(), None, &run));
/// run.labels.insert("resource.service.name".to_owned(), "support-eu".to_owned());
/// assert!(filter.matches("a.json".as_ref(), None, &run));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RunFilter {
    /// The name of the service, from the resource attribute `service.name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The name of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// The name of the format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The path of the file, as the scan names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A pattern for each label, by the name of the label.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub label: BTreeMap<String, String>,
}

/// The label that holds the name of the service.
const SERVICE: &str = "resource.service.name";

impl RunFilter {
    /// The names of the conditions.
    pub const KEYS: [&str; 7] = ["service", "agent", "model", "domain", "format", "path", "label"];

    /// Returns true if all conditions hold.
    #[must_use]
    pub fn matches(&self, file: &Path, format: Option<Format>, metadata: &Metadata) -> bool {
        let label = |name: &str| metadata.labels.get(name).map(String::as_str);
        let fits = |pattern: &Option<String>, value: Option<&str>| {
            pattern.as_deref().is_none_or(|pattern| value.is_some_and(|value| is_match(pattern, value)))
        };
        fits(&self.service, label(SERVICE))
            && fits(&self.agent, metadata.agent.as_deref())
            && fits(&self.model, metadata.model.as_deref())
            && fits(&self.domain, metadata.domain.as_deref())
            && fits(&self.format, format.map(Format::name))
            && fits(&self.path, Some(&path_text(file.as_os_str())))
            && self
                .label
                .iter()
                .all(|(name, pattern)| label(name).is_some_and(|text| is_match(pattern, text)))
    }
}

/// Returns true if a pattern matches the whole text.
fn is_match(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    // Where to resume if the last `*` matches one more character.
    let mut retry = None;
    loop {
        let rest = text.clone();
        match (pattern.next(), text.next()) {
            (Some('*'), _) => {
                retry = Some((pattern.clone(), rest.clone()));
                text = rest;
            }
            (None, None) => return true,
            (Some(one), Some(other)) if one == '?' || one == other => {}
            _ => {
                let Some((after, mut taken)) = retry.take() else { return false };
                if taken.next().is_none() {
                    return false;
                }
                (pattern, text) = (after.clone(), taken.clone());
                retry = Some((after, taken));
            }
        }
    }
}

/// Detectors for the runs that a filter matches.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Selects the runs.
    pub filter: RunFilter,
    /// The detectors that judge them, in place of the scanner's own.
    pub detectors: Vec<Arc<dyn Detector>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_the_whole_text() {
        for (pattern, text, expected) in [
            ("support-*", "support-", true),
            ("support-*", "support", false),
            ("*-mini*", "gpt-5-mini-2025", true),
            ("a?c", "aßc", true),
            ("a?c", "ac", false),
            ("*ab", "aab", true),
            ("*a*b", "xaxbxb", true),
            ("*a*b", "xaxbxbc", false),
            ("", "", true),
            ("", "a", false),
            ("**", "a", true),
        ] {
            assert_eq!(is_match(pattern, text), expected, "{pattern} {text}");
        }
    }
}
