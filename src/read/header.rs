//! Facts about all runs of a file, from its header.

use std::sync::Arc;

use crate::trace::{DigestMap, DigestSet, RouteStatus};

#[derive(Debug, Default)]
pub(super) struct Tasks {
    /// The routes, by the digest of the task id.
    pub(super) routes: DigestMap<RouteStatus>,
    /// The ids of their actions, each joined with the id of its task.
    pub(super) actions: DigestSet,
    /// True if one of the routes compares only some arguments, so the texts of arguments are kept.
    pub(super) looks_inside: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Header {
    pub(super) model: Option<Arc<str>>,
    pub(super) domain: Option<Arc<str>>,
    /// Names next to the runs, used if the ones above are missing.
    pub(super) flat_model: Option<Arc<str>>,
    pub(super) flat_domain: Option<Arc<str>>,
    /// `None` if the file lists no tasks.
    pub(super) tasks: Option<Arc<Tasks>>,
    /// True if members after the runs were too far ahead to be read first, so facts may be missing.
    pub(super) cut_off: bool,
    /// Bits for the header keys that were seen; the format defines their meaning.
    pub(super) keys: u8,
}

impl Header {
    pub(super) fn model(&self) -> Option<Arc<str>> {
        self.model.as_ref().or(self.flat_model.as_ref()).cloned()
    }

    pub(super) fn domain(&self) -> Option<Arc<str>> {
        self.domain.as_ref().or(self.flat_domain.as_ref()).cloned()
    }
}
