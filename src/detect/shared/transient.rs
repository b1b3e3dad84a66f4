//! Transient failures, after which a retry is reasonable.

use std::cell::LazyCell;

use aho_corasick::AhoCorasick;
use serde::{Deserialize, Serialize};

use super::phrase_search::searcher;
use crate::error::{Error, Result};
use crate::trace::{Action, Arguments, Status};

/// Number of leading characters of an observation that are searched.
const HEAD: usize = 300;

/// The rules for transient errors. The default rules cover common timeouts, rate limits, server errors and
/// connection errors.
///
/// Codes and phrases are looked for in the first 300 characters of the observation. Those that also
/// occur in the call's arguments do not count.
///
/// ```
/// use wrongturn::{Action, Status, detect::TransientRules};
///
/// let rules = TransientRules::default();
/// assert!(rules.matches(&Action::new("get").answered(Status::Error, "HTTP 503")));
/// assert!(!rules.matches(&Action::new("get").answered(Status::Error, "price 1,503")));
/// assert!(!rules.matches(&Action::new("get").answered(Status::Ok, "HTTP 503")));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TransientRules {
    /// Structured error types, compared ignoring case, `_`, `-` and spaces. An action matches if its error type
    /// contains one of them.
    pub error_types: Vec<String>,
    /// Numbers, such as HTTP status codes. They match only where they are not part of a longer number.
    pub codes: Vec<u32>,
    /// Phrases that match anywhere, ignoring ASCII case.
    pub phrases: Vec<String>,
}

impl Default for TransientRules {
    fn default() -> Self {
        let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        Self {
            error_types: owned(&["timeout", "rate limit", "unavailable"]),
            codes: vec![429, 500, 502, 503, 504],
            phrases: owned(&[
                "timeout",
                "timed out",
                "temporarily",
                "rate limit",
                "try again",
                "service unavailable",
                "connection reset",
                "connection refused",
                "connection error",
                "can't connect to",
                "cannot connect to",
                "failed to connect",
                "can't reach",
                "overloaded",
                "database is locked",
                "setup refresh failed",
            ]),
        }
    }
}

impl TransientRules {
    /// Returns true if the action failed transiently.
    #[must_use]
    pub fn matches(&self, action: &Action<'_>) -> bool {
        action.status == Status::Error && Matcher::new(self).is_transient(action)
    }

    pub(in crate::detect) fn validate(&self, field: &str) -> Result<()> {
        let texts = self.error_types.iter().chain(&self.phrases);
        if texts.clone().any(|text| plain_type(text).is_empty()) {
            return Err(Error::config(field, "an empty text would match every error"));
        }
        Ok(())
    }
}

/// The compiled rules.
#[derive(Debug)]
pub(in crate::detect) struct Matcher {
    pub(super) are_default: bool,
    error_types: Vec<String>,
    /// Phrases first, then numbers, in lower case. Of two that match at the same place, the longer one wins.
    texts: Option<AhoCorasick>,
    phrases: usize,
}

impl Matcher {
    pub(in crate::detect) fn new(rules: &TransientRules) -> Self {
        let numbers = rules.codes.iter().map(ToString::to_string);
        let phrases = rules.phrases.iter().map(|phrase| phrase.to_ascii_lowercase());
        Self {
            are_default: *rules == TransientRules::default(),
            error_types: rules.error_types.iter().map(|known| plain_type(known)).collect(),
            texts: searcher(phrases.chain(numbers).collect()),
            phrases: rules.phrases.len(),
        }
    }

    /// Returns true if an action that failed did so transiently.
    pub(in crate::detect) fn is_transient(&self, action: &Action<'_>) -> bool {
        if let Some(error_type) = action.error_type {
            let plain = plain_type(error_type);
            if self.error_types.iter().any(|known| plain.contains(known)) {
                return true;
            }
        }
        let (Some(texts), Some(observation)) = (&self.texts, action.observation.present()) else {
            return false;
        };
        let mut head = observation.head(HEAD).into_owned();
        head.make_ascii_lowercase();
        // The answer may merely quote a phrase from the call itself.
        let given = LazyCell::new(|| {
            let arguments = action.arguments.as_ref().present().and_then(Arguments::json);
            arguments.unwrap_or_default().to_lowercase()
        });
        // If a server fails because of the code that it was sent, a retry fails too.
        let is_bug = || ["syntaxerror", "typeerror", "referenceerror"].iter().any(|bug| head.contains(bug));
        texts.find_iter(&head).any(|found| {
            let is_phrase = found.pattern().as_usize() < self.phrases;
            let said = head.get(found.range()).unwrap_or_default();
            let is_code = || stands_alone(head.as_bytes(), found.start(), found.end()) && !is_bug();
            (is_phrase || is_code()) && !given.contains(said)
        })
    }
}

/// Returns true if no digit is adjacent to the number at these bytes, not even across a single `.` or `,`.
fn stands_alone(text: &[u8], start: usize, end: usize) -> bool {
    let digit = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(u8::is_ascii_digit);
    let mark = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(|byte| b".,".contains(byte));
    let (before, behind) = (start.checked_sub(1), Some(end));
    !(digit(before)
        || digit(behind)
        || mark(before) && digit(start.checked_sub(2))
        || mark(behind) && digit(Some(end + 1)))
}

fn plain_type(error_type: &str) -> String {
    error_type.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}
