//! Normalizes answers: masks the parts that vary by chance, such as times, durations, ids and temporary paths.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::phrase_search::{Hints, Pattern};
use crate::json::Block;
use crate::trace::{Digest, Text, first_chars};

/// Lines that a harness puts around the output of a command. [`may_wrap`] must know how each begins.
static WRAPPING: Pattern = Pattern::new(
    r"(?i)^(?:</?returncode>.*|</?(?:output|stdout|stderr)>|(?:stdout|stderr|output):|chunk id: .*|wall time: .*|original token count: .*|\[?exit (?:code|status):? ?\d+\]?|\(?(?:command|process) exited with (?:code|signal) .*|\(no (?:new )?output\)|rc=\d+)$",
);
/// Words that a harness leaves in place of an answer that it removed from the context.
static WITHHELD: Pattern = Pattern::new(
    r"(?i)^\W{0,2}(?:(?:old |earlier |previous )?(?:tool (?:result|output|use)s?|environment output)(?: content)?:? (?:\(\d+ lines )?(?:was |were |has been |have been )?(?:cleared|removed|omitted|elided|compacted)|compacted history|masked>$)",
);
/// Words with which a tool refuses to show something again.
static SHOWN_BEFORE: Pattern = Pattern::new(r"(?i)^\W{0,2}(?:file unchanged since|already read\b)");
static SHOWN_HINTS: LazyLock<Hints> = LazyLock::new(|| {
    Hints::new(["nchanged since", "NCHANGED SINCE", "lready read", "LREADY READ", "lready Read"])
});
/// A wrapping line that states the exit code.
static EXIT_CODE: Pattern = Pattern::new(
    r"(?i)^[(\[]?(?:<returncode>|exit code:? |exit status |(?:command|process) exited with code |rc=)(-?\d+)",
);
/// Parts of the phrases above in the spellings that harnesses use, to skip most answers quickly.
#[rustfmt::skip]
static EXIT_HINTS: LazyLock<Hints> = LazyLock::new(|| Hints::new(["eturncode>", "ETURNCODE>", "xit code", "xit Code",
    "XIT CODE", "xit status", "xit Status", "XIT STATUS", "xited with code", "XITED WITH CODE", "rc="]));
/// Volatile parts of an answer. Matches only at the start of a text; [`mask`] tries each position where one may begin.
static VARYING: Pattern = Pattern::new(
    r"(?ix)^(?:
    \b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b | \b0x[0-9a-f]+\b | \b[0-9a-f]{7,40}\b | \b\d{10,}(?:\.\d+)?\b
    | \b\d{4}-\d\d-\d\d(?:[t\x20]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?z?)?\b | \b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b
    | \b\d+(?:\.\d+)?\x20?(?:ns|us|ms|s|secs?|seconds?|mins?|minutes?|h|hours?)\b
    | /(?:private/)?(?:tmp|var/folders)/[\w.+/-]+
    | \b(?:pid|port|session|request|trace|tokens?)[\x20=:\#]+[\w-]*\d[\w-]*)",
);
/// Numbers. Those that count tests or failures, and HTTP status codes, match with a group, so [`Pattern::mask`] keeps
/// them.
static NUMBERS: Pattern = Pattern::new(
    r"(?i)(\d+(?:[.,]\d+)* (?:failed|passed|errors?|failures?|tests?|problems?)\b|\b(?:http|status|status code)[ :=]+[345]\d\d\b|\bfailed \([45]\d\d\))|\d+(?:[.,]\d+)*",
);

/// Maximum number of bytes compared at the beginning and at the end of an answer.
const COMPARED: usize = 2_000;

/// Removes the codes of a terminal, including colours and modes that lost their escape character: `[31m`, `[?25l`. If
/// modes are set, others that lost it are removed as well: `[m`, `[2J`.
pub(crate) fn without_colours(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains('\u{1b}') && !text.contains("[0m") && !text.contains("[?25") {
        return text;
    }
    let has_modes = text.contains("[?25");
    let mut parts = text.split('[');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ';' | '?'));
        let is_escaped = out.ends_with('\u{1b}');
        if is_escaped {
            out.pop();
        }
        let is_mode = part.starts_with('?') && code.starts_with(['h', 'l']);
        let is_colour = code.starts_with('m') && code.len() < part.len();
        if is_escaped
            || is_mode
            || is_colour
            || has_modes && code.starts_with(['m', 'A', 'C', 'G', 'H', 'J', 'K'])
        {
            out.push_str(code.get(1..).unwrap_or_default());
        } else {
            out.push('[');
            out.push_str(part);
        }
    }
    Cow::Owned(out)
}

/// Returns the lines of an answer that say something, trimmed: without blank lines and the wrapping of the harness.
pub(crate) fn lines(answer: &str) -> impl DoubleEndedIterator<Item = &str> {
    let wraps = |line: &str| line.len() <= 80 && may_wrap(line) && WRAPPING.is_match(line);
    answer.lines().map(bare).filter(move |line| !line.is_empty() && !wraps(line))
}

/// Returns true if an answer holds nothing but the wrapping of the harness.
pub(crate) fn is_blank(answer: Text<'_>) -> bool {
    answer.len() <= 200 && lines(&answer.to_str()).next().is_none()
}

/// Returns true if a tool answers that it has shown the same before.
pub(crate) fn was_shown_before(answer: Text<'_>) -> bool {
    SHOWN_HINTS.occur_in(answer.start(40)) && SHOWN_BEFORE.is_match(&answer.head(40))
}

/// Returns true if a line begins like one that a harness puts around the output of a command.
#[rustfmt::skip]
fn may_wrap(line: &str) -> bool {
    let Some(start) = line.as_bytes().first_chunk::<2>() else { return false };
    matches!(&start.map(|byte| byte.to_ascii_lowercase()), b"<r" | b"</" | b"<o" | b"<s" | b"st" | b"ou"
        | b"ch" | b"wa" | b"or" | b"ex" | b"[e" | b"(c" | b"(p" | b"(n" | b"co" | b"pr" | b"rc")
}

fn bare(line: &str) -> &str {
    let line = line.trim();
    if !line.starts_with('<') && !line.ends_with('>') {
        return line;
    }
    let inner =
        line.strip_prefix("<tool_use_error>").or_else(|| line.strip_prefix("<error>")).unwrap_or(line);
    inner.strip_suffix("</tool_use_error>").or_else(|| inner.strip_suffix("</error>")).unwrap_or(inner)
}

/// Returns the exit code that a wrapping line states in about the last `bytes` bytes of an answer.
pub(crate) fn exit_code(answer: Text<'_>, bytes: usize) -> Option<i64> {
    let spelling = answer.spelling();
    let end = spelling.get(spelling.len().saturating_sub(bytes)..).unwrap_or_default();
    if !EXIT_HINTS.occur_in(end) {
        return None;
    }
    let tail = without_colours(answer.tail(bytes));
    EXIT_HINTS.lines_in(&tail).find_map(|line| EXIT_CODE.group(line))?.parse().ok()
}

/// Replaces the parts that vary by chance with `#`.
fn mask(text: &[u8]) -> Cow<'_, [u8]> {
    let (mut out, mut copied) = (Vec::new(), 0);
    for (number, mut starts) in starts_of(text).into_iter().enumerate() {
        while starts != 0 {
            let at = 64 * number + starts.trailing_zeros() as usize;
            starts &= starts - 1;
            let rest = text.get(at..).filter(|rest| at >= copied && may_vary(rest) && !is_fraction(text, at));
            if let Some(length) =
                rest.and_then(|rest| VARYING.length(rest)).filter(|_| !counts_down(text, at))
            {
                out.extend_from_slice(text.get(copied..at).unwrap_or_default());
                out.push(b'#');
                copied = at + length;
            }
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.extend_from_slice(text.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

/// Returns true if the time at a position is part of a countdown (`eta 12 s`), whose answers differ.
fn counts_down(text: &[u8], at: usize) -> bool {
    let before = text.get(at.saturating_sub(16)..at).unwrap_or_default().to_ascii_lowercase();
    before
        .split(|byte| !byte.is_ascii_alphabetic())
        .any(|word| matches!(word, b"remaining" | b"eta" | b"left"))
}

/// Returns true if the digits after a decimal point begin at a position: scores that differ there differ.
fn is_fraction(text: &[u8], at: usize) -> bool {
    let before = |count: usize| at.checked_sub(count).and_then(|at| text.get(at));
    before(1) == Some(&b'.') && before(2).is_some_and(u8::is_ascii_digit)
}

/// Finds the positions in a text where something that varies may begin: at a slash before `t`, `v` or `p`, and at words
/// that begin with a digit, seven hexadecimal digits, or two letters of a name such as `pid`. One bit for each byte,
/// lowest first.
fn starts_of(text: &[u8]) -> Vec<u64> {
    let (blocks, rest) = text.as_chunks::<64>();
    let mut last = [b' '; 64];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let mut found = Vec::with_capacity(blocks.len() + 1);
    let mut in_word = 0;
    for bytes in blocks.iter().chain([&last]) {
        let block = Block::new(bytes);
        let folded = block.with_bits(0x20);
        let is = |byte: u8| folded.equal(byte);
        // The bytes after the block are unknown, so a start at its end counts.
        let before = |next: u64| next >> 1 | 1 << 63;
        let digit = block.within(b'0', b'9');
        let word = digit | folded.within(b'a', b'z') | block.equal(b'_');
        let start = word & !(word << 1 | in_word);
        in_word = word >> 63;
        let hex = digit | folded.within(b'a', b'f');
        let two = hex & before(hex);
        let four = two & (two >> 2 | 0b11 << 62);
        let seven = four & (four >> 3 | 0b111 << 61);
        let name = is(b'p') & before(is(b'i') | is(b'o'))
            | (is(b's') | is(b'r')) & before(is(b'e'))
            | is(b't') & before(is(b'r') | is(b'o'));
        let slash = block.equal(b'/') & before(is(b't') | is(b'p') | is(b'v'));
        found.push(slash | start & (digit | seven | name));
    }
    found
}

/// Returns true if a text may begin with something that varies. Cheap, and false for most words.
fn may_vary(text: &[u8]) -> bool {
    let lower = |at: usize| text.get(at).map_or(0, u8::to_ascii_lowercase);
    let run = |is: fn(&u8) -> bool| text.iter().take(7).take_while(|byte| is(byte)).count();
    let is_unit = |byte: u8| matches!(byte, b'n' | b'u' | b'm' | b's' | b'h');
    match lower(0) {
        b'/' => matches!(lower(1), b't' | b'v' | b'p'),
        b'0'..=b'9' => {
            let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
            run(u8::is_ascii_hexdigit) == 7
                || match lower(digits) {
                    b'-' => digits == 4,
                    b':' => digits <= 2,
                    b'x' => digits == 1,
                    b'.' => lower(digits + 1).is_ascii_digit(),
                    b' ' => is_unit(lower(digits + 1)),
                    byte => is_unit(byte),
                }
        }
        b'a'..=b'f' => run(u8::is_ascii_hexdigit) == 7,
        b'p' | b's' | b'r' | b't' => {
            matches!(&[lower(0), lower(1), lower(2)], b"pid" | b"por" | b"ses" | b"req" | b"tra" | b"tok")
        }
        _ => false,
    }
}

/// Returns true if a text is only a placeholder for an answer: `[Old tool result content cleared]`.
pub(crate) fn is_withheld(text: Text<'_>) -> bool {
    text.len() <= 300
        && matches!(text.start(1), [b'[' | b'<' | b'O' | b'T'])
        && WITHHELD.is_match(&text.to_str())
}

/// Returns true if a short text may hold a time of day.
pub(crate) fn holds_clock(text: &Text<'_>) -> bool {
    let bytes = text.start(600);
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    text.len() <= 600 && memchr::memchr_iter(b':', bytes).any(|at| at > 0 && digit(at - 1) && digit(at + 1))
}

/// Returns a text with what varies by chance masked: `done in 0.31 s, pid 71, 2 passed` becomes `done in #, #, 2
/// passed`.
pub(crate) fn template(text: &str) -> String {
    String::from_utf8_lossy(&mask(text.as_bytes())).into_owned()
}

/// Returns the digest of the raw beginning and end of an answer with the parts that vary by chance masked, without the
/// header that a harness puts before the output.
pub(crate) fn template_digest(text: Text<'_>) -> Digest {
    masked_digest(text, |part| Digest::of_spelling(&mask(part)))
}

/// Like [`template_digest`], with all numbers masked except those that count tests and failures, and HTTP status codes.
pub(crate) fn form_digest(text: Text<'_>) -> Digest {
    masked_digest(text, |part| Digest::of_spelling(&NUMBERS.mask(&mask(part))))
}

fn masked_digest(text: Text<'_>, masked: impl Fn(&[u8]) -> Digest) -> Digest {
    let spelling = text.spelling();
    let wrapped = memchr::memmem::find(text.start(300), b"Output:");
    let said = spelling.get(wrapped.map_or(0, |at| at + 7)..).unwrap_or_default();
    let (head, rest) = said.split_at(said.len().min(COMPARED));
    let tail = rest.get(rest.len().saturating_sub(COMPARED)..).unwrap_or_default();
    if tail.is_empty() { masked(head) } else { masked(head).and(masked(tail)) }
}

/// Returns at most 300 characters of a template with all numbers masked, except those that count tests and failures,
/// and HTTP status codes.
pub(crate) fn without_numbers(template: &str) -> String {
    first_chars(&String::from_utf8_lossy(&NUMBERS.mask(template.as_bytes())), 300).to_owned()
}
