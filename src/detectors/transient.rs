//! Transient failures, which it is sound to try again.

use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::trace::{Action, Status};

/// How many characters of an observation are looked at.
const HEAD: usize = 300;

/// What makes an error transient. The default is the list of the definitions.
///
/// ```
/// use tracelint::{Action, Status, TransientRules};
///
/// let rules = TransientRules::default();
/// assert!(rules.matches(&Action::new("get").answered(Status::Error, "HTTP 503")));
/// assert!(!rules.matches(&Action::new("get").answered(Status::Error, "price 1,503")));
/// assert!(!rules.matches(&Action::new("get").answered(Status::Ok, "HTTP 503")));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TransientRules {
    /// Structured error types, compared without case, `_` and `-`; a type that holds one of them matches.
    pub error_types: Vec<String>,
    /// Numbers that match where they stand alone in the text.
    pub codes: Vec<u32>,
    /// Phrases that match anywhere in the text, without case.
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
                "overloaded",
            ]),
        }
    }
}

impl TransientRules {
    /// Whether the action failed, and failed transiently.
    #[must_use]
    pub fn matches(&self, action: &Action<'_>) -> bool {
        Matcher::new(self).matches(action)
    }

    pub(super) fn validate(&self, field: &str) -> Result<()> {
        let texts = self.error_types.iter().chain(&self.phrases);
        if texts.clone().any(|text| plain_type(text).is_empty()) {
            return Err(Error::config(field, "an empty text would match every error"));
        }
        Ok(())
    }
}

/// The rules, made ready.
#[derive(Debug, Clone)]
pub(super) struct Matcher {
    error_types: Vec<String>,
    codes: Vec<String>,
    phrases: Vec<Finder<'static>>,
}

impl Matcher {
    pub(super) fn new(rules: &TransientRules) -> Self {
        Self {
            error_types: rules.error_types.iter().map(|known| plain_type(known)).collect(),
            codes: rules.codes.iter().map(ToString::to_string).collect(),
            phrases: rules
                .phrases
                .iter()
                .map(|phrase| Finder::new(phrase.to_lowercase().as_bytes()).into_owned())
                .collect(),
        }
    }

    pub(super) fn matches(&self, action: &Action<'_>) -> bool {
        if action.status != Status::Error {
            return false;
        }
        if let Some(error_type) = action.error_type {
            let plain = plain_type(error_type);
            if self.error_types.iter().any(|known| plain.contains(known)) {
                return true;
            }
        }
        let Some(observation) = action.observation else { return false };
        let head = observation.head(HEAD).to_lowercase();
        self.phrases.iter().any(|phrase| phrase.find(head.as_bytes()).is_some())
            || numbers(&head).any(|number| self.codes.iter().any(|code| number == code))
    }
}

fn plain_type(error_type: &str) -> String {
    error_type.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

/// The whole numbers of a text: digits that no digit, `.digit` or `,digit` adjoins.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let digit = move |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let mark =
        move |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(|byte| b".,".contains(byte));
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + bytes.get(at..)?.iter().position(u8::is_ascii_digit)?;
            at = start + bytes.get(start..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let before = mark(start.checked_sub(1)) && digit(start.checked_sub(2));
            let behind = mark(Some(at)) && digit(Some(at + 1));
            if !before && !behind {
                return text.get(start..at);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_count_only_as_whole_numbers() {
        let rules = TransientRules::default();
        let transient = |text: &str| rules.matches(&Action::new("t").answered(Status::Error, text));
        for text in
            ["429", "HTTP/1.1 503.", "(500), sorry", "code=504;", "Timed OUT", "502,", "500, 10", "é503"]
        {
            assert!(transient(text), "{text}");
        }
        for text in ["5000", "1.500", "1,500 units", "500.25", "500,000", "order 15031", "not found"] {
            assert!(!transient(text), "{text}");
        }
        let late = format!("{}timeout", " ".repeat(300));
        assert!(!transient(&late));
        assert!(transient(&late[1..].replacen(' ', "", 7)));
    }

    #[test]
    fn a_structured_type_says_so_too() {
        let rules = TransientRules::default();
        let typed = |kind| rules.matches(&Action::new("t").answered(Status::Error, "").error_type(kind));
        assert!(typed("RATE_LIMIT_EXCEEDED") && typed("RateLimit") && typed("upstream-timeout"));
        assert!(!typed("invalid_argument"));
    }
}
