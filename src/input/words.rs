//! Texts of messages and results left where they lie, as the rules on texts want them.

use super::common;
use crate::json::{Kind, Raw};
use crate::trace::{Actor, Content, Text, Words};

/// A string, left where it lies.
pub(super) fn lying(value: Raw<'_>) -> Option<Text<'_>> {
    if value.kind() == Kind::String { value.json().text().ok().map(Text::from) } else { None }
}

/// The text of a message, if it is more than white space. See [`common::message_text`].
pub(super) fn message(content: Raw<'_>) -> Option<Words<'_>> {
    let words = match lying(content) {
        Some(text) => Words::Lying(text),
        None => common::message_text(content)?.into(),
    };
    (!is_blank(words.text())).then_some(words)
}

/// The text of a result. See [`common::result_text`].
pub(super) fn result(content: Raw<'_>) -> Option<Words<'_>> {
    match lying(content) {
        Some(text) => Some(Words::Lying(text)),
        None => common::result_text(content).map(Words::from),
    }
}

/// As [`result`], of a value that may be missing.
pub(super) fn result_of(content: Option<Raw<'_>>) -> Content<Words<'_>> {
    content.and_then(result).into()
}

/// Whether a text is only white space.
pub(super) fn is_blank(text: Text<'_>) -> bool {
    common::is_blank(&text.head(1)) && common::is_blank(&text.to_str())
}

/// The first line of a text, without its line feed.
pub(super) fn first_line(text: &str) -> &str {
    text.split('\n').next().unwrap_or_default()
}

/// What speaks in this role of a chat.
pub(super) fn actor_of(role: &str) -> Actor {
    match role {
        "assistant" => Actor::Agent,
        "user" => Actor::User,
        "system" | "developer" => Actor::System,
        _ => Actor::Environment,
    }
}

/// The code that a line tells behind these words, and nothing else stands on it: whether it is not 0.
pub(super) fn exit_line(line: &str, words: &str) -> Option<bool> {
    let code = line.strip_prefix(words)?;
    let digits = code.strip_prefix('-').unwrap_or(code);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.bytes().any(|byte| byte != b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Raw<'_> {
        Raw::over(json.as_bytes(), 0)
    }

    #[test]
    fn texts_of_messages_and_of_results() {
        for (json, message_text, result_text) in [
            (r#""a\nb""#, Some("a\nb"), Some("a\nb")),
            (r#"" \t\r\n""#, None, Some(" \t\r\n")),
            (r#""""#, None, Some("")),
            ("null", None, None),
            ("[]", None, Some("")),
            ("7.0", None, Some("7")),
            (r#"{"b": 1, "a": "x"}"#, None, Some(r#"{"a":"x","b":1}"#)),
            (r#"[{"type": "text", "text": "a"}, {"text": "b"}, "c"]"#, Some("a\nb\nc"), Some("a\nb\nc")),
            (
                r#"[{"type": "input_text", "text": "a"}, {"type": "output_text", "text": ""}]"#,
                Some("a\n"),
                Some("a\n"),
            ),
            (
                r#"[{"type": "image", "id": 1.0}, {"type": "text", "text": "a"}]"#,
                Some("a"),
                Some("{\"id\":1,\"type\":\"image\"}\na"),
            ),
        ] {
            let told = |words: Option<Words<'_>>| words.map(|words| words.text().to_str().into_owned());
            assert_eq!(told(message(raw(json))).as_deref(), message_text, "{json}");
            assert_eq!(told(result(raw(json))).as_deref(), result_text, "{json}");
        }
    }

    #[test]
    fn lines_that_tell_exit_codes() {
        for (line, failed) in [
            ("Exit code 0", Some(false)),
            ("Exit code 12", Some(true)),
            ("Exit code -1", Some(true)),
            ("Exit code ", None),
            ("Exit code 1 ", None),
            ("exit code 1", None),
            ("Exit code --1", None),
        ] {
            assert_eq!(exit_line(line, "Exit code "), failed, "{line}");
        }
    }
}
