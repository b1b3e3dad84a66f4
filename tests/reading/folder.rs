//! Makes temporary directories.

use std::fs;
use std::path::PathBuf;

/// A temporary directory, removed on drop.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// Makes an empty directory whose name contains that of the test.
    pub(crate) fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("wrongturn-{}-{test}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file and creates its parent directories.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
