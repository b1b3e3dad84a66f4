//! Failed calls: whether a later one repeats them, and what may have removed their cause.

use std::sync::Arc;

use crate::detect::shared::{Check, Does, Facts, Failure, FailureKind, Meaning, Part, installed, shell};
use crate::trace::Digest;

/// A call that failed.
#[derive(Debug)]
pub(super) struct FailedCall {
    pub(super) step: u64,
    pub(super) turn: u64,
    /// The number of attempts up to and including it.
    pub(super) number: u64,
    pub(super) wording: Digest,
    pub(super) form: u64,
    pub(super) call: Arc<Facts>,
}

impl FailedCall {
    /// Returns true if both calls are the same.
    pub(super) fn is_same_call(&self, now: &Self) -> bool {
        self.call.call.key.is_some() && self.call.call.key == now.call.call.key
    }

    /// Returns true if both calls run the same script or check.
    pub(super) fn runs_as(&self, now: &Self) -> bool {
        last_check(&self.call).zip(last_check(&now.call)).is_some_and(|(before, now)| {
            before.program == now.program
                && before.script == now.script
                && (now.script.is_some() || now.check > Some(Check::Script))
        })
    }

    /// Returns true if both calls write the same file and failed with the same wording.
    fn writes_as(&self, now: &Self) -> bool {
        let (before, call) = (&self.call.call, &now.call.call);
        let same_file =
            call.target.as_deref().is_some() && before.target.as_deref() == call.target.as_deref();
        let has_words = self.call.failure.as_ref().is_some_and(|failure| !failure.line.is_empty());
        call.does == Does::Write && same_file && has_words && self.wording == now.wording
    }

    /// Returns true if both calls failed with the same wording and write the same file or hold the same command, which
    /// the harness refused.
    pub(super) fn is_refused_as(&self, now: &Self, failure: &Failure) -> bool {
        let (before, call) = (&self.call.call, &now.call.call);
        let runs = |part: &Part| before.parts.iter().any(|other| before.text_of(other) == call.text_of(part));
        // A command line narrowed to commands that only read is a new attempt.
        let is_narrowed = call.does == Does::Read && call.parts.len() < before.parts.len();
        let same_command = call.is_shell && failure.is_flagged && !is_narrowed && call.parts.iter().any(runs);
        self.writes_as(now) || same_command && self.wording == now.wording
    }

    /// Returns true if a later call is the same, fails for a cause that does not depend on the call, or fails with the
    /// same wording on the same file, command or parameter.
    pub(super) fn is_repeated_by(&self, now: &Self, failure: &Failure) -> bool {
        let (before, call) = (&self.call.call, &now.call.call);
        // Without a stated cause, the whole lines must be equal: `pytest | tail` after `pytest` shows something new.
        let has_cause =
            matches!(failure.kind, FailureKind::Missing(_) | FailureKind::Usage | FailureKind::Refused);
        let same_line = has_cause || !call.is_shell || self.call.line == now.call.line;
        let same_call = self.is_same_call(now) && before.assigned == call.assigned && same_line;
        same_call
            || match &failure.kind {
                FailureKind::Usage if call.is_shell => true,
                // `python -c "import numpy"` checks whether the module is there now.
                FailureKind::Missing(_) if call.is_shell => {
                    let sets_path = call.text.contains("export path=");
                    // It first installs more: `pip install setuptools && python setup.py build`.
                    let installs_more = !call.parts.last().is_some_and(Part::installs)
                        && !installed(&call.text).is_subset(&installed(&before.text));
                    !sets_path
                        && !installs_more
                        && !call.parts.iter().any(|part| is_probe(call.text_of(part)))
                }
                FailureKind::Refused => self.is_refused_as(now, failure),
                _ if call.is_shell => false,
                _ => self.writes_as(now) || self.misfits_as(now, failure) || self.lacks_key_as(now, failure),
            }
    }

    /// Returns true if a change may have removed the cause of a failure that recurs. If something is missing, the
    /// change must name it, install all that the project needs, or edit the script that failed earlier.
    pub(super) fn is_cured_by(&self, change: &Facts, now: &Self, failure: &Failure) -> bool {
        if failure.is_stale(&now.call.call) {
            return false;
        }
        let FailureKind::Missing(name) = &failure.kind else {
            let is_final = failure.is_of_form() || self.misfits_as(now, failure);
            return !is_final && !self.is_followed_by(change, now);
        };
        // Installing `numpy` also provides `numpy.distutils`.
        let name = name.split('.').next().unwrap_or_default();
        let target = change.call.target.as_deref().map(str::to_lowercase);
        let is_run =
            |target: &str| failure.is_raised() && self.call.call.text.contains(shell::last_part(target));
        installs_all(&change.call.text)
            || change.call.text.contains(name)
            || target.is_some_and(|target| target.contains(name) || is_run(&target))
    }

    /// Returns true if both calls failed in the same words because a parameter or action is unknown or missing.
    fn misfits_as(&self, now: &Self, failure: &Failure) -> bool {
        !now.call.call.is_shell && failure.misfits() && self.wording == now.wording
    }

    /// Returns true if both calls of a tool failed in the same words because the key of its service is not set.
    fn lacks_key_as(&self, now: &Self, failure: &Failure) -> bool {
        failure.lacks_key() && self.wording == now.wording
    }

    /// Returns true if a failed edit is sent again unchanged, and the change is another edit of the same file with the
    /// same tool: the text that the failed edit looks for is probably still missing.
    fn is_followed_by(&self, change: &Facts, now: &Self) -> bool {
        let call = &now.call.call;
        let edits = call.does == Does::Write && !call.is_shell && call.target.is_some();
        let is_same_file = change.call.program == call.program && change.call.target == call.target;
        edits && is_same_file && self.call.call.key == call.key
    }
}

fn last_check(call: &Facts) -> Option<&Part> {
    call.call.parts.iter().rfind(|part| part.check.is_some())
}

/// Returns true if a command only imports modules and prints text or versions.
fn is_probe(command: &str) -> bool {
    let Some((_, code)) = command.split_once(" -c ") else { return false };
    let code = code.trim_start_matches(['\'', '"']);
    let prints =
        |part: &str| part.starts_with("print('") || part.starts_with("print(\"") || part.contains(".__");
    let imports = |part: &str| part.starts_with("import ") || part.starts_with("from ");
    code.split(';').map(str::trim).all(|part| imports(part) || prints(part))
}

/// Returns true if a command line installs everything that a project needs (`uv sync`, `npm ci`): it names no packages,
/// or only files and folders.
fn installs_all(text: &str) -> bool {
    let installs =
        |command: &str| ["ci", "install", "sync"].contains(&command.split(' ').nth(1).unwrap_or_default());
    let packages = installed(text);
    let is_file = |name: &String| name.contains(['.', '/']) || Meaning::of(name).is(Meaning::INSTALLER);
    text.split(" ; ").any(installs) && !packages.is_empty() && packages.iter().all(is_file)
}
