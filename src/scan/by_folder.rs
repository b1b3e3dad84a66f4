//! What the files of a directory share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One thing for all files of a directory, which mostly follow one another.
#[derive(Debug)]
pub(super) struct ByFolder<T> {
    all: BTreeMap<PathBuf, T>,
    /// What was asked for last.
    last: Option<(PathBuf, T)>,
}

impl<T> Default for ByFolder<T> {
    fn default() -> Self {
        Self { all: BTreeMap::new(), last: None }
    }
}

impl<T: Clone> ByFolder<T> {
    /// What the files of this directory share; made when it is first asked for.
    pub(super) fn of(&mut self, folder: &Path, make: impl FnOnce() -> T) -> T {
        if let Some((_, shared)) = self.last.as_ref().filter(|(last, _)| last == folder) {
            return shared.clone();
        }
        let shared = self.all.entry(folder.to_path_buf()).or_insert_with(make).clone();
        self.last = Some((folder.to_path_buf(), shared.clone()));
        shared
    }
}
