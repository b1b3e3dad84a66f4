//! SARIF 2.1.0, for code scanning.

use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use crate::detect::{ALL, Confidence, DetectorInfo, Finding};
use crate::scan::TraceRecord;

/// Returns the start of a SARIF log, up to the list of results.
pub(super) fn head() -> String {
    let rule = |info: &DetectorInfo| {
        json!({
            "id": info.id,
            "shortDescription": {"text": info.summary},
            "properties": {"mode": info.mode},
        })
    };
    let driver = json!({
        "name": env!("CARGO_PKG_NAME"),
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "rules": ALL.iter().map(rule).collect::<Vec<Value>>(),
    });
    format!(
        "{{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{{\
         \"tool\":{{\"driver\":{driver}}},\"results\":[\n"
    )
}

/// Returns the SARIF result of a finding.
pub(super) fn result(record: &TraceRecord, finding: &Finding) -> String {
    let run = record.trace_id();
    // The location is that of the last step.
    let place = record.places.get(&finding.last);
    let artifact = json!({"uri": uri(&record.file)});
    let location = json!({
        "physicalLocation": match place {
            Some(place) => json!({"artifactLocation": artifact, "region": {"startLine": place.line}}),
            None => json!({"artifactLocation": artifact}),
        },
        "logicalLocations": [{
            "name": format!("step {}", finding.last),
            "fullyQualifiedName": place
                .and_then(|place| place.pointer.clone())
                .unwrap_or_else(|| format!("{run}/{}", finding.last)),
            "kind": "element",
        }],
    });
    let level = if finding.confidence == Confidence::Certain { "warning" } else { "note" };
    let mut result = json!({
        "ruleId": finding.detector,
        "level": level,
        "message": {"text": finding.message},
        "locations": [location],
        "partialFingerprints": {"findingId/v1": format!("{run}/{}", finding.id)},
        "properties": {
            "run": run,
            "first": finding.first,
            "last": finding.last,
            "confidence": finding.confidence,
            "model": record.metadata.model,
            "task": record.metadata.task,
        },
    });
    // Detectors of other crates are not among the rules of the log.
    let index = ALL.iter().position(|info| info.id == finding.detector);
    if let Some((result, index)) = result.as_object_mut().zip(index) {
        result.insert("ruleIndex".to_owned(), json!(index));
    }
    result.to_string()
}

/// Returns the notification of an error in a file that could not be read in full.
pub(super) fn notification(file: &Path, error: &str) -> Value {
    let place = json!({"physicalLocation": {"artifactLocation": {"uri": uri(file)}}});
    json!({"level": "error", "message": {"text": error}, "locations": [place]})
}

/// Returns the end of a SARIF log, from the end of the list of results on.
pub(super) fn end(notifications: &[Value]) -> String {
    let invocation = json!({
        "executionSuccessful": notifications.is_empty(),
        "toolExecutionNotifications": notifications,
    });
    format!("\n],\"invocations\":[{invocation}]}}]}}\n")
}

/// Returns a path as a URI: relative without `.`, or absolute with the scheme `file`.
fn uri(path: &Path) -> String {
    let path: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
    let mut uri = if path.is_absolute() { "file://".to_owned() } else { String::new() };
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'\\' if cfg!(windows) => uri.push('/'),
            byte if byte.is_ascii_alphanumeric() || b"-._~/".contains(byte) => uri.push(char::from(*byte)),
            byte => _ = write!(uri, "%{byte:02X}"),
        }
    }
    uri
}
