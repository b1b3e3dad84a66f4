//! Builds detectors: those of the library by id, and those written in Python.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use wrongturn::detect::{Evidence, FailureMode, Judgement, Preset, with_min_confidence};
use wrongturn::trace::{Actors, Arguments, Event, RouteStatus};
use wrongturn::{Confidence, Detector, Finding, Fold, Registry, Step, Verdict};

use crate::{config_error, raised};

/// The selection of detectors, as the Python half writes it.
#[derive(Deserialize)]
pub(crate) struct Selection {
    detectors: Vec<String>,
    config: Value,
    min_confidence: Confidence,
    actors: Actors,
}

/// A detector written in Python: its id, its failure mode, and a function that starts a fold.
pub(crate) type Custom = (String, String, Py<PyAny>);

/// The first exception that a detector in Python raised. Folds cannot fail, so it is raised after the scan.
#[derive(Clone, Default)]
pub(crate) struct Fault(Arc<Mutex<Option<PyErr>>>);

impl Fault {
    fn set(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    fn is_set(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Returns the exception as an error, if there was one.
    pub(crate) fn check(&self) -> PyResult<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}

impl Selection {
    /// Builds the detectors. If only detectors in Python are named, the default ones are left out.
    pub(crate) fn build(
        &self,
        py: Python<'_>,
        custom: Vec<Custom>,
        fault: &Fault,
    ) -> PyResult<Vec<Arc<dyn Detector>>> {
        let ids: Vec<&str> = self.detectors.iter().map(String::as_str).collect();
        let mut built = if ids.is_empty() && !custom.is_empty() {
            Vec::new()
        } else {
            Registry::default()
                .build(&ids, Preset::Default, self.actors, &self.config)
                .map_err(|error| raised(py, &error))?
        };
        for (id, mode, start) in custom {
            let mode: FailureMode = mode.parse().map_err(|error| raised(py, &error))?;
            if id.is_empty() {
                return Err(config_error(py, "expected a detector with a name, got an empty one"));
            }
            built.push(Arc::new(PyDetector { id: id.into(), mode, start, fault: fault.clone() }));
        }
        Ok(with_min_confidence(built, self.min_confidence))
    }
}

struct PyDetector {
    id: Arc<str>,
    mode: FailureMode,
    start: Py<PyAny>,
    fault: Fault,
}

impl fmt::Debug for PyDetector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PyDetector").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Detector for PyDetector {
    fn id(&self) -> Cow<'static, str> {
        Cow::Owned(self.id.to_string())
    }

    fn mode(&self) -> FailureMode {
        self.mode.clone()
    }

    fn start(&self, _routing: &RouteStatus) -> Box<dyn Fold> {
        let state = Python::attach(|py| self.start.call0(py));
        let state = state.map_err(|error| self.fault.set(error)).ok();
        Box::new(PyFold {
            id: Arc::clone(&self.id),
            mode: self.mode.clone(),
            state,
            fault: self.fault.clone(),
        })
    }
}

struct PyFold {
    id: Arc<str>,
    mode: FailureMode,
    state: Option<Py<PyAny>>,
    fault: Fault,
}

impl fmt::Debug for PyFold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PyFold").field("id", &self.id).finish_non_exhaustive()
    }
}

impl PyFold {
    /// Calls into Python. Returns `None` if the call fails, or if any detector has failed before.
    fn with_state<T>(&self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        let state = self.state.as_ref().filter(|_| !self.fault.is_set())?;
        Python::attach(|py| call(state.bind(py))).map_err(|error| self.fault.set(error)).ok()
    }
}

impl Fold for PyFold {
    fn observe(&mut self, step: &Step<'_>) {
        let (tool, arguments, status, text) = match step.event() {
            Event::Message(text) => (None, None, None, Some(text.to_str())),
            Event::Action(action) => {
                let arguments = action.arguments.as_ref().present();
                let arguments = arguments.and_then(Arguments::json).map(str::to_owned);
                let answer = action.observation.present().map(|text| text.to_str());
                (Some(action.name), arguments, Some(action.status.name()), answer)
            }
        };
        let place = (step.index(), step.turn(), step.actor().name());
        self.with_state(|state| {
            state.call_method1(
                "observe",
                (place.0, place.1, place.2, tool, arguments, status, text.as_deref()),
            )?;
            Ok(())
        });
    }

    fn verdict(&self) -> Verdict {
        type Found = (u64, u64, String, String, String);
        let found: Vec<Found> =
            self.with_state(|state| state.call_method0("findings")?.extract()).unwrap_or_default();
        let findings: Vec<Finding> = found
            .into_iter()
            .enumerate()
            .map(|(number, (first, last, message, confidence, evidence))| {
                let evidence = Evidence::Other(serde_json::from_str(&evidence).unwrap_or_default());
                let confidence = confidence.parse().unwrap_or(Confidence::Likely);
                Finding::new(self.id.to_string(), self.mode.clone(), (first, last), message, evidence)
                    .confidence(confidence)
                    .with_id(format_args!("{last}.{number}"))
            })
            .collect();
        Verdict::Judged(Judgement { detected: !findings.is_empty(), findings, ..Judgement::default() })
    }
}
