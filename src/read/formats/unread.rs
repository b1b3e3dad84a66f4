//! Formats that are known by their marks and not read. An input of one is an error with its name.

use crate::error::{Error, ErrorKind};
use crate::read::document::Document;
use crate::read::members::Members;

use super::recorded::any_of_first;

/// A format that is not read.
struct Known {
    name: &'static str,
    /// Keys that an object of the format has: the document, one of its items, or one of its lines.
    keys: &'static [&'static str],
    /// A key among these whose value begins with a text.
    begins: Option<(&'static str, &'static str)>,
}

impl Known {
    const fn by_keys(name: &'static str, keys: &'static [&'static str]) -> Self {
        Self { name, keys, begins: None }
    }

    const fn by_text(
        name: &'static str,
        keys: &'static [&'static str],
        begins: (&'static str, &'static str),
    ) -> Self {
        Self { name, keys, begins: Some(begins) }
    }

    fn fits(&self, object: &Members<'_>) -> bool {
        let begins =
            |(key, text): (&str, &str)| object.name(key).is_some_and(|value| value.starts_with(text));
        self.keys.iter().all(|key| object.has(key)) && self.begins.is_none_or(begins)
    }
}

/// Formats of JSON. Each has keys that no other format has together.
const OF_JSON: [Known; 13] = [
    Known::by_keys("Aider analytics", &["event", "properties", "user_id", "time"]),
    Known::by_keys("Aider benchmark result", &["testdir", "testcase", "edit_format", "tests_outcomes"]),
    Known::by_keys("Braintrust log", &["span_attributes", "root_span_id", "_xact_id"]),
    Known::by_keys("ChatGPT export", &["mapping", "current_node", "create_time"]),
    Known::by_keys("Cursor composer", &["composerId", "fullConversationHeadersOnly"]),
    Known::by_keys("HAL upload, which is encrypted", &["encrypted_data", "salt"]),
    Known::by_keys("LangGraph checkpoint", &["channel_versions", "versions_seen", "channel_values"]),
    Known::by_keys("LlamaIndex event", &["qualified_name", "__is_pydantic", "value"]),
    Known::by_keys("n8n execution", &["workflowData", "mode", "startedAt"]),
    Known::by_text("OpenAI Assistants thread", &["object", "thread_id"], ("object", "thread.")),
    Known::by_keys("Semantic Kernel chat history", &["Role", "Items"]),
    Known::by_keys("spans without ids", &["start_time_unix_nano", "end_time_unix_nano", "attributes"]),
    Known::by_keys("Weave call", &["op_name", "trace_id", "inputs"]),
];

/// Formats of text, by how they begin.
const OF_TEXT: [(&str, &str); 2] =
    [("Aider history", "\n# aider chat started at "), ("Aider history", "# aider chat started at ")];

/// The error of an input of a format of this name.
pub(in crate::read) fn error(name: &str) -> Error {
    Error::new(ErrorKind::Format, format!("{name}: not read"))
}

/// The name of the format of a document, if it is one that is known and not read.
pub(in crate::read) fn of_document(document: &Document<'_>) -> Option<&'static str> {
    let known = |known: &&Known| match document {
        Document::Object(object) => known.fits(object),
        document => any_of_first(document.items(), |object| known.fits(object)),
    };
    OF_JSON.iter().find(known).map(|known| known.name)
}

/// The name of the format of a text that is not JSON, if it is one that is known and not read.
pub(in crate::read) fn of_text(text: &[u8]) -> Option<&'static str> {
    OF_TEXT.iter().find(|(_, begins)| text.starts_with(begins.as_bytes())).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{ReadOptions, read_traces};

    /// An object with the marks of a format and nothing else.
    fn marked(known: &Known) -> String {
        let member = |key: &&str| match known.begins {
            Some((begins, text)) if begins == *key => format!("{key:?}: {text:?}"),
            _ => format!("{key:?}: null"),
        };
        format!("{{{}}}", known.keys.iter().map(member).collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn the_error_names_the_format() {
        for known in &OF_JSON {
            let object = marked(known);
            for input in [format!("[{object}]"), format!("{{\"other\": 1}}\n{object}\n{object}\n"), object] {
                let (traces, reading) = read_traces(input.as_bytes(), &ReadOptions::default());
                assert!(traces.is_empty(), "{input}");
                let errors: Vec<_> =
                    reading.errors.iter().map(|error| (error.kind(), error.message())).collect();
                assert_eq!(errors, [(ErrorKind::Format, format!("{}: not read", known.name))], "{input}");
            }
        }
        for (name, begins) in OF_TEXT {
            let input = format!("{begins}2026-01-02 10:00:00\n\n#### hello\n");
            let (_, reading) = read_traces(input.as_bytes(), &ReadOptions::default());
            assert_eq!(reading.errors.first().map(Error::message), Some(format!("{name}: not read")));
        }
    }

    #[test]
    fn one_missing_mark_is_another_format() {
        for known in &OF_JSON {
            let Some((_, fewer)) = known.keys.split_last() else { continue };
            let object = format!(
                "{{{}}}",
                fewer.iter().map(|key| format!("{key:?}: null")).collect::<Vec<_>>().join(", ")
            );
            let (_, reading) = read_traces(object.as_bytes(), &ReadOptions::default());
            let error = reading.errors.first().map(Error::message).unwrap_or_default();
            assert!(!error.contains(": not read"), "{object}: {error}");
        }
    }

    #[test]
    fn the_guide_names_every_format() {
        let guide = include_str!("../../guide/formats.md");
        let names = OF_JSON.iter().map(|known| known.name).chain(OF_TEXT.iter().map(|(name, _)| *name));
        for name in names {
            assert!(guide.contains(name), "{name} is missing in the guide");
        }
    }
}
