//! Runs detectors over an open run.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use serde_json::Value;
use wrongturn::trace::{Actor, StepInput, UnknownReason};
use wrongturn::{Action, Finding, Status};

use crate::detector::{Custom, Fault, Selection};
use crate::{config_error, from_json, raised, to_json};

/// Runs detectors over one open run.
#[pyclass(frozen, module = "wrongturn._native")]
pub(crate) struct Monitor {
    state: Mutex<State>,
    fault: Fault,
}

struct State {
    monitor: wrongturn::Monitor,
    /// Calls without an answer so far, in order.
    open: Vec<OpenCall>,
    confirmed: Vec<Finding>,
}

struct OpenCall {
    id: String,
    name: String,
    arguments: Value,
    actor: Actor,
}

impl State {
    fn act<'a>(
        &mut self,
        py: Python<'_>,
        call: &'a OpenCall,
        end: impl FnOnce(Action<'a>) -> Action<'a>,
    ) -> PyResult<()> {
        let action = end(Action::new(&call.name).arguments(&call.arguments).call_id(&call.id));
        self.observe(py, StepInput::action(call.actor, action))
    }

    fn observe(&mut self, py: Python<'_>, step: StepInput<'_>) -> PyResult<()> {
        self.monitor.observe(step).map_err(|error| raised(py, &error))?;
        self.confirmed.extend(self.monitor.new_findings());
        Ok(())
    }
}

impl Monitor {
    /// Locks the state. A waiting thread releases the interpreter's lock, which a detector in Python needs.
    fn state(&self, py: Python<'_>) -> MutexGuard<'_, State> {
        self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    fn actor(py: Python<'_>, name: &str) -> PyResult<Actor> {
        name.parse().map_err(|error| raised(py, &error))
    }
}

#[pymethods]
impl Monitor {
    #[new]
    fn new(py: Python<'_>, selection: &str, custom: Vec<Custom>) -> PyResult<Self> {
        let selection: Selection = from_json(py, selection)?;
        let fault = Fault::default();
        let detectors = selection.build(py, custom, &fault)?;
        let monitor = wrongturn::Monitor::new(&detectors).map_err(|error| raised(py, &error))?;
        fault.check()?;
        Ok(Self { state: Mutex::new(State { monitor, open: Vec::new(), confirmed: Vec::new() }), fault })
    }

    /// Takes a call that has no answer yet.
    fn call(&self, py: Python<'_>, name: String, arguments: &str, id: String, actor: &str) -> PyResult<()> {
        let call =
            OpenCall { id, name, arguments: from_json(py, arguments)?, actor: Self::actor(py, actor)? };
        self.state(py).open.push(call);
        Ok(())
    }

    /// Takes the answer to an open call, which the detectors then see.
    fn answer(&self, py: Python<'_>, id: &str, text: &str, error: bool) -> PyResult<()> {
        let mut state = self.state(py);
        let Some(place) = state.open.iter().position(|call| call.id == id) else {
            return Err(config_error(py, &format!("expected the id of an open call, got `{id}`")));
        };
        let call = state.open.remove(place);
        state
            .act(py, &call, |action| action.answered(if error { Status::Error } else { Status::Ok }, text))?;
        self.fault.check()
    }

    fn message(&self, py: Python<'_>, text: &str, actor: &str) -> PyResult<()> {
        let actor = Self::actor(py, actor)?;
        self.state(py).observe(py, StepInput::message(actor, text))?;
        self.fault.check()
    }

    #[getter]
    fn steps(&self, py: Python<'_>) -> u64 {
        self.state(py).monitor.steps()
    }

    /// The confirmed findings, each as it was when it was confirmed.
    fn confirmed(&self, py: Python<'_>) -> PyResult<String> {
        to_json(py, &self.state(py).confirmed)
    }

    /// The confirmed findings that reach the latest action.
    fn ongoing(&self, py: Python<'_>) -> PyResult<String> {
        to_json(py, &self.state(py).monitor.open_findings())
    }

    /// The verdicts by detector, as if the run ended here.
    fn verdicts(&self, py: Python<'_>) -> PyResult<String> {
        let verdicts: serde_json::Map<String, Value> = self
            .state(py)
            .monitor
            .peek()
            .into_iter()
            .map(|(detector, verdict)| (detector.into_owned(), serde_json::json!(verdict)))
            .collect();
        self.fault.check()?;
        to_json(py, &verdicts)
    }

    /// Ends the run: the detectors see the open calls as unanswered.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        let mut state = self.state(py);
        for call in std::mem::take(&mut state.open) {
            state.act(py, &call, |action| action.unknown(UnknownReason::Unanswered))?;
        }
        self.fault.check()
    }
}
