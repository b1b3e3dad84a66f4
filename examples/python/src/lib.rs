//! The native half of the Python package `wrongturn`, which only calls into the library.
//!
//! Options come in as JSON. Results go out as JSON or, for tables, as Arrow. `python/wrongturn` adds types
//! and documentation.

mod detector;
mod monitor;
mod report;
mod results;
mod table;

use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A library error as plain data, for reports and their pickles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Failure {
    message: String,
    kind: String,
    path: Option<String>,
    run: Option<u64>,
    place: Option<(u64, u64)>,
}

impl Failure {
    pub(crate) fn of(error: &wrongturn::Error) -> Self {
        Self {
            message: error.message(),
            kind: format!("{:?}", error.kind()).to_lowercase(),
            path: error.path().map(|path| path.display().to_string()),
            run: error.run(),
            place: error.location().map(|place| (place.line, place.column)),
        }
    }

    /// Returns the exception of the package for this error.
    pub(crate) fn exception<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (line, column) = self.place.unzip();
        let class = py.import("wrongturn._errors")?.getattr("WrongturnError")?;
        class.call1((&self.message, &self.kind, self.path.as_deref(), self.run, line, column))
    }
}

/// Converts a library error to the exception to raise.
pub(crate) fn raised(py: Python<'_>, error: &wrongturn::Error) -> PyErr {
    Failure::of(error).exception(py).map_or_else(|failure| failure, PyErr::from_value)
}

/// Returns the exception for wrong options, without a place.
pub(crate) fn config_error(py: Python<'_>, message: &str) -> PyErr {
    raised(py, &wrongturn::Error::config("options", message))
}

/// Serializes a result of the library as JSON.
pub(crate) fn to_json(py: Python<'_>, value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| config_error(py, &error.to_string()))
}

/// Parses options that the Python half has written as JSON.
pub(crate) fn from_json<T: DeserializeOwned>(py: Python<'_>, text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| config_error(py, &error.to_string()))
}

/// The native half of `wrongturn`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::monitor::Monitor;
    #[pymodule_export]
    use super::report::{Report, check};
    #[pymodule_export]
    use super::results::{associate, calibrate, compare_reports, compare_runs, detectors, replicate};
    #[pymodule_export]
    use super::table::Table;
}
