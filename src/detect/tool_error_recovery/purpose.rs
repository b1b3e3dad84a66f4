//! The purpose of a call, which groups failures into goals.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::detect::shared::{Check, Part, each_text, words};
use crate::trace::{Action, Arguments, Digest, DigestSet};

/// Minimum number of lines by which a change can be distinguished from others.
pub(super) const LINES: usize = 5;
/// Minimum length of a line that counts, in bytes. Shorter lines are too common.
const LINE_BYTES: usize = 12;

/// Minimum length of a text that says what a call is about, in bytes.
const SUBJECT_BYTES: usize = 16;

/// The key of goals to change a file.
pub(super) const CHANGE: &str = "change";
/// The key of goals to install something, by any installer.
pub(super) const INSTALL: &str = "install";
/// Returns the key of goals that share the purpose of this part of a call.
pub(super) fn key(part: &Part, is_shell: bool) -> Digest {
    if part.installs() {
        return key_of("", INSTALL);
    }
    let key = match (&part.file, &part.script, part.check) {
        (Some(_), ..) => CHANGE.to_owned(),
        (None, Some(script), _) => format!("{} {script}", part.program),
        (None, None, Some(Check::Snippet)) => format!("{} -c", part.program),
        _ => part.program.to_string(),
    };
    key_of(if is_shell && part.file.is_none() { "$" } else { "" }, &key)
}

/// Returns true if a tool looks for files, or text in them: `glob`, `find_file`.
pub(super) fn finds_files(name: &str) -> bool {
    let has = |wanted: &[&str]| {
        words(name).any(|word| wanted.iter().any(|wanted| word.eq_ignore_ascii_case(wanted)))
    };
    has(&["glob", "grep"]) || has(&["find", "search"]) && has(&["file", "files"])
}

pub(super) fn key_of(shell: &str, key: &str) -> Digest {
    Digest::of_text(shell).and(Digest::of_text(key))
}

/// Returns the base names of the files in a diff that an answer shows.
pub(super) fn files_in_diff(action: &Action<'_>) -> BTreeSet<String> {
    const START: &str = "diff --git a/";
    static FINDER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(START));
    let Some(answer) = action.observation.present().filter(|answer| answer.may_hold(&FINDER)) else {
        return BTreeSet::new();
    };
    let text = answer.to_str();
    let paths = text.lines().filter_map(|line| line.strip_prefix(START));
    paths.filter_map(|paths| paths.rsplit('/').next()).map(|name| name.trim().to_lowercase()).collect()
}

/// Returns the digests of the lines of a text that are long enough to tell it from others.
pub(super) fn line_digests(text: &str) -> impl Iterator<Item = Digest> {
    text.lines().map(str::trim).filter(|line| line.len() >= LINE_BYTES).map(Digest::of_text)
}

/// Returns the digests of the lines in the arguments of a call.
pub(super) fn content(action: &Action<'_>) -> DigestSet {
    let mut found = DigestSet::default();
    each_text(action, |_, text, _| found.extend(line_digests(text)));
    found
}

/// Returns the digest of the arguments of a call, if there are any.
pub(super) fn arguments(action: &Action<'_>) -> Option<Digest> {
    let digest = action.arguments.as_ref().present().map(Arguments::digest);
    digest.filter(|digest| *digest != Digest::of_no_arguments())
}

/// Returns the digest of the longest text among the arguments of a call, which says what it is about: the query of a
/// search. `None` if all are short.
pub(super) fn subject(action: &Action<'_>) -> Option<Digest> {
    let mut longest = String::new();
    each_text(action, |_, text, _| {
        if text.trim().len() > longest.len() {
            longest = text.trim().to_lowercase();
        }
    });
    (longest.len() >= SUBJECT_BYTES).then(|| Digest::of_text(&longest))
}

/// Returns true if one name may stand for the other: `commentary` and `comment`.
pub(super) fn are_alike(one: &str, other: &str) -> bool {
    const SHARED_BYTES: usize = 6;
    one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count() >= SHARED_BYTES
}

/// Returns true if two names begin with the same word: `stockprice_kis` and `stockprice_ls`.
pub(super) fn share_word(one: &str, other: &str) -> bool {
    matches!((words(one).next(), words(other).next()), (Some(one), Some(other)) if one.len() >= 4 && one == other)
}
