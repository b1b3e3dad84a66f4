//! Partial states: the results of some splits of a corpus, with the digests that make merging safe.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::files::Files;
use super::summary::ScanSummary;
use super::worst::FlaggedRuns;
use crate::error::{Error, ErrorKind, Result, echo};
use crate::fingerprint::Fingerprint;
use crate::objects::in_order;
use crate::replicate::ReplicationState;
use crate::trace::{Digest, canonical_value};

/// The format version. Increment it with every change to the written form.
const VERSION: u64 = 7;

const SCAN: &str = "scan";
const REPLICATION: &str = "replication";

/// The value of the first member of every state.
const MARK: &str = "partial state";

/// The result of a scan of some splits: files, counts, worst runs and fingerprints.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ScanPart {
    /// The files, with how much of each was read.
    pub files: Files,
    /// The counts by detector and model.
    pub summary: ScanSummary,
    /// The worst flagged runs.
    pub worst: FlaggedRuns,
    /// The fingerprints of all runs of each model, if requested. Runs without a known model have the empty
    /// name.
    pub fingerprints: BTreeMap<String, Fingerprint>,
}

impl ScanPart {
    /// Returns the figures of a report, as `wrongturn check --output-format json` prints them.
    #[must_use]
    pub fn figures(&self) -> Value {
        let mut figures = json!(self.summary);
        if let Some(figures) = figures.as_object_mut() {
            figures.insert("ids".to_owned(), json!(self.summary.repeats()));
            figures.insert("fingerprints".to_owned(), json!(self.fingerprints));
            figures.insert("inputs".to_owned(), json!(self.files.figures()));
        }
        in_order(figures)
    }

    /// Adds the result of other splits.
    ///
    /// # Errors
    /// Same as [`Files::merge`]; `self` is unchanged in that case.
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

/// The result of a replication over some splits: files and runs, or sums over runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ReplicationPart {
    /// The files, with how much of each was read.
    pub files: Files,
    /// The runs, or sums over them.
    pub runs: ReplicationState,
}

impl ReplicationPart {
    /// Creates an empty result, which keeps up to `most_rows` runs, or only sums if there are more.
    #[must_use]
    pub fn new(most_rows: u64) -> Self {
        Self { files: Files::default(), runs: ReplicationState::new(most_rows) }
    }

    /// Adds the result of other splits.
    ///
    /// # Errors
    /// Same as [`Files::merge`]; `self` is unchanged in that case.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.files.merge(&other.files)?;
        self.runs.merge(&other.runs);
        Ok(())
    }
}

/// The content of a partial state.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum PartialContent {
    /// The result of a scan.
    Scan(Box<ScanPart>),
    /// The result of a replication.
    Replication(Box<ReplicationPart>),
}

impl PartialContent {
    fn kind(&self) -> &'static str {
        match self {
            Self::Scan(_) => SCAN,
            Self::Replication(_) => REPLICATION,
        }
    }
}

/// The result of some splits of a corpus, which can be merged with the results of other splits.
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
/// // A split that arrives again counts once.
/// all.merge(&part("day-1")?)?;
/// assert_eq!(all.splits().collect::<Vec<_>>(), ["day-1", "day-2"]);
/// let bytes = all.to_json()?;
/// assert_eq!(PartialState::from_json(&bytes)?, all);
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PartialState {
    /// In canonical JSON, so equal options are equal texts.
    options: String,
    splits: BTreeMap<String, Digest>,
    content: PartialContent,
}

/// The JSON members of a state before its digest, in order.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written<O, S> {
    wrongturn: String,
    version: u64,
    #[serde(rename = "crate")]
    made_by: String,
    kind: String,
    options: O,
    splits: BTreeMap<String, Digest>,
    state: S,
}

impl PartialState {
    /// Creates the state of one split. `options` is a JSON value with everything that the content depends on
    /// besides the split. States with different options cannot be merged.
    ///
    /// # Errors
    /// [`ErrorKind::Partial`] if the content cannot be serialized.
    pub fn new(split: impl Into<String>, options: &Value, content: PartialContent) -> Result<Self> {
        let written = serde_json::to_string(&content).map_err(|error| damaged(&error))?;
        let splits = [(split.into(), Digest::of_text(&written))].into();
        Ok(Self { options: canonical_value(options), splits, content })
    }

    /// Returns the options.
    #[must_use]
    pub fn options(&self) -> Value {
        serde_json::from_str(&self.options).unwrap_or(Value::Null)
    }

    /// Returns the names of the splits, sorted.
    pub fn splits(&self) -> impl Iterator<Item = &str> {
        self.splits.keys().map(String::as_str)
    }

    /// Returns the content.
    #[must_use]
    pub fn content(&self) -> &PartialContent {
        &self.content
    }

    /// Returns the content by value, for a report.
    #[must_use]
    pub fn into_content(self) -> PartialContent {
        self.content
    }

    /// Adds the results of other splits. A split that is in both states counts once.
    ///
    /// # Errors
    /// [`ErrorKind::Partial`] if the states differ in kind or options, if they hold the same split with
    /// different content, if each holds splits that the other lacks while they share some, or if a file is in
    /// several splits. `self` is unchanged in that case.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        let refuse = |what: String| Err(Error::new(ErrorKind::Partial, what));
        let (kind, others) = (self.content.kind(), other.content.kind());
        if kind != others {
            return refuse(format!("a state of kind {kind} cannot be merged with one of kind {others}"));
        }
        if self.options != other.options {
            let names = differing(&self.options(), &other.options());
            return refuse(format!("the states were made with different options: {names} differ"));
        }
        let shared: Vec<(&String, &Digest)> =
            other.splits.iter().filter(|(split, _)| self.splits.contains_key(*split)).collect();
        let differs = |(split, digest): &&(&String, &Digest)| self.splits.get(*split) != Some(*digest);
        if let Some((split, _)) = shared.iter().find(differs) {
            let split = echo(split);
            return refuse(format!("the split `{split}` is in both states, with different content"));
        }
        if shared.len() == other.splits.len() {
            return Ok(());
        }
        if shared.len() == self.splits.len() {
            self.clone_from(other);
            return Ok(());
        }
        if let Some((split, _)) = shared.first() {
            return refuse(format!(
                "the split `{}` is in both states, and both have others besides: merge the states of single splits",
                echo(split)
            ));
        }
        match (&mut self.content, &other.content) {
            (PartialContent::Scan(own), PartialContent::Scan(others)) => own.merge(others)?,
            (PartialContent::Replication(own), PartialContent::Replication(others)) => own.merge(others)?,
            // Different kinds were refused above.
            _ => {}
        }
        self.splits.extend(other.splits.iter().map(|(split, digest)| (split.clone(), *digest)));
        Ok(())
    }

    /// Returns the state as one line of JSON. Equal states have equal bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Partial`] if the state cannot be serialized.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        let written = Written {
            wrongturn: MARK.to_owned(),
            version: VERSION,
            made_by: env!("CARGO_PKG_VERSION").to_owned(),
            kind: self.content.kind().to_owned(),
            options: RawValue::from_string(self.options.clone()).map_err(|error| damaged(&error))?,
            splits: self.splits.clone(),
            state: &self.content,
        };
        let mut text = serde_json::to_string(&written).map_err(|error| damaged(&error))?;
        let digest = Digest::of_text(&text);
        text.pop();
        Ok(format!("{text}{DIGEST}{digest}\"}}\n").into_bytes())
    }

    /// Parses a state.
    ///
    /// # Errors
    /// [`ErrorKind::Version`] if it has another format version, or another version of this crate wrote it;
    /// [`ErrorKind::Partial`] if it is damaged or not a state.
    pub fn from_json(bytes: &[u8]) -> Result<Self> {
        /// The members that show whether the rest can be parsed.
        #[derive(Deserialize)]
        struct Head {
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
            let what = format!("the partial state has version {version}; this build reads version {VERSION}");
            return Err(Error::new(ErrorKind::Version, what));
        }
        let (made_by, own) = (head.made_by.unwrap_or_default(), env!("CARGO_PKG_VERSION"));
        if made_by != own {
            let what =
                format!("wrongturn `{}` made the partial state; this is version {own}", echo(&made_by));
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
        let content = match written.kind.as_str() {
            SCAN => serde_json::from_str(state).map(PartialContent::Scan),
            REPLICATION => serde_json::from_str(state).map(PartialContent::Replication),
            other => Err(serde::de::Error::unknown_variant(other, &[SCAN, REPLICATION])),
        };
        let content = content.map_err(|error| damaged(&error))?;
        Ok(Self { options: canonical_value(&written.options), splits: written.splits, content })
    }
}

/// Begins the last member of a state: the digest of everything before it.
const DIGEST: &str = ",\"digest\":\"";

fn edited() -> Error {
    let what = "the partial state is damaged: its digest does not match; write it again";
    Error::new(ErrorKind::Partial, what)
}

const NO_STATE: &str = "this is not a partial state (wrongturn check --partial writes them)";

fn damaged(error: &serde_json::Error) -> Error {
    Error::new(ErrorKind::Partial, format!("the partial state is damaged: {error}"))
}

fn differing(one: &Value, other: &Value) -> String {
    let (Value::Object(one), Value::Object(other)) = (one, other) else { return "they".to_owned() };
    let names: BTreeSet<&String> =
        one.keys().chain(other.keys()).filter(|name| one.get(*name) != other.get(*name)).collect();
    names.into_iter().map(|name| format!("`{}`", echo(name))).collect::<Vec<_>>().join(", ")
}
