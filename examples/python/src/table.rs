//! Arrow tables of runs and findings.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use wrongturn::{Finding, Verdict, read::Format, scan::TraceRecord};

/// A table that is exported through the Arrow `PyCapsule` interface.
#[pyclass(frozen, eq, module = "wrongturn._native")]
#[derive(PartialEq)]
pub(crate) struct Table {
    batch: RecordBatch,
}

#[pymethods]
impl Table {
    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol allows ignoring a requested schema.
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    /// The columns as lists of Python values.
    fn to_pydict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for (field, column) in self.batch.schema().fields().iter().zip(self.batch.columns()) {
            let values = match column.data_type() {
                DataType::Utf8 => PyList::new(py, column.as_string::<i32>())?,
                DataType::UInt64 => PyList::new(py, column.as_primitive::<UInt64Type>())?,
                DataType::Float64 => PyList::new(py, column.as_primitive::<Float64Type>())?,
                _ => PyList::new(py, column.as_boolean())?,
            };
            columns.set_item(field.name(), values)?;
        }
        Ok(columns)
    }
}

/// Columns, in order.
#[derive(Default)]
struct Columns(Vec<(String, ArrayRef)>);

impl Columns {
    fn add(&mut self, name: &str, column: impl Array + 'static) {
        self.0.push((name.to_owned(), Arc::new(column)));
    }

    fn texts<T: AsRef<str>>(&mut self, name: &str, values: impl Iterator<Item = Option<T>>) {
        self.add(name, values.collect::<StringArray>());
    }

    fn counts(&mut self, name: &str, values: impl Iterator<Item = Option<u64>>) {
        self.add(name, values.collect::<UInt64Array>());
    }

    fn numbers(&mut self, name: &str, values: impl Iterator<Item = Option<f64>>) {
        self.add(name, values.collect::<Float64Array>());
    }

    /// Adds the columns that identify runs.
    fn names<'r>(&mut self, records: impl Iterator<Item = &'r TraceRecord> + Clone) {
        self.texts("run", records.clone().map(|record| Some(record.trace_id())));
        self.texts("file", records.clone().map(|record| Some(record.file.display().to_string())));
        self.texts("agent", records.clone().map(|record| record.metadata.agent.as_deref()));
        self.texts("model", records.clone().map(|record| record.metadata.model.as_deref()));
        self.texts("domain", records.clone().map(|record| record.metadata.domain.as_deref()));
        self.texts("task", records.map(|record| record.metadata.task.as_deref()));
    }

    fn finish(self) -> PyResult<Table> {
        let fault = |error: ArrowError| PyValueError::new_err(error.to_string());
        let columns = self.0.into_iter().map(|(name, column)| (name, column, true));
        Ok(Table { batch: RecordBatch::try_from_iter_with_nullable(columns).map_err(fault)? })
    }
}

#[expect(clippy::cast_precision_loss, reason = "durations in seconds need no more digits")]
fn seconds(nanoseconds: Option<u64>) -> Option<f64> {
    nanoseconds.map(|nanoseconds| nanoseconds as f64 / 1e9)
}

/// Returns a row for each run: names, reward, size, and for each detector its verdict, score and measures.
pub(crate) fn runs(records: &[TraceRecord]) -> PyResult<Table> {
    let all = || records.iter();
    let mut columns = Columns::default();
    columns.names(all());
    columns.counts("position", all().map(|record| Some(record.position)));
    columns.texts("format", all().map(|record| record.format.map(Format::name)));
    columns.counts("trial", all().map(|record| record.metadata.trial));
    columns.numbers("reward", all().map(|record| record.reward));
    columns.texts("termination", all().map(|record| record.metadata.termination.as_deref()));
    columns.counts("steps", all().map(|record| Some(record.cost.steps)));
    columns.counts("actions", all().map(|record| Some(record.actions)));
    columns.counts("errors", all().map(|record| Some(record.errors)));
    columns.counts("unanswered_calls", all().map(|record| Some(record.unpaired.calls)));
    columns.counts("tokens", all().map(|record| record.cost.tokens()));
    columns.numbers("seconds", all().map(|record| seconds(record.cost.duration_ns)));
    columns.texts("digest", all().map(|record| record.digest.map(|digest| digest.to_string())));
    columns.counts("findings", all().map(|record| Some(record.findings().count() as u64)));
    for (id, _) in records.first().map_or(&[][..], |record| &record.verdicts) {
        let verdicts = || all().map(|record| record.verdict(id));
        let judgements = || verdicts().map(|verdict| verdict.and_then(Verdict::judgement));
        let detected = verdicts().map(|verdict| verdict.and_then(Verdict::detected));
        columns.add(id, detected.collect::<BooleanArray>());
        columns.numbers(
            &format!("{id}_score"),
            judgements().map(|judgement| judgement.and_then(|one| one.score)),
        );
        let mut measures: Vec<&str> = Vec::new();
        for measure in judgements().flatten().flat_map(|judgement| judgement.measures.iter()) {
            if !measures.contains(&measure.name) {
                measures.push(measure.name);
            }
        }
        for measure in measures {
            let values = verdicts().map(|verdict| verdict.and_then(|verdict| verdict.measure(measure)));
            columns.numbers(&format!("{id}.{measure}"), values);
        }
    }
    columns.finish()
}

/// Returns a row for each finding, with the columns that identify its run.
pub(crate) fn findings(records: &[TraceRecord]) -> PyResult<Table> {
    let rows: Vec<(&TraceRecord, &Finding)> =
        records.iter().flat_map(|record| record.findings().map(move |finding| (record, finding))).collect();
    let all = || rows.iter().map(|(_, finding)| *finding);
    let mut columns = Columns::default();
    columns.names(rows.iter().map(|(record, _)| *record));
    columns.texts("id", all().map(|finding| Some(finding.id.as_str())));
    columns.texts("detector", all().map(|finding| Some(finding.detector.as_ref())));
    columns.texts("mode", all().map(|finding| Some(finding.mode.to_string())));
    columns.texts("tool", all().map(|finding| finding.tool.as_deref()));
    columns.counts("first", all().map(|finding| Some(finding.first)));
    columns.counts("last", all().map(|finding| Some(finding.last)));
    columns.texts("confidence", all().map(|finding| Some(finding.confidence.name())));
    columns.texts("message", all().map(|finding| Some(finding.message.as_str())));
    columns.texts("evidence", all().map(|finding| serde_json::to_string(&finding.evidence).ok()));
    columns.counts("steps", all().map(|finding| finding.cost.map(|cost| cost.steps)));
    columns.counts("tokens", all().map(|finding| finding.cost.and_then(|cost| cost.tokens())));
    columns.numbers("seconds", all().map(|finding| seconds(finding.cost.and_then(|cost| cost.duration_ns))));
    columns.finish()
}
