//! `wrongturn.toml`: the detectors, thresholds, profiles, ignored findings and gate of a project.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use wrongturn::{
    Confidence, Detector, Finding, Registry, Verdict,
    detect::{ALL, Preset, detector_info, with_min_confidence},
    scan::{Profile, RunFilter, TraceRecord},
    trace::Actors,
};

use super::{Failure, output};

const NAME: &str = "wrongturn.toml";

/// The settings of a project. Flags override or extend them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct Config {
    /// The detectors to run; if empty, the defaults.
    pub(crate) select: Vec<String>,
    /// Drops findings with less confidence.
    pub(crate) min_confidence: Option<Confidence>,
    /// Conditions, as with `--fail-on`.
    pub(crate) fail_on: Vec<String>,
    /// The file of known findings, as with `--baseline`.
    pub(crate) baseline: Option<PathBuf>,
    /// The configuration of each detector.
    pub(crate) detectors: Map<String, Value>,
    /// Detectors for some runs, by profile name, in the order of the file.
    #[serde(rename = "profile")]
    profiles: toml::Table,
    /// Rules for findings to drop.
    pub(crate) ignore: Vec<Ignore>,
    /// The file.
    #[serde(skip)]
    path: PathBuf,
}

#[derive(Debug, Deserialize, Serialize)]
struct RunProfile {
    #[serde(rename = "match")]
    filter: RunFilter,
    /// The detectors to run; if empty, those that [`Config::select`] names.
    #[serde(default)]
    select: Vec<String>,
    /// Configurations that replace those of [`Config::detectors`], detector by detector.
    #[serde(default)]
    detectors: Map<String, Value>,
}

/// The detectors of a project, and those of its profiles.
pub(crate) struct Judges {
    pub(crate) own: Vec<Arc<dyn Detector>>,
    pub(crate) profiles: Vec<Profile>,
}

/// An ignore rule: drops findings that meet all conditions given.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ignore {
    detector: Option<String>,
    task: Option<String>,
    model: Option<String>,
    /// A part of the message, such as the name of a tool.
    message: Option<String>,
    /// Why the findings are dropped.
    reason: String,
    /// The number of findings that this rule has dropped.
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
    /// Reads the given file, or else the nearest `wrongturn.toml` up to the root of the repository. Without a
    /// file, returns the defaults. A `.json` file holds only the configurations of detectors.
    pub(crate) fn load(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path.map(Path::to_path_buf).or_else(nearest) else { return Ok(Self::default()) };
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json")) {
            let detectors: Map<String, Value> = output::parse(&path, |text| serde_json::from_str(text))?;
            for id in detectors.keys() {
                detector_info(id).map_err(output::at(&path))?;
            }
            return Ok(Self { detectors, path, ..Self::default() });
        }
        let config = output::parse(&path, Self::parse)?;
        let baseline = config.baseline.map(|baseline| path.parent().unwrap_or(Path::new("")).join(baseline));
        Ok(Self { baseline, path, ..config })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let table: toml::Table = text.parse().map_err(|error| wrong(text, &error))?;
        check_keys(&table.into(), &schema(), "")?;
        let config: Self = toml::from_str(text).map_err(|error| wrong(text, &error))?;
        let profiles = config.profiles()?;
        let lists = profiles.iter().map(|(_, profile)| (&profile.select, &profile.detectors));
        let lists = lists.chain([(&config.select, &config.detectors)]);
        let named = lists.flat_map(|(select, detectors)| select.iter().chain(detectors.keys()));
        let ignored = config.ignore.iter().filter_map(|ignore| ignore.detector.as_ref());
        for id in named.chain(ignored) {
            detector_info(id).map_err(|error| error.to_string())?;
        }
        match config.ignore.iter().find(|ignore| ignore.reason.trim().is_empty()) {
            Some(_) => Err("expected a reason for each `ignore`, got an empty one".to_owned()),
            None => Ok(config),
        }
    }

    /// Returns the profiles by name, in the order of the file.
    fn profiles(&self) -> Result<Vec<(&str, RunProfile)>, String> {
        let mut profiles = Vec::new();
        for (name, profile) in &self.profiles {
            let profile: Result<RunProfile, toml::de::Error> = profile.clone().try_into();
            let profile =
                profile.map_err(|error| format!("profile.{name}: {}", error.to_string().trim_end()))?;
            profiles.push((name.as_str(), profile));
        }
        Ok(profiles)
    }

    /// Builds the detectors, and those of each profile. A run uses the first profile that matches. If `ids`
    /// is empty, uses the ids that the file selects.
    pub(crate) fn build(
        &self,
        ids: &[String],
        preset: Preset,
        actors: Actors,
        min_confidence: Confidence,
    ) -> Result<Judges, Failure> {
        let least = self.min_confidence.unwrap_or(Confidence::Likely).max(min_confidence);
        let build = |select: &[String], detectors: &Map<String, Value>| {
            let ids = if ids.is_empty() { select } else { ids };
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let configured = Value::Object(detectors.clone());
            let built = Registry::default().build(&ids, preset, actors, &configured);
            Ok::<_, Failure>(with_min_confidence(built.map_err(output::at(&self.path))?, least))
        };
        let own = build(&self.select, &self.detectors)?;
        let mut profiles = Vec::new();
        for (name, RunProfile { filter, select, detectors }) in self.profiles()? {
            let select = if select.is_empty() { &self.select } else { &select };
            let mut configured = self.detectors.clone();
            configured.extend(detectors);
            let mut judging =
                build(select, &configured).map_err(|error| format!("{error} (profile.{name})"))?;
            // Reuse the project's detector where the configuration is the same, so the scanner holds it once.
            for detector in &mut judging {
                let id = detector.id();
                if let Some(same) = own.iter().find(|known| known.id() == id)
                    && configured.get(&*id) == self.detectors.get(&*id)
                {
                    *detector = Arc::clone(same);
                }
            }
            profiles.push(Profile { filter, detectors: judging });
        }
        Ok(Judges { own, profiles })
    }

    /// Returns the settings that partial states record: the detectors, profiles and ignore rules.
    pub(crate) fn state(&self) -> Result<Value, Failure> {
        let mut state = Map::from_iter([("config".to_owned(), Value::Object(self.detectors.clone()))]);
        let profiles = self.profiles()?;
        if !profiles.is_empty() {
            state.insert("profiles".to_owned(), serde_json::to_value(profiles)?);
        }
        if !self.ignore.is_empty() {
            state.insert("ignore".to_owned(), serde_json::to_value(&self.ignore)?);
        }
        Ok(Value::Object(state))
    }

    /// Removes the findings of a run that match an ignore rule of the file.
    pub(crate) fn remove_ignored(&self, record: &mut TraceRecord) {
        remove(record, |record, finding| {
            let ignore = self.ignore.iter().find(|ignore| ignore.fits(record, finding));
            ignore.is_some_and(|ignore| {
                ignore.used.fetch_add(1, Ordering::Relaxed);
                true
            })
        });
    }

    /// Warns about ignore rules that matched no finding, and about profiles without a run. `filters` has the filter of
    /// each profile, and whether a run used the profile.
    pub(crate) fn report_unused(&self, filters: &[(RunFilter, AtomicBool)]) {
        for ignore in self.ignore.iter().filter(|ignore| ignore.used.load(Ordering::Relaxed) == 0) {
            let path = self.path.display();
            super::note(&format!("warning: {path}: this ignore rule matched no finding: {}", ignore.reason));
        }
        for ((name, _), (_, is_matched)) in self.profiles.iter().zip(filters) {
            if !is_matched.load(Ordering::Relaxed) {
                super::note(&format!("warning: {}: profile.{name} is used by no run", self.path.display()));
            }
        }
    }
}

/// Removes the findings of a run for which `goes` returns true, and returns their number. A detector that
/// loses all its findings no longer flags the run.
pub(crate) fn remove(record: &mut TraceRecord, goes: impl Fn(&TraceRecord, &Finding) -> bool) -> u64 {
    let gone = record.findings().filter(|finding| goes(record, finding)).map(|finding| finding.id.clone());
    let gone: BTreeSet<String> = gone.collect();
    let mut removed = 0;
    for (_, verdict) in &mut record.verdicts {
        if let Verdict::Judged(judgement) = verdict {
            let before = judgement.findings.len();
            judgement.findings.retain(|finding| !gone.contains(&finding.id));
            removed += (before - judgement.findings.len()) as u64;
            judgement.detected &= before == 0 || !judgement.findings.is_empty();
        }
    }
    removed
}

/// Returns the nearest `wrongturn.toml`, from the working directory up to the root of the repository.
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

/// Returns an error if a table has a key that the schema does not list. Skips `detectors`, which is checked when
/// detectors are built.
fn check_keys(value: &toml::Value, schema: &Value, place: &str) -> Result<(), String> {
    for item in value.as_array().into_iter().flatten() {
        check_keys(item, schema.get("items").unwrap_or(&Value::Null), place)?;
    }
    let known = schema.get("properties").and_then(Value::as_object);
    for (key, value) in value.as_table().into_iter().flatten().filter(|(key, _)| *key != "detectors") {
        match (known, known.and_then(|known| known.get(key)).or(schema.get("additionalProperties"))) {
            (_, Some(inside @ Value::Object(_))) => check_keys(value, inside, &format!("{place}{key}."))?,
            (Some(known), _) => {
                let near = match detector_info(key) {
                    Ok(_) => format!("; did you mean `{place}detectors.{key}`?"),
                    Err(_) => nearest_of(key, known.keys().map(String::as_str)),
                };
                return Err(format!("unknown key `{place}{key}`{near}"));
            }
            (None, _) => {}
        }
    }
    Ok(())
}

fn wrong(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let message = error.message().replace("expected a sequence", "expected a list");
    format!("line {}: {message}", before.matches('\n').count() + 1)
}

/// Returns a hint with the known name closest to a misspelt one.
fn nearest_of<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    let near = known.into_iter().map(|known| (strsim::jaro(name, known), known));
    let near = near.max_by(|(one, _), (other, _)| one.total_cmp(other));
    near.map(|(_, known)| format!("; did you mean `{known}`?")).unwrap_or_default()
}

/// Returns the JSON Schema of the file. The keys of each detector are those of its default configuration.
pub(crate) fn schema() -> Value {
    let ids: Vec<&str> = ALL.iter().map(|info| info.id).collect();
    let detectors = ALL.iter().map(|info| {
        let config = info.config(Preset::Default, Actors::Agent);
        let keys = config.as_object().into_iter().flatten();
        let keys: Map<String, Value> =
            keys.map(|(key, default)| (key.clone(), key_schema(default))).collect();
        let schema = json!({
            "type": "object",
            "description": info.summary,
            "additionalProperties": false,
            "properties": keys,
        });
        (info.id.to_owned(), schema)
    });
    let detectors: Map<String, Value> = detectors.collect();
    let detectors = json!({"type": "object", "additionalProperties": false, "properties": detectors});
    let pattern = |key: &str| match key {
        "label" => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        _ => json!({"type": "string"}),
    };
    let filter: Map<String, Value> =
        RunFilter::KEYS.map(|key| (key.to_owned(), pattern(key))).into_iter().collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "wrongturn.toml",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "select": {"type": "array", "items": {"enum": ids}},
            "min-confidence": {"enum": ["likely", "certain"]},
            "fail-on": {"type": "array", "items": {"type": "string"}},
            "baseline": {"type": "string"},
            "detectors": &detectors,
            "profile": {"type": "object", "additionalProperties": {
                "type": "object",
                "description": "detectors for the runs that match; the first profile that matches a run is used",
                "additionalProperties": false,
                "required": ["match"],
                "properties": {
                    "match": {
                        "type": "object",
                        "description": "patterns, all of which must match; * stands for any characters, ? for one",
                        "additionalProperties": false,
                        "properties": filter,
                    },
                    "select": {"type": "array", "items": {"enum": ids}},
                    "detectors": &detectors,
                },
            }},
            "ignore": {"type": "array", "items": {
                "type": "object",
                "additionalProperties": false,
                "required": ["reason"],
                "properties": {
                    "detector": {"enum": ids},
                    "task": {"type": "string"},
                    "model": {"type": "string"},
                    "message": {"type": "string", "description": "a part of the message"},
                    "reason": {"type": "string", "minLength": 1},
                },
            }},
        },
    })
}

/// Returns the schema of a key from its default. A key whose default is null takes any value.
fn key_schema(default: &Value) -> Value {
    let name = match default {
        Value::Null => return json!({}),
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    json!({"type": name, "default": default})
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
        let unknown = detector_info("lop").unwrap_err().to_string();
        assert_eq!(error("select = [\"lop\"]"), unknown);
        assert!(error("[[ignore]]\ndetector = \"loop\"\nreason = \"\"").contains("a reason"));
        assert!(error("[[ignore]]\ndetector = \"loop\"").contains("reason"));
        let profile = |text: &str| error(&format!("[profile.a]\nmatch = {{ model = \"m\" }}\n{text}"));
        assert_eq!(profile("slect = []"), "unknown key `profile.a.slect`; did you mean `select`?");
        assert_eq!(profile("[profile.a.detectors.lop]"), unknown);
        assert_eq!(
            error("[profile.a]\nmatch = { servce = \"s\" }"),
            "unknown key `profile.a.match.servce`; did you mean `service`?"
        );
        assert_eq!(error("[profile.a]"), "profile.a: missing field `match`");
        assert_eq!(error("[[ignore]]\nreson = \"x\""), "unknown key `ignore.reson`; did you mean `reason`?");
    }
}
