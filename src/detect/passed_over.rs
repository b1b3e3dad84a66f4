//! Actions that detectors pass over: calls that are meant to be made again and again, and failures that it is sound to
//! try again.

use super::polling::{Exempt, PollingCall};
use super::transient::{Matcher, TransientRules};
use crate::error::Result;
use crate::trace::{Action, Digests, Step};

/// Why an action is passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passed {
    /// It is a polling call.
    Exempt,
    /// It failed transiently.
    Transient,
}

/// What the fields `exempt` and `transient` of a configuration pass over, made ready.
#[derive(Debug)]
pub(super) struct PassedOver {
    exempt: Exempt,
    transient: Option<Matcher>,
}

impl PassedOver {
    pub(super) fn new(exempt: &[PollingCall], transient: Option<&TransientRules>) -> Self {
        Self { exempt: Exempt::new(exempt), transient: transient.map(Matcher::new) }
    }

    /// Whether the fields can be used as they are.
    pub(super) fn validate(exempt: &[PollingCall], transient: Option<&TransientRules>) -> Result<()> {
        Exempt::validate(exempt)?;
        transient.map_or(Ok(()), |rules| rules.validate("transient"))
    }

    /// Whether the texts of arguments have to be kept for it.
    pub(super) fn needs_texts(&self) -> bool {
        self.exempt.needs_texts()
    }

    /// Why the action of a step is passed over, if it is.
    #[inline]
    pub(super) fn reason(&self, step: &Step<'_>, action: &Action<'_>, digests: &Digests) -> Option<Passed> {
        if self.exempt.matches(action, digests) {
            return Some(Passed::Exempt);
        }
        let is_transient = self.transient.as_ref().is_some_and(|rules| rules.matches(step, action));
        is_transient.then_some(Passed::Transient)
    }
}
