//! The phrases with which answers state failures.

use std::sync::LazyLock;

use super::phrase_search::{Hints, Pattern};

/// A line that begins by stating a failure, unless `NONE` matches it: `errors: 0`.
static STARTS: Pattern = Pattern::new(
    r"(?i)^\W{0,5}(?:(?:error|fatal|failed|failure|exception|err_\w+|npm error|usage|unable to|cannot|can't|could not|couldn't|invalid|unknown|no such|not found|refused|(?:access )?denied|rejected|blocked (?:action|call|command)|aborted|panic)\b|(?:npm )?err!|\w+ error\])",
);
pub(super) static NONE: Pattern =
    Pattern::new(r"(?i)^\W{0,3}\w+(?: ?[:=]?| \w+ ?[:=]) ?(?:0|none|null|false)\b");
/// A line that says that nothing is wrong: `No syntax errors detected in a.php`.
pub(super) static CLEAN: Pattern = Pattern::new(
    r"(?i)^\W{0,3}(?:no|0) (?:\w+ )?(?:errors?|issues?|problems?|warnings?)\b| is (?:ok|successful)$|^tar: removing leading ",
);
/// A line that begins with the type of an error.
pub(super) static TYPED: Pattern =
    Pattern::new(r"^(?:[\w.$]+\.)?[A-Z]\w*(?:Error|Exception|Failure)(?: ?[:(]|$)");
/// A line of a traceback that begins with an exception of any name.
pub(super) static RAISED: Pattern = Pattern::new(r"^(?:[a-z_]\w*\.)+(?:[A-Z]\w*|error)(?:: |$)");
/// Phrases that state a failure anywhere in a text.
pub(super) static STATES: Pattern = Pattern::new(
    r"(?i)command not found|: not found$|no such file|permission denied|operation not permitted|no module named|cannot overwrite|did not appear verbatim|no replacement was performed|invalid option|unrecognized (?:argument|option)|unknown (?:option|command|flag)|syntax error|unexpected EOF while looking|segmentation fault|core dumped|no matching distribution|could not find a version|unable to locate package|does not exist|is not a valid tool|(?-i:^[A-Z]+ DISABLED\b)|not a git repository|out of memory|not permitted|is not allowed|non-fast-forward|\[rejected\]|connection refused|(?:^|: )error: |: error[: ]|(?:^|[^\si] |\wi |\S)cannot find|could not resolve|^404\b.{0,10} not found\b|nothing happens|no effect|tool use was rejected|haven't granted|not a valid statement separator|: InvalidEndOfLine$|^exec preflight: ",
);
/// A line that states a failure in any of these ways.
pub(super) static COMPLAINS: Pattern = Pattern::any_of(&[&STARTS, &TYPED, &STATES]);
/// A line of a test report that names or counts what failed.
pub(super) static RED: Pattern = Pattern::new(
    r"\b[1-9]\d* (?:failed|failures?|errors?)\b|^(?:FAILED?|FAIL:|not ok)\b|^E  +\S|✕|✗|^- [EFW]\d{3} ",
);
/// A line of a test report that says how a test failed: `Received: 3`, `+ "b"` in a diff.
pub(super) static DIFFERS: Pattern = Pattern::new(r"^[-+] +\S|^(?:Expected|Received|Actual|Got|Want)\b");
pub(super) static COUNTS: Pattern =
    Pattern::new(r"\b[1-9]\d* (?:failed|errors?)\b|^FAILED \((?:failures|errors)=");
/// An error that keeps code from running, as flake8 lists it: `- E999 SyntaxError: …`.
pub(super) static FLAW: Pattern = Pattern::new(r"^- (?:E9|F8)\d\d ");
/// The line with which `go test` ends its report on a package.
pub(super) static PACKAGE: Pattern = Pattern::new(r"^FAIL(?:\s+\S+\s+[\d.]+s)?$");
/// The timestamp at the start of a log line.
pub(super) static TIME: Pattern = Pattern::new(r"^\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d\S* +");
/// A line of pytest output that shows a failed assertion.
pub(super) static ASSERTS: Pattern = Pattern::new(r"^E +(?:assert|AssertionError|[-+] )");
/// A line of a report that points to a place in a file: `src/a.ts(3,7): …`, `src/a.py:3:7: …`, `--> src/a.rs:3:7`.
pub(super) static DIAGNOSTIC: Pattern =
    Pattern::new(r"^--> \S+:\d+:\d+|^[\w./\\\[\]@~+-]*\.[A-Za-z]\w*(?::\d+(?::\d+)?|\(\d+,\d+\)) ?:? ?\D");
/// A line of a pytest traceback, which does not state the cause.
pub(super) static FRAME: Pattern = Pattern::new(r":\d+: in \S+$");
/// A line that counts tests that ran.
pub(super) static RAN: Pattern = Pattern::new(r"\b[1-9]\d* (?:passed|failed)\b|^Ran [1-9]\d* tests?\b");
/// A line that says that no test ran.
pub(super) static NO_TESTS: Pattern = Pattern::new(
    r"(?i)^\W*(?:no tests? (?:ran|found|collected|files? found)|collected 0 items|ran 0 tests|[1-9]\d* deselected)\b",
);
/// A JSON answer from a test run in which no test ran.
pub(super) static JSON_NO_TESTS: Pattern =
    Pattern::new(r#""no_?tests(?:_\w+)?"|"(?:total|tests|num_tests|numTotalTests)"\s*:\s*0\b"#);
/// A JSON answer that states a failure. `JSON_TEXT` finds the texts in it that say why.
pub(super) static JSON_STATES: Pattern = Pattern::new(
    r#"(?i)"(?:success|ok|succeeded)"\s*:\s*false|"(?:error|errors|error_message)"\s*:\s*(?:"[^"]|\{\s*"|\[\s*["{]|true|[1-9])|"status"\s*:\s*"(?:error|failed|failure|rejected|refused|denied)"|"(?:is_error|failed)"\s*:\s*true"#,
);
pub(super) static JSON_TEXT: Pattern =
    Pattern::new(r#""(?:error|message|reason|detail|error_message|stderr)"\s*:\s*"((?:[^"\\]|\\[^n])+)"#);
/// A command that was killed, or stopped at a time limit.
pub(super) static KILLED: Pattern = Pattern::new(
    r"(?im)(?:exited with|killed by|terminated by|aborted by) signal \w|^(?:killed|terminated)$|(?:execution|command|process|script)\b.{0,60}? timed out|' timed out after \d|timed out and (?:was|has been) killed",
);
/// Statements that something is missing, with its name in one of the groups.
pub(super) static MISSING: Pattern = Pattern::new(
    r#"(?i)no module named '?"?([\w.]+)|cannot find module '([^']+)'|no matching distribution found for (\S+)|unable to locate package (\S+)|([A-Za-z_./+-][\w./+-]*): (?:command )?not found|command not found: (\S+)|can't open file '(?:\w:)?[\\/][^']*?([^'\\/]+)'|executable file not found.*"(\S+)""#,
);
pub(super) static USAGE: Pattern = Pattern::new(
    r"(?i)invalid option|illegal option|unrecognized (?:argument|option)|no such option|unknown (?:option|command|flag|subcommand|argument)|unexpected (?:argument|token|keyword|parameter)|syntax error near|parse error near|unexpected EOF while looking|^usage:|not recognized|not a valid statement separator|: InvalidEndOfLine$|^exec preflight: ",
);
/// Statements that the arguments of a structured call do not fit.
pub(super) static SHAPE: Pattern = Pattern::new(
    r"(?i)validation error|(?:missing|field) \d* ?required|is a required property|required (?:parameter|property|argument|field)|invalid (?:json|arguments?|parameters?)|InputValidationError|is missing(?:$|[.,;!])",
);
/// Answers of a harness when it has no tool with the name that was called.
pub(super) static NO_TOOL: Pattern = Pattern::new(
    r"(?i)\b(?:unknown|no such|invalid) (?:tool|function)\b|\b(?:tool|function) (?:\S+ )?(?:was )?not found|\btool is not available\b|is not a valid tool",
);
/// Statements that the desired state already exists.
pub(super) static DONE: Pattern = Pattern::new(
    r"(?i)\balready (?:exists?|in use|running|installed|authenticated)\b|: file exists\b|\bno such process\b|\bno (?:active|running) (?:session|process|task)\b|\banother instance\b.* running|^rm: cannot remove .*: no such file",
);
/// Answers to a poll whose command or session is not known.
pub(super) static NO_SESSION: Pattern = Pattern::new(
    r"(?i)^\W*(?:error: )?(?:(?:no|unknown|no such|invalid) (?:task|shell|process|session)\b|(?:task|shell|process|session)\b.{0,60}? not found\b)",
);
pub(super) static REFUSED: Pattern = Pattern::new(
    r"(?i)refus|not allowed|not permitted|permission denied|access denied|denied by|forbidden|blocked|rejected|unauthorized|requires approval|read-only|cannot overwrite|doesn't want to proceed|haven't granted|does not have permission",
);
/// Statements of the cause of a failure.
pub(super) static CAUSE: Pattern = Pattern::any_of(&[&MISSING, &USAGE, &SHAPE, &REFUSED]);
/// A complaint about a start-up file of the shell, with the file in the group. The shell prints it before the output of
/// each command.
pub(super) static START_UP: Pattern = Pattern::new(
    r"^(?:\S*/)?(\.(?:bash_profile|bash_login|bashrc|profile|zprofile|zshenv|zshrc)|etc/profile|(?:brew|shellenv)\.sh):(?:\w+:)?(?: line)? ?\d+: ",
);
/// An answer that says that nothing was found.
pub(super) static NOTHING: Pattern =
    Pattern::new(r"(?i)^\W*(?:found )?(?:no|0|zero) (?:match|result|file|occurrence|hit)");

/// Only texts that contain one of these are checked for a failure. Most contain none and are skipped quickly.
#[rustfmt::skip]
pub(super) static HINTS: LazyLock<Hints> = LazyLock::new(|| Hints::new([
    "rror", "RROR", "ERR_", "ERR!", "atal", "FATAL", "fail", "Fail", "FAIL", "xcept", "EXCEPT", "sage", "nable", "annot", "an't", "uld not",
    "uldn't", "nvalid", "nknown", "o such", "ot found", "efuse", "enied", "eject", "locked", "bort", "anic", "o module", "yntax",
    "ermission", "ermitted", "llowed", "verbatim", "placement", "alid tool", "DISABLED", "fault", "dumped", "exist", "memory", "forward", "esolve",
    "othing happens", "o effect", "llegal", "nrecogni", "false", "not ok", "xit ", "code", "illed",
    "separator", "t granted", "InvalidEnd", "raceback", "EOF while"]));

/// The same for JSON answers, including those with escaped quotes.
#[rustfmt::skip]
pub(super) static JSON_HINTS: LazyLock<Hints> = LazyLock::new(|| Hints::new(["rror", "RROR", "ailed", "AILED", "ailure", "AILURE",
    "eject", "EJECT", "efuse", "EFUSE", "enied", "ENIED", "uccess", "UCCESS", "uccee", "UCCEE", "ok\"", "ok\\", "OK\"",
    "OK\\", "Ok\"", "Ok\\"]));
