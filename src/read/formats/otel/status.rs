//! The status of an action, by the most reliable sign.

use super::model::{Code, Span, SpanEvent};
use super::unwrap::{self, Outcome};
use crate::trace::{Content, Provenance, Status, Text, UnknownReason};

/// A status and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) status: Status,
    pub(super) provenance: Provenance,
    pub(super) reason: Option<UnknownReason>,
    pub(super) error_type: Option<String>,
}

impl Verdict {
    fn new(status: Status, provenance: Provenance) -> Self {
        Self { status, provenance, reason: None, error_type: None }
    }

    /// A refused call.
    pub(super) fn refused() -> Self {
        Self::new(Status::Error, Provenance::ErrorType)
    }

    /// A call without any sign of its status.
    pub(super) fn unanswered() -> Self {
        Self { reason: Some(UnknownReason::Unanswered), ..Self::new(Status::Unknown, Provenance::None) }
    }
}

/// Returns the status of an action from its tool spans, innermost first.
pub(super) fn of_tool(views: &[&Span<'_>], outcome: &Outcome<'_>, text_rule: bool) -> Verdict {
    let named = |keys: &[&str]| views.iter().find_map(|span| span.attributes.first_name(keys));
    let error_type = named(&["error.type"]);
    let exception = exceptions(views).next();
    let stated = named(&["gen_ai.tool.status", "tool.execution.status", "gen_ai.task.status"]);
    let failed = stated.is_some_and(|status| matches!(status, "error" | "failure" | "failed"));
    if views.iter().any(|span| span.status == Code::Error)
        || exception.is_some()
        || error_type.is_some()
        || failed
    {
        let exception_type = exception.and_then(|event| event.attributes.name("exception.type"));
        let error_type = error_type.or(exception_type).map(str::to_owned);
        return Verdict { error_type, ..Verdict::refused() };
    }
    if let Some(verdict) = of_outcome(outcome, text_rule) {
        return verdict;
    }
    if views.first().is_none_or(|span| span.end.is_none()) {
        return Verdict {
            reason: Some(UnknownReason::Unspecified),
            ..Verdict::new(Status::Unknown, Provenance::None)
        };
    }
    let is_stated = views.iter().any(|span| span.status == Code::Ok) || stated.is_some();
    Verdict::new(Status::Ok, if is_stated { Provenance::ErrorType } else { Provenance::None })
}

/// Returns the status of a call that no span shows, from its answer.
pub(super) fn of_answer(outcome: &Outcome<'_>, text_rule: bool) -> Verdict {
    let refused = matches!(&outcome.text, Content::Present(words) if is_refusal(words.text()));
    if outcome.is_error {
        return Verdict::new(Status::Error, Provenance::Flag);
    }
    if refused {
        return Verdict::refused();
    }
    of_outcome(outcome, text_rule).unwrap_or(Verdict::new(Status::Ok, Provenance::None))
}

fn of_outcome(outcome: &Outcome<'_>, text_rule: bool) -> Option<Verdict> {
    if outcome.is_error {
        return Some(Verdict::new(Status::Error, Provenance::Flag));
    }
    match &outcome.text {
        Content::Present(words) if text_rule && unwrap::own_text_begins(words.text(), "Error") => {
            Some(Verdict::new(Status::Error, Provenance::Text))
        }
        _ => None,
    }
}

/// Returns true if an answer says that the call was rejected: no such tool, or unreadable arguments.
fn is_refusal(text: Text<'_>) -> bool {
    const LOOKED_AT: usize = 300;
    let text = text.head(LOOKED_AT).to_lowercase();
    let has = |phrase: &str| text.contains(phrase);
    let of_tool = has("tool") || has("function") || has("action");
    let unknown = has("unknown tool")
        || has("unknown function")
        || has("not a valid tool")
        || has("no such tool")
        || has("could not find function")
        || of_tool
            && (has(" not found") || has("does not exist") || has("don't exist") || has("is not available"));
    // "order 7 not found" is an answer, as is the answer of a tool that searches for functions.
    let names_tool = ["tool ", "tool:", "tool'", "function ", "function:", "error", "unknown", "not a valid"]
        .iter()
        .any(|start| text.starts_with(start) || has(&format!(": {start}")))
        || has("no such tool")
        || has("could not find function")
        || has("available tools")
        || has("only available actions");
    let arguments = has("argument parsing failed")
        || has("arguments parsing failed")
        || has("validation failed")
        || has("validation error")
        || has("invalid json")
        || has("decoding function arguments")
        || has("decode function arguments")
        || has("invalid arguments for")
        || has("error invoking tool");
    unknown && names_tool || arguments
}

fn exceptions<'s, 'a>(views: &[&'s Span<'a>]) -> impl Iterator<Item = &'s SpanEvent<'a>> {
    views.iter().copied().flat_map(|span| span.events.iter().filter(|event| event.name == "exception"))
}

/// Returns the message of a failed call's exception.
pub(super) fn exception_message<'s>(views: &[&'s Span<'_>]) -> Option<&'s str> {
    exceptions(views).find_map(|event| event.attributes.name("exception.message"))
}

/// Returns the message in a span's status, unless it only names a type.
pub(super) fn status_message<'s>(views: &[&'s Span<'_>]) -> Option<&'s str> {
    let message = |span: &'s Span<'_>| {
        let message = span.message.trim();
        let bare = message.trim_end_matches([':', ' ']);
        let is_type = !bare.contains(char::is_whitespace)
            && bare.chars().all(|char| char.is_alphanumeric() || matches!(char, '_' | '.' | ':'))
            && bare.chars().any(|char| char.is_uppercase() || char == '_' || char == '.');
        (!bare.is_empty() && !is_type).then_some(message)
    };
    views.iter().copied().find_map(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(text: &str) -> Outcome<'_> {
        Outcome { text: Content::Present(text.into()), ..Outcome::default() }
    }

    fn span(status: Code, attributes: &[(&'static str, &'static str)]) -> Span<'static> {
        Span { status, end: Some(1), ..Span::default() }.with_attributes(attributes)
    }

    #[test]
    fn the_first_sign_counts() {
        let exception = || {
            let mut made = span(Code::Unset, &[]);
            made.events.push(SpanEvent { name: "exception".into(), ..SpanEvent::default() });
            made
        };
        let open = Span { end: None, ..span(Code::Unset, &[]) };
        let flagged = Outcome { is_error: true, ..outcome("x") };
        for (span, outcome, status, provenance) in [
            (span(Code::Error, &[]), outcome("fine"), Status::Error, Provenance::ErrorType),
            (exception(), outcome("fine"), Status::Error, Provenance::ErrorType),
            (span(Code::Ok, &[("error.type", "X")]), outcome("fine"), Status::Error, Provenance::ErrorType),
            (
                span(Code::Ok, &[("gen_ai.tool.status", "error")]),
                outcome("fine"),
                Status::Error,
                Provenance::ErrorType,
            ),
            (span(Code::Ok, &[]), flagged.clone(), Status::Error, Provenance::Flag),
            (span(Code::Ok, &[]), outcome("Error: no"), Status::Error, Provenance::Text),
            (span(Code::Ok, &[]), outcome("no Error"), Status::Ok, Provenance::ErrorType),
            (
                span(Code::Unset, &[("gen_ai.tool.status", "success")]),
                outcome("x"),
                Status::Ok,
                Provenance::ErrorType,
            ),
            (span(Code::Unset, &[]), outcome("x"), Status::Ok, Provenance::None),
            (open.clone(), outcome("x"), Status::Unknown, Provenance::None),
            (open, flagged, Status::Error, Provenance::Flag),
        ] {
            let verdict = of_tool(&[&span], &outcome, true);
            assert_eq!((verdict.status, verdict.provenance), (status, provenance), "{span:?} {outcome:?}");
        }
        let done = span(Code::Ok, &[]);
        assert_eq!(of_tool(&[&done], &outcome("Error: no"), false).status, Status::Ok);
        assert_eq!(
            of_tool(&[&done], &outcome(r#"{"result": "Error: no"}"#), true).provenance,
            Provenance::Text
        );
    }

    #[test]
    fn refusals_are_errors_of_calls_without_spans() {
        for text in [
            "Unknown tool name: 'get_ordr'. Available tools: 'get_order'",
            "Error: Requested function \"get_ordr\" not found.",
            "Error: get_ordr is not a valid tool, try one of [get_order].",
            "Tool with name get_ordr not found. Please select a tool that is available.",
            "Tool get_ordr not found in the list of tools",
            "Error executing tool: Tool 'x' not found",
            "Error: Argument parsing failed.",
            "Error invoking tool 'f' with kwargs {} with error:\n amount: Input should be a number",
            "1 validation error for f",
            "Error while decoding function arguments: x",
        ] {
            let verdict = of_answer(&outcome(text), true);
            assert_eq!(
                (verdict.status, verdict.provenance),
                (Status::Error, Provenance::ErrorType),
                "{text}"
            );
        }
        for text in
            ["order 7 not found", "The function sin was plotted", "42", "no results found by the search tool"]
        {
            assert_eq!(of_answer(&outcome(text), true).status, Status::Ok, "{text}");
        }
        assert_eq!(of_answer(&outcome("Error: no"), true).provenance, Provenance::Text);
    }

    #[test]
    fn a_bare_type_is_no_message() {
        for (message, expected) in [
            ("TOOL_ERROR", None),
            ("ToolRetryError: ", None),
            ("pydantic_ai.exceptions.ToolRetryError", None),
            ("", None),
            ("refund exceeds the limit", Some("refund exceeds the limit")),
            ("ValueError: no", Some("ValueError: no")),
            ("timeout", Some("timeout")),
        ] {
            let span = Span { message: message.into(), ..Span::default() };
            assert_eq!(status_message(&[&span]), expected, "{message}");
        }
    }
}
