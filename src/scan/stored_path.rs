//! Paths in partial states, even if they are not UTF-8.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path in a partial state. A path that is not UTF-8 is stored as a NUL, which no path contains, followed
/// by its bytes in hexadecimal.
#[derive(Debug, Clone)]
pub(crate) struct StoredPath<P: AsRef<Path> = PathBuf>(pub(crate) P);

impl<P: AsRef<Path>> Serialize for StoredPath<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let path = self.0.as_ref().as_os_str();
        if let Some(text) = path.to_str() {
            return serializer.serialize_str(text);
        }
        let mut text = "\0".to_owned();
        for byte in path.as_encoded_bytes() {
            let _ = write!(text, "{byte:02x}");
        }
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for StoredPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        let Some(digits) = text.strip_prefix('\0') else { return Ok(Self(text.into_owned().into())) };
        let byte = |place| u8::from_str_radix(digits.get(place..place + 2)?, 16).ok();
        let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
        let bytes = bytes.ok_or_else(|| serde::de::Error::custom("expected a path in hexadecimal"))?;
        Ok(Self(path_of(bytes)))
    }
}

#[cfg(unix)]
fn path_of(bytes: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(bytes).into()
}

#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>) -> PathBuf {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::path_text::path_text;

    #[test]
    fn paths_that_are_not_utf8_stay_apart() -> serde_json::Result<()> {
        let [one, other] = [b"a\xff.json", b"a\n.json"].map(|name| path_of(name.to_vec()));
        assert_eq!(path_text(one.as_os_str()), "a\\xff.json");
        assert_eq!(path_text(other.as_os_str()), "a\\n.json");
        for path in [one, other, "a \\xff.json".into()] {
            let stored = serde_json::to_string(&StoredPath(&path))?;
            assert_eq!(serde_json::from_str::<StoredPath>(&stored)?.0, path);
        }
        Ok(())
    }
}
