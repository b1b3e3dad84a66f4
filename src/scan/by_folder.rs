//! A cache of values that the files of a directory share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A cache of one value per directory.
#[derive(Debug)]
pub(super) struct ByFolder<T> {
    all: BTreeMap<PathBuf, T>,
    /// The last directory and its value, checked first: files of one directory usually come one after another.
    last: Option<(PathBuf, T)>,
}

impl<T> Default for ByFolder<T> {
    fn default() -> Self {
        Self { all: BTreeMap::new(), last: None }
    }
}

impl<T: Clone> ByFolder<T> {
    /// Returns the value for this directory. Makes it on first use.
    pub(super) fn of(&mut self, folder: &Path, make: impl FnOnce() -> T) -> T {
        if let Some((_, shared)) = self.last.as_ref().filter(|(last, _)| last == folder) {
            return shared.clone();
        }
        let shared = self.all.entry(folder.to_path_buf()).or_insert_with(make).clone();
        self.last = Some((folder.to_path_buf(), shared.clone()));
        shared
    }
}
