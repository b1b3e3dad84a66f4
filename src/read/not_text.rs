//! Inputs that are not text: archives, databases and other encodings.

use std::borrow::Cow;

/// The first bytes of a `SQLite` database: the longest prefix that [`not_text`] checks for.
pub(super) const SQLITE: &[u8] = b"SQLite format 3\0";

/// The mark of a tar archive, and its offset: the name of the first file comes first.
pub(super) const USTAR: &[u8] = b"ustar";
pub(super) const TAR: usize = 257;

/// Substrings of the schemas of databases whose exported rows can be read, each with the query for the export.
const EXPORTS: [(&str, &str); 4] = [
    ("parts TEXT", "select * from messages order by created_at, rowid"),
    ("event_data ", "select * from events order by timestamp, rowid"),
    ("agno_sessions", "select * from agno_sessions"),
    ("message_data TEXT", "select * from agent_messages order by id"),
];

fn database(bytes: &[u8]) -> Cow<'static, str> {
    let has = |(part, _): &&(&str, &str)| memchr::memmem::find(bytes, part.as_bytes()).is_some();
    EXPORTS.iter().find(has).map_or(
        "the input is a SQLite database; export its sessions as JSON".into(),
        |(_, query)| {
            let how = format!("export its rows as JSON with `sqlite3 -json FILE '{query}'`");
            format!("the input is a SQLite database; {how}").into()
        },
    )
}

/// Describes an input whose first bytes show that it is not UTF-8 text; `None` for any other input.
pub(super) fn not_text(bytes: &[u8]) -> Option<Cow<'static, str>> {
    if bytes.starts_with(SQLITE) {
        return Some(database(bytes));
    }
    let what = match bytes {
        [0x1f, 0x8b, ..] => "the input is compressed (gzip); decompress it, or name it `.gz`",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "the input is compressed (zstd); decompress it, or name it `.zst`",
        [b'P', b'K', 3 | 5, ..] => "the input is a zip archive",
        [b'B', b'Z', b'h', ..] => "the input is compressed (bzip2)",
        _ if bytes.get(TAR..).is_some_and(|rest| rest.starts_with(USTAR)) => {
            "the input is a tar archive; unpack it first"
        }
        _ if bytes.starts_with(b"version https://git-lfs.") => {
            "the input is a Git LFS pointer, not the file itself; run `git lfs pull`"
        }
        [0xfd, b'7', b'z', b'X', ..] => "the input is compressed (xz)",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, 1..=255, 0, 1..=255, ..] | [1..=255, 0, 1..=255, 0, ..] => {
            "the input is not UTF-8; it may be UTF-16"
        }
        [0, _, ..] | [_, 0, ..] => "the input is not text: one of its first two bytes is zero",
        _ => return None,
    };
    Some(what.into())
}
