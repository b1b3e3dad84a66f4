//! `wrongturn.toml`: the detectors, thresholds, ignored findings and gate of a project.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;
use serde_json::{Map, Value};
use wrongturn::{Confidence, Finding, Verdict, detect::ALL, scan::TraceRecord};

use super::{Failure, output};

/// The name of the file that is looked for.
const NAME: &str = "wrongturn.toml";

/// The keys of the file, for messages on misspelt ones.
const KEYS: [&str; 6] = ["baseline", "detectors", "fail-on", "ignore", "min-confidence", "select"];

/// The settings of a project. Flags come on top of them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct Config {
    /// Detectors that run; empty means the defaults.
    pub(crate) select: Vec<String>,
    /// Findings below it are left out.
    pub(crate) min_confidence: Option<Confidence>,
    /// Conditions of `--fail-on`.
    pub(crate) fail_on: Vec<String>,
    /// Findings that are known, as with `--baseline`.
    pub(crate) baseline: Option<PathBuf>,
    /// The configuration of each detector.
    pub(crate) detectors: Map<String, Value>,
    /// Findings that are left out.
    pub(crate) ignore: Vec<Ignore>,
}

/// Findings that are left out: those of which all that is given here holds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ignore {
    detector: Option<String>,
    task: Option<String>,
    model: Option<String>,
    /// A part of the message, such as the name of a tool.
    message: Option<String>,
    /// Why they are left out.
    reason: String,
    /// How many findings it left out.
    #[serde(skip)]
    used: AtomicU64,
}

impl Ignore {
    fn fits(&self, record: &TraceRecord, finding: &Finding) -> bool {
        let is = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
        };
        is(&self.detector, Some(&finding.detector))
            && is(&self.task, record.metadata.task.as_deref())
            && is(&self.model, record.metadata.model.as_deref())
            && self.message.as_deref().is_none_or(|part| finding.message.contains(part))
    }
}

impl Config {
    /// Reads the file that is given, or else the nearest `wrongturn.toml` up to the root of the repository. A file that
    /// ends in `.json` holds the configurations of detectors alone.
    pub(crate) fn load(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path.map(Path::to_path_buf).or_else(nearest) else { return Ok(Self::default()) };
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json")) {
            let detectors = output::parse(&path, |text| serde_json::from_str(text))?;
            return Ok(Self { detectors, ..Self::default() });
        }
        let config = output::parse(&path, Self::parse)?;
        let baseline = config.baseline.map(|baseline| path.parent().unwrap_or(Path::new("")).join(baseline));
        Ok(Self { baseline, ..config })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
        if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(format!("unknown key `{key}`{}", nearest_of(key, KEYS)));
        }
        let config: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        let named =
            config.select.iter().map(String::as_str).chain(config.detectors.keys().map(String::as_str));
        let ignored = config.ignore.iter().filter_map(|ignore| ignore.detector.as_deref());
        for id in named.chain(ignored) {
            if !ALL.iter().any(|info| info.id == id) {
                return Err(format!(
                    "unknown detector `{id}`{}",
                    nearest_of(id, ALL.iter().map(|info| info.id))
                ));
            }
        }
        match config.ignore.iter().find(|ignore| ignore.reason.trim().is_empty()) {
            Some(_) => Err("expected a reason for each `ignore`, got an empty one".to_owned()),
            None => Ok(config),
        }
    }

    /// Removes the findings of a run that the file ignores.
    pub(crate) fn remove_ignored(&self, record: &mut TraceRecord) {
        if self.ignore.is_empty() {
            return;
        }
        let mut ignored: Vec<String> = Vec::new();
        for finding in record.verdicts.iter().flat_map(|(_, verdict)| verdict.findings()) {
            if let Some(ignore) = self.ignore.iter().find(|ignore| ignore.fits(record, finding)) {
                ignore.used.fetch_add(1, Ordering::Relaxed);
                ignored.push(finding.id.clone());
            }
        }
        remove(record, |finding| ignored.contains(&finding.id));
    }

    /// Reports entries that left nothing out.
    pub(crate) fn report_unused(&self) {
        for ignore in self.ignore.iter().filter(|ignore| ignore.used.load(Ordering::Relaxed) == 0) {
            super::note(&format!("warning: {NAME}: nothing to ignore for: {}", ignore.reason));
        }
    }
}

/// Removes findings of a run. A detector that keeps none does not flag the run any more. Returns how many went.
pub(crate) fn remove(record: &mut TraceRecord, goes: impl Fn(&Finding) -> bool) -> u64 {
    let mut removed = 0;
    for (_, verdict) in &mut record.verdicts {
        if let Verdict::Judged(judgement) = verdict {
            let before = judgement.findings.len();
            judgement.findings.retain(|finding| !goes(finding));
            removed += (before - judgement.findings.len()) as u64;
            judgement.detected &= before == 0 || !judgement.findings.is_empty();
        }
    }
    removed
}

/// The nearest `wrongturn.toml` of the working directory and those above it, up to the root of the repository.
fn nearest() -> Option<PathBuf> {
    let start = std::env::current_dir().ok()?;
    for folder in start.ancestors() {
        let path = folder.join(NAME);
        if path.is_file() {
            return Some(path);
        }
        if folder.join(".git").exists() {
            break;
        }
    }
    None
}

/// A hint at the known name that is most like a misspelt one.
pub(crate) fn nearest_of<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    let near = known.into_iter().map(|known| (strsim::jaro(name, known), known));
    let near = near.max_by(|(one, _), (other, _)| one.total_cmp(other));
    near.map(|(_, known)| format!("; did you mean `{known}`?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_misspelt_keys_name_the_nearest() {
        let config = Config::parse(
            "select = [\"loop\"]\nmin-confidence = \"certain\"\nfail-on = [\"loop>5%\"]\n\
             [detectors.loop]\nmin_repeats = 4\n[[ignore]]\ndetector = \"loop\"\nreason = \"polls\"\n",
        );
        let config = config.as_ref().ok();
        assert_eq!(config.map(|config| config.select.len()), Some(1));
        assert_eq!(config.and_then(|config| config.min_confidence), Some(Confidence::Certain));
        let error = |text: &str| Config::parse(text).err().unwrap_or_default();
        assert_eq!(error("fail_on = []"), "unknown key `fail_on`; did you mean `fail-on`?");
        assert_eq!(error("select = [\"lop\"]"), "unknown detector `lop`; did you mean `loop`?");
        assert!(error("[[ignore]]\ndetector = \"loop\"\nreason = \"\"").contains("a reason"));
        assert!(error("[[ignore]]\ndetector = \"loop\"").contains("reason"));
    }
}
