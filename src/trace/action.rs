//! An action with its observation: a tool call and its answer, or a command and its output.

use std::borrow::Cow;

use serde_json::Value;

use super::canonical;
use super::content::Content;
use super::digest::{self, Digest};
use super::text::Text;
use crate::json::Raw;
use crate::names::named;

named! {
    /// How an action ended.
    #[derive(PartialOrd, Ord, Default)]
    pub enum Status: "status" {
        /// It was answered without an error.
        Ok = "ok",
        /// It was answered with an error.
        Error = "error",
        /// It was not answered, or how it ended is not recorded; see [`UnknownReason`].
        #[default]
        Unknown = "unknown",
    }
}

named! {
    /// Why the status of an action is unknown.
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum UnknownReason: "reason" {
        /// No answer came.
        Unanswered = "unanswered",
        /// The user refused it, so it did not run.
        Refused = "refused",
        /// It was cancelled before it ran, because a parallel call failed.
        Cancelled = "cancelled",
        /// It was interrupted.
        Interrupted = "interrupted",
        /// It is still running in the background.
        Running = "running",
        /// The source does not record the status.
        Unspecified = "not_told",
    }
}

named! {
    /// The origin of a status, in order of decreasing trust.
    #[derive(PartialOrd, Ord, Default)]
    #[non_exhaustive]
    pub enum Provenance: "provenance" {
        /// A structured error flag.
        Flag = "flag",
        /// The exit code of a command.
        ExitCode = "exit_code",
        /// A structured error type, or the status of a span.
        ErrorType = "error_type",
        /// The text of the observation, or of a call that is written as text.
        Text = "text",
        /// Unknown.
        #[default]
        None = "none",
    }
}

/// The arguments of a call: their digest, and their JSON text if it was kept.
#[derive(Debug, Clone)]
pub struct Arguments<'a> {
    /// `None` if it was not kept, or if a native trace has only the digest.
    json: Option<Cow<'a, str>>,
    digest: Digest,
}

impl<'a> Arguments<'a> {
    /// Makes arguments from a JSON value, in canonical form. Null has the digest of an empty object.
    #[must_use]
    pub fn from_value(value: &Value) -> Self {
        let json = canonical::of_value(value);
        let digest = Arguments::from_json(&json).digest;
        Self { json: Some(Cow::Owned(json)), digest }
    }

    /// Makes arguments from JSON text. Text that is not valid JSON counts as a string. `null` has the digest of
    /// an empty object.
    #[must_use]
    pub fn from_json(json: &'a str) -> Self {
        let digest = if json == "null" { Digest::of_no_arguments() } else { Digest::of_json(json) };
        Self::from_parts(json, digest)
    }

    pub(crate) fn from_parts(json: &'a str, digest: Digest) -> Self {
        Self { json: Some(Cow::Borrowed(json)), digest }
    }

    pub(crate) fn from_digest(digest: Digest) -> Self {
        Self { json: None, digest }
    }

    /// Makes arguments from a text, borrowed or owned, with a known digest.
    pub(crate) fn with_digest(json: Cow<'a, str>, digest: Digest) -> Self {
        Self { json: Some(json), digest }
    }

    pub(crate) fn into_made<'b>(self) -> Arguments<'b> {
        Arguments { json: self.json.map(|json| Cow::Owned(json.into_owned())), digest: self.digest }
    }

    pub(crate) fn borrowed(&self) -> Arguments<'_> {
        Arguments { json: self.json.as_deref().map(Cow::Borrowed), digest: self.digest }
    }

    /// Returns the digest of the canonical form.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the text as it was given, or canonical JSON for arguments made from a [`Value`]. `None` if the
    /// text was not kept; see [`ReadOptions::argument_texts`](crate::ReadOptions::argument_texts).
    #[must_use]
    pub fn json(&self) -> Option<&str> {
        self.json.as_deref()
    }

    /// Returns the text as canonical JSON, or unchanged if it is not valid JSON or has more than 128 levels. `None`
    /// if the text was not kept.
    #[must_use]
    pub fn canonical(&self) -> Option<String> {
        self.json().map(canonical::of_text)
    }

    /// Returns the value at a path of member names and list indexes, separated by dots, such as
    /// `edits.0.path`. `None` if the value is missing or the text was not kept. Other values are skipped
    /// without being parsed.
    ///
    /// ```
    /// use serde_json::json;
    /// use wrongturn::trace::Arguments;
    ///
    /// let arguments = Arguments::from_json(r#"{"edits": [{"path": "a.rs"}], "dry": true}"#);
    /// assert_eq!(arguments.get("edits.0.path"), Some(json!("a.rs")));
    /// assert_eq!(arguments.get("edits.1"), None);
    /// ```
    #[must_use]
    pub fn get(&self, path: &str) -> Option<Value> {
        let whole = Raw::over(self.json()?.trim_ascii().as_bytes(), 0);
        let found = path.split('.').try_fold(whole, |value, name| match value.items() {
            Some(items) => items.get(name.parse::<usize>().ok()?).copied(),
            None => value.member(name),
        });
        serde_json::from_slice(found?.bytes()).ok()
    }

    /// Returns the digest of one argument, or `None` if it was not given or the text was not kept.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<Digest> {
        digest::member(self.json()?, name)
    }
}

/// An action with its observation: a tool call and its answer, or a command and its output.
///
/// ```
/// use wrongturn::{Action, Status};
///
/// let arguments = serde_json::json!({"order_id": "#W1"});
/// let action = Action::new("get_order").arguments(&arguments).answered(Status::Error, "Error: not found");
/// assert_eq!(action.status, Status::Error);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Action<'a> {
    /// Name of the tool, or the whole text of a command.
    pub name: &'a str,
    /// The arguments. Absent arguments count as an empty object.
    pub arguments: Content<Arguments<'a>>,
    /// The id that the source gives the call. It may repeat within a run, so it does not identify an action.
    pub call_id: Option<&'a str>,
    /// The answer, or the output of a command.
    pub observation: Content<Text<'a>>,
    /// How the action ended.
    pub status: Status,
    /// The origin of the status.
    pub provenance: Provenance,
    /// Why the status is unknown. Validation removes it from an action with any other status.
    pub reason: Option<UnknownReason>,
    /// The structured type of an error, such as `timeout`.
    pub error_type: Option<&'a str>,
}

impl<'a> Action<'a> {
    /// Makes an action without an answer.
    #[must_use]
    pub fn new(name: &'a str) -> Self {
        Self {
            name,
            arguments: Content::Absent,
            call_id: None,
            observation: Content::Absent,
            status: Status::Unknown,
            provenance: Provenance::None,
            reason: None,
            error_type: None,
        }
    }

    /// Sets the arguments.
    #[must_use]
    pub fn arguments(mut self, arguments: &Value) -> Self {
        self.arguments = Content::Present(Arguments::from_value(arguments));
        self
    }

    /// Sets the call id.
    #[must_use]
    pub fn call_id(mut self, id: &'a str) -> Self {
        self.call_id = Some(id);
        self
    }

    /// Sets the observation and the status, with [`Provenance::Flag`].
    #[must_use]
    pub fn answered(mut self, status: Status, observation: &'a str) -> Self {
        self.observation = Content::Present(observation.into());
        self.status = status;
        self.provenance = Provenance::Flag;
        self
    }

    /// Sets the status to unknown, for this reason.
    #[must_use]
    pub fn unknown(mut self, reason: UnknownReason) -> Self {
        self.status = Status::Unknown;
        self.reason = Some(reason);
        self
    }

    /// Sets the origin of the status.
    #[must_use]
    pub fn provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = provenance;
        self
    }

    /// Sets the structured error type.
    #[must_use]
    pub fn error_type(mut self, error_type: &'a str) -> Self {
        self.error_type = Some(error_type);
        self
    }
}

/// The digests by which detectors compare actions, computed once.
///
/// ```
/// use serde_json::json;
/// use wrongturn::{Status, Trace, trace::{Actors, Digests}};
///
/// let mut run = Trace::builder();
/// run.call("Look", &json!({"x": 1, "y": 2}), Status::Ok, "a wall")?;
/// run.call("look", &json!({"y": 2, "x": 1.0}), Status::Ok, "a door")?;
/// let trace = run.build()?;
/// let digests: Vec<Digests> =
///     trace.steps().filter_map(|step| step.digested(Actors::Agent).map(|(_, digests)| digests)).collect();
/// assert_ne!(digests[0].name, digests[1].name);
/// assert_eq!(digests[0].folded_name, digests[1].folded_name);
/// assert_eq!(digests[0].arguments, digests[1].arguments);
/// assert_ne!(digests[0].observation, digests[1].observation);
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Digests {
    /// The name as recorded.
    pub name: Digest,
    /// The name, trimmed and lower-cased.
    pub folded_name: Digest,
    /// The arguments in canonical form; absent ones count as an empty object. `None` if they were not
    /// recorded.
    pub arguments: Option<Digest>,
    /// The observation.
    pub observation: Content<Digest>,
    /// The folded name with the arguments.
    call: Option<Digest>,
}

impl Digests {
    pub(crate) fn of(action: &Action<'_>) -> Self {
        let name = Digest::of_text(action.name);
        let folded = fold_name(action.name);
        let arguments = match &action.arguments {
            Content::Absent => Some(Digest::of_no_arguments()),
            Content::NotRecorded => None,
            Content::Present(arguments) => Some(arguments.digest()),
        };
        let folded_name = if folded == action.name { name } else { Digest::of_text(&folded) };
        Self::new(name, folded_name, arguments, action.observation.map(|text| text.digest()))
    }

    pub(super) fn new(
        name: Digest,
        folded_name: Digest,
        arguments: Option<Digest>,
        observation: Content<Digest>,
    ) -> Self {
        let call = arguments.map(|arguments| folded_name.and(arguments));
        Self { name, folded_name, arguments, observation, call }
    }

    /// Returns the digest of the folded name with the arguments, or `None` if the arguments were not
    /// recorded.
    pub(crate) fn call(&self) -> Option<Digest> {
        self.call
    }

    /// Like [`Digests::call`], with the name as recorded.
    pub(crate) fn exact_call(&self) -> Option<Digest> {
        if self.name == self.folded_name {
            self.call
        } else {
            self.arguments.map(|given| self.name.and(given))
        }
    }
}

/// Trims and lower-cases a name.
pub(crate) fn fold_name(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(name);
    }
    let trimmed = name.trim();
    if trimmed.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        Cow::Borrowed(trimmed)
    } else {
        Cow::Owned(trimmed.to_lowercase())
    }
}
