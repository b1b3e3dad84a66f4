//! Paths as text.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write as _;

/// Returns a path, or a part of one, as text. A byte that is not UTF-8 and a control character become escapes such as
/// `\xff` and `\n`.
#[must_use]
#[cfg_attr(not(feature = "scan"), expect(unreachable_pub, reason = "public in `scan`"))]
pub fn path_text(path: &OsStr) -> Cow<'_, str> {
    match path.to_str() {
        Some(text) if !text.contains(char::is_control) => Cow::Borrowed(text),
        _ => Cow::Owned(escaped(path)),
    }
}

fn escaped(path: &OsStr) -> String {
    let mut text = String::new();
    for chunk in path.as_encoded_bytes().utf8_chunks() {
        for letter in chunk.valid().chars() {
            if letter.is_control() { text.extend(letter.escape_default()) } else { text.push(letter) }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}
