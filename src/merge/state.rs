//! A partial state: what was found in some splits of a corpus, with what it takes to merge it safely.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::files::Files;
use super::ids::Repeats;
use super::summary::ScanSummary;
use super::worst::FlaggedRuns;
use crate::error::{Error, ErrorKind, Result, echo};
use crate::fingerprint::Fingerprint;
use crate::names::named;
use crate::replicate::ReplicationState;
use crate::trace::{Digest, canonical_value};

/// The version of the form. Any change of what is written is a new one.
const VERSION: u64 = 7;

/// What the first member of every state says.
const MARK: &str = "partial state";

/// Whether a partial state is of a scan or of a replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PartialKind {
    /// A scan with detectors.
    Scan,
    /// A replication.
    Replication,
}

named! { PartialKind, "kind" { Scan => "scan", Replication => "replication" } }

/// What a scan found in some splits: files, counts, worst runs, fingerprints.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ScanPart {
    /// What became of the files.
    pub files: Files,
    /// The counts.
    pub summary: ScanSummary,
    /// The worst of the flagged runs.
    pub worst: FlaggedRuns,
    /// The fingerprints of all runs of each model, where they were taken; the empty name where none is known.
    pub fingerprints: BTreeMap<String, Fingerprint>,
}

impl ScanPart {
    /// Returns the figures of a report, as `wrongturn check --output-format json` prints them.
    #[must_use]
    pub fn figures(&self) -> Value {
        let mut figures = json!(self.summary);
        if let Some(figures) = figures.as_object_mut() {
            let Repeats { ids, copies, others, of_about, .. } = self.summary.repeats();
            let repeats = json!({"ids": ids, "copies": copies, "others": others, "of_about": of_about});
            figures.insert("ids".to_owned(), repeats);
            figures.insert("fingerprints".to_owned(), json!(self.fingerprints));
            figures.insert("inputs".to_owned(), json!(self.files.figures()));
        }
        figures
    }

    /// Adds what was found elsewhere.
    ///
    /// # Errors
    /// As [`Files::merge`]; nothing is added then.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.files.merge(&other.files)?;
        self.summary.merge(&other.summary);
        self.worst.merge(&other.worst);
        for (model, fingerprint) in &other.fingerprints {
            self.fingerprints.entry(model.clone()).or_default().merge(fingerprint);
        }
        Ok(())
    }
}

/// What a replication found in some splits: files and runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ReplicationPart {
    /// What became of the files.
    pub files: Files,
    /// The runs.
    pub runs: ReplicationState,
}

impl ReplicationPart {
    /// A part without runs that keeps up to so many of them one by one.
    #[must_use]
    pub fn new(most_rows: u64) -> Self {
        Self { files: Files::default(), runs: ReplicationState::new(most_rows) }
    }

    /// Adds what was found elsewhere.
    ///
    /// # Errors
    /// As [`Files::merge`]; nothing is added then.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.files.merge(&other.files)?;
        self.runs.merge(&other.runs);
        Ok(())
    }
}

/// What a partial state holds, by its kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum PartialContent {
    /// What a scan found.
    Scan(Box<ScanPart>),
    /// What a replication found.
    Replication(Box<ReplicationPart>),
}

impl PartialContent {
    /// The kind of the state.
    #[must_use]
    pub fn kind(&self) -> PartialKind {
        match self {
            Self::Scan(_) => PartialKind::Scan,
            Self::Replication(_) => PartialKind::Replication,
        }
    }
}

/// What was found in some splits of a corpus, to be merged with what was found in others.
///
/// The guide on [scale](crate::guide::scale) has the commands.
///
/// ```
/// use serde_json::json;
/// use wrongturn::merge::{PartialContent, PartialState, ScanPart};
///
/// let part = |split: &str| {
///     let found = PartialContent::Scan(Box::new(ScanPart::default()));
///     PartialState::new(split, &json!({"actors": "agent"}), found)
/// };
/// let mut all = part("day-1")?;
/// all.merge(&part("day-2")?)?;
/// // A part that comes again counts once.
/// all.merge(&part("day-1")?)?;
/// assert_eq!(all.splits().collect::<Vec<_>>(), ["day-1", "day-2"]);
/// let bytes = all.to_json()?;
/// assert_eq!(PartialState::from_json(&bytes)?, all);
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PartialState {
    /// In canonical form.
    options: String,
    splits: BTreeMap<String, Digest>,
    content: PartialContent,
}

/// The members in their order; the same for both sides.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written<O, S> {
    wrongturn: String,
    version: u64,
    #[serde(rename = "crate")]
    made_by: String,
    kind: PartialKind,
    options: O,
    splits: BTreeMap<String, Digest>,
    state: S,
}

impl PartialState {
    /// The state of one split. `options` is a JSON value with whatever the content depends on besides the split;
    /// states with other options are not merged.
    ///
    /// # Errors
    /// [`ErrorKind::Partial`] where the content cannot be written.
    pub fn new(split: impl Into<String>, options: &Value, content: PartialContent) -> Result<Self> {
        let written = serde_json::to_string(&content).map_err(|error| damaged(&error))?;
        let splits = [(split.into(), Digest::of_text(&written))].into();
        Ok(Self { options: canonical_value(options), splits, content })
    }

    /// The kind of the state.
    #[must_use]
    pub fn kind(&self) -> PartialKind {
        self.content.kind()
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> Value {
        serde_json::from_str(&self.options).unwrap_or(Value::Null)
    }

    /// The names of the splits, sorted.
    pub fn splits(&self) -> impl Iterator<Item = &str> {
        self.splits.keys().map(String::as_str)
    }

    /// What was found.
    #[must_use]
    pub fn content(&self) -> &PartialContent {
        &self.content
    }

    /// What was found, to be reported.
    #[must_use]
    pub fn into_content(self) -> PartialContent {
        self.content
    }

    /// Adds what was found in other splits. A split that is in both counts once.
    ///
    /// # Errors
    /// [`ErrorKind::Partial`], and nothing is added: where the other is of another kind or has other options, where a
    /// split is in both with different content, where both share splits and have others besides, where a file is in
    /// several splits.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        let refuse = |what: String| Err(Error::new(ErrorKind::Partial, what));
        if self.kind() != other.kind() {
            return refuse(format!(
                "a state of kind {} cannot be merged with one of kind {}",
                self.kind(),
                other.kind()
            ));
        }
        if self.options != other.options {
            let names = differing(&self.options(), &other.options());
            return refuse(format!("the states were made with other options: {names} differ"));
        }
        let mut shared = 0;
        for (split, digest) in &other.splits {
            match self.splits.get(split) {
                Some(own) if own == digest => shared += 1,
                Some(_) => {
                    return refuse(format!(
                        "the split `{}` is in both states, with different content",
                        echo(split)
                    ));
                }
                None => {}
            }
        }
        if shared == other.splits.len() {
            return Ok(());
        }
        if shared == self.splits.len() {
            self.clone_from(other);
            return Ok(());
        }
        if let Some(split) = other.splits.keys().find(|split| self.splits.contains_key(*split)) {
            return refuse(format!(
                "the split `{}` is in both states, and both have others besides: merge the states of single splits",
                echo(split)
            ));
        }
        match (&mut self.content, &other.content) {
            (PartialContent::Scan(own), PartialContent::Scan(others)) => own.merge(others)?,
            (PartialContent::Replication(own), PartialContent::Replication(others)) => own.merge(others)?,
            // Of different kinds, which was refused above.
            _ => {}
        }
        self.splits.extend(other.splits.iter().map(|(split, digest)| (split.clone(), *digest)));
        Ok(())
    }

    /// The state as a line of JSON. The same state has the same bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Partial`] where it cannot be written.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        let written = Written {
            wrongturn: MARK.to_owned(),
            version: VERSION,
            made_by: env!("CARGO_PKG_VERSION").to_owned(),
            kind: self.kind(),
            options: RawValue::from_string(self.options.clone()).map_err(|error| damaged(&error))?,
            splits: self.splits.clone(),
            state: &self.content,
        };
        let mut text = serde_json::to_string(&written).map_err(|error| damaged(&error))?;
        let digest = Digest::of_text(&text);
        text.pop();
        Ok(format!("{text}{DIGEST}{digest}\"}}\n").into_bytes())
    }

    /// Reads a state.
    ///
    /// # Errors
    /// [`ErrorKind::Version`] where it was written in another version; [`ErrorKind::Partial`] where it is none, or
    /// damaged.
    pub fn from_json(bytes: &[u8]) -> Result<Self> {
        /// What decides whether the rest can be read.
        #[derive(Deserialize)]
        struct Head {
            #[serde(default)]
            wrongturn: Option<String>,
            version: Option<u64>,
            #[serde(rename = "crate")]
            made_by: Option<String>,
        }
        let no_state = || Error::new(ErrorKind::Partial, NO_STATE);
        let begins = format!("{{\"wrongturn\":\"{MARK}\"");
        let head: Head = serde_json::from_slice(bytes).map_err(|error| {
            if bytes.starts_with(begins.as_bytes()) { damaged(&error) } else { no_state() }
        })?;
        if head.wrongturn.as_deref() != Some(MARK) {
            return Err(no_state());
        }
        let version = head.version.map_or_else(|| "none".to_owned(), |version| version.to_string());
        if head.version != Some(VERSION) {
            let what = format!("the partial state has version {version}, this build reads version {VERSION}");
            return Err(Error::new(ErrorKind::Version, what));
        }
        let (made_by, own) = (head.made_by.unwrap_or_default(), env!("CARGO_PKG_VERSION"));
        if made_by != own {
            let what = format!("the partial state was made by version `{}`, this is {own}", echo(&made_by));
            return Err(Error::new(ErrorKind::Version, what));
        }
        let text = std::str::from_utf8(bytes).ok().and_then(|text| text.trim_end().strip_suffix("\"}"));
        let (text, digest) = text.and_then(|text| text.rsplit_once(DIGEST)).ok_or_else(edited)?;
        let text = format!("{text}}}");
        if digest != Digest::of_text(&text).to_string() {
            return Err(edited());
        }
        let written: Written<Value, &RawValue> =
            serde_json::from_str(&text).map_err(|error| damaged(&error))?;
        let state = written.state.get();
        let content = match written.kind {
            PartialKind::Scan => serde_json::from_str(state).map(PartialContent::Scan),
            PartialKind::Replication => serde_json::from_str(state).map(PartialContent::Replication),
        };
        let content = content.map_err(|error| damaged(&error))?;
        Ok(Self { options: canonical_value(&written.options), splits: written.splits, content })
    }
}

/// Begins the last member of a state: the digest of all before it.
const DIGEST: &str = ",\"digest\":\"";

fn edited() -> Error {
    let what = "the partial state is damaged: its digest does not match; write it again";
    Error::new(ErrorKind::Partial, what)
}

/// What is said of an input that does not begin as a state.
const NO_STATE: &str = "this is no partial state (wrongturn check --partial writes them)";

fn damaged(error: &serde_json::Error) -> Error {
    Error::new(ErrorKind::Partial, format!("the partial state is damaged: {error}"))
}

/// The names of the options that are not the same.
fn differing(one: &Value, other: &Value) -> String {
    let (Value::Object(one), Value::Object(other)) = (one, other) else { return "they".to_owned() };
    let names: BTreeSet<&String> =
        one.keys().chain(other.keys()).filter(|name| one.get(*name) != other.get(*name)).collect();
    names.into_iter().map(|name| format!("`{}`", echo(name))).collect::<Vec<_>>().join(", ")
}
