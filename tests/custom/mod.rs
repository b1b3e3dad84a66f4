//! Builds small detectors for tests.

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

use wrongturn::{
    Detector, Fold, Step, Verdict,
    detect::{FailureClass, FailureMode, Judgement},
    trace::RouteStatus,
};

/// A detector without findings, and its fold. `observe` changes the state at each step, and `detected` judges it.
#[derive(Debug, Clone)]
pub(crate) struct Custom<S> {
    pub(crate) id: &'static str,
    pub(crate) state: S,
    pub(crate) observe: fn(&mut S, &Step<'_>),
    pub(crate) detected: fn(&S) -> bool,
}

impl<S: Debug + Clone + Send + Sync + 'static> Custom<S> {
    /// Returns a list with this detector only.
    pub(crate) fn alone(self) -> Vec<Arc<dyn Detector>> {
        vec![Arc::new(self)]
    }
}

impl<S: Debug + Clone + Send + Sync + 'static> Detector for Custom<S> {
    fn id(&self) -> Cow<'static, str> {
        self.id.into()
    }

    fn mode(&self) -> FailureMode {
        FailureMode::new(FailureClass::System, self.id)
    }

    fn start(&self, _routing: &RouteStatus) -> Box<dyn Fold> {
        Box::new(self.clone())
    }
}

impl<S: Debug + Clone + Send + Sync + 'static> Fold for Custom<S> {
    fn observe(&mut self, step: &Step<'_>) {
        (self.observe)(&mut self.state, step);
    }

    fn verdict(&self) -> Verdict {
        Verdict::Judged(Judgement { detected: (self.detected)(&self.state), ..Judgement::default() })
    }
}
