//! Texts in a form in which what varies by chance is equal: times, durations, ids, temporary paths.

use std::borrow::Cow;

use super::phrases::Pattern;
use crate::trace::{Digest, Text, first_chars};

/// Lines in which a harness wraps what a command printed.
static WRAPPING: Pattern = Pattern::new(
    r"(?i)^(?:</?returncode>.*|</?(?:output|stdout|stderr)>|(?:stdout|stderr|output):|chunk id: .*|wall time: .*|original token count: .*|exit (?:code|status):? ?\d+|\(?(?:command|process) exited with (?:code|signal) .*|\(no (?:new )?output\))$",
);
/// The exit code that such a line tells.
static EXIT_CODE: Pattern = Pattern::new(
    r"(?im)^\(?(?:<returncode>|exit code:? |exit status |(?:command|process) exited with code )(-?\d+)",
);
/// What varies by chance.
static VARYING: Pattern = Pattern::new(
    r"(?ix)
    \b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b | \b0x[0-9a-f]+\b | \b[0-9a-f]{7,40}\b | \b\d{10,}\b
    | \b\d{4}-\d\d-\d\d(?:[t\x20]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?z?)?\b | \b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b
    | \b\d+(?:\.\d+)?\x20?(?:ns|us|ms|s|secs?|seconds?|mins?|minutes?|h|hours?)\b
    | /(?:private/)?(?:tmp|var/folders)/[\w.+/-]+
    | \b(?:pid|port|session|request|trace|tokens?)[\x20=:\#]+[\w-]*\d[\w-]*",
);
/// Numbers, and what they count if that matters.
static NUMBERS: Pattern =
    Pattern::new(r"(?i)\d+(?:[.,]\d+)*( (?:failed|passed|errors?|failures?|tests?|problems?)\b)?");

/// How much of the beginning and of the end of an answer is compared.
const COMPARED: usize = 2_000;

/// Removes the colours of a terminal.
pub(crate) fn plain(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return text;
    }
    let mut parts = text.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(
            part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').get(1..).unwrap_or_default(),
        );
    }
    Cow::Owned(out)
}

/// Returns the lines of an answer that say something, trimmed: without blank lines and the wrapping of the harness.
pub(crate) fn lines(answer: &str) -> impl DoubleEndedIterator<Item = &str> {
    let wraps = |line: &str| line.len() <= 80 && WRAPPING.is_match(line);
    answer.lines().map(bare).filter(move |line| !line.is_empty() && !wraps(line))
}

fn bare(line: &str) -> &str {
    let line = line.trim();
    let inner =
        line.strip_prefix("<tool_use_error>").or_else(|| line.strip_prefix("<error>")).unwrap_or(line);
    inner.strip_suffix("</tool_use_error>").or_else(|| inner.strip_suffix("</error>")).unwrap_or(inner)
}

/// Returns the exit code that the wrapping of an answer tells.
pub(crate) fn exit_code(answer: &str) -> Option<i64> {
    EXIT_CODE.group(answer)?.parse().ok()
}

/// Whether a short text may hold a time of day.
pub(crate) fn holds_clock(text: &Text<'_>) -> bool {
    let bytes = text.start(600);
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    text.len() <= 600 && memchr::memchr_iter(b':', bytes).any(|at| at > 0 && digit(at - 1) && digit(at + 1))
}

/// Returns a text with what varies by chance masked: `done in 0.31 s, pid 71, 2 passed` becomes `done in #, #, 2 passed`.
pub(crate) fn template(text: &str) -> String {
    String::from_utf8_lossy(&VARYING.mask(text.as_bytes())).into_owned()
}

/// Returns the digest of the template of an answer, as it is spelled, without the head in which a harness wraps it.
pub(crate) fn template_digest(text: Text<'_>) -> Digest {
    let spelling = text.spelling();
    let wrapped = memchr::memmem::find(text.start(300), b"Output:");
    let said = spelling.get(wrapped.map_or(0, |at| at + 7)..).unwrap_or_default();
    let (head, rest) = said.split_at(said.len().min(COMPARED));
    let tail = rest.get(rest.len().saturating_sub(COMPARED)..).unwrap_or_default();
    let masked = |part: &[u8]| Digest::of_spelling(&VARYING.mask(part));
    if tail.is_empty() { masked(head) } else { masked(head).and(masked(tail)) }
}

/// Returns at most 300 characters of a line with all numbers masked, except those that count tests and failures.
pub(crate) fn masked(line: &str) -> String {
    let masked = VARYING.mask(line.as_bytes());
    first_chars(&String::from_utf8_lossy(&NUMBERS.mask(&masked)), 300).to_owned()
}
