//! Renders runs in the output formats that have an entry for each run.

use wrongturn::{
    export::{EventContext, otlp_json},
    report::TestSuite,
    scan::{TraceRecord, path_text},
};

use super::streams::OutputFormat;
use crate::common;

/// The entry of a run in an output.
pub(crate) enum Entry {
    Text(String),
    Case(TestSuite),
}

/// Renders a run for a stream. This runs on the reading threads.
pub(crate) fn entry(format: OutputFormat, record: &TraceRecord) -> Result<Entry, String> {
    Ok(Entry::Text(match (format, format.of_findings()) {
        (_, Some(findings)) => findings.render(record),
        (OutputFormat::Otlp, _) => {
            let context = EventContext::new(&record.trace_id(), &record.metadata);
            otlp_json(&context.of_verdicts(&record.verdicts)) + "\n"
        }
        (OutputFormat::Junit, _) => return Ok(Entry::Case(junit_case(record))),
        _ => common::json_line(record)?,
    }))
}

fn junit_case(record: &TraceRecord) -> TestSuite {
    let steps: Vec<String> =
        record.findings().map(|finding| format!("steps {}-{}", finding.first, finding.last)).collect();
    let failures: Vec<_> = record
        .findings()
        .zip(&steps)
        .map(|(finding, steps)| (Some(&*finding.detector), finding.message.as_str(), steps.as_str()))
        .collect();
    let mut case = TestSuite::default();
    case.case(&path_text(record.file.as_os_str()), &record.trace_id(), &failures);
    case
}
