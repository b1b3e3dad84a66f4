//! A load: made-up traces, all open at one time, sent as fast as the collector takes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hyper::{StatusCode, Uri};
use serde_json::{Value, json};

use crate::common::{Failure, print};
use crate::forward::{NotSent, address, post};

/// Traces whose spans go into one body.
const TRACES: u64 = 50;

/// Requests at one time.
const SENDERS: u64 = 4;

/// Sends span after span of every trace, so that all are open until the end, and tells how long that took.
pub(crate) async fn run(url: &str, traces: u64, spans: u64) -> Result<u8, Failure> {
    let uri = address(url, "/v1/traces")?;
    let began = Instant::now();
    let (sent, refused) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    for span in 0..spans {
        let mut senders = Vec::new();
        for sender in 0..SENDERS {
            let (uri, sent, refused) = (uri.clone(), Arc::clone(&sent), Arc::clone(&refused));
            senders.push(tokio::spawn(async move {
                for first in (sender * TRACES..traces).step_by(usize::try_from(SENDERS * TRACES).unwrap_or(1))
                {
                    let last = traces.min(first + TRACES);
                    let made: Vec<Value> = (first..last).map(|trace| made_up(trace, span, spans)).collect();
                    let body = json!({"resourceSpans": [{"scopeSpans": [{"spans": made}]}]}).to_string();
                    send(&uri, body, &refused).await.map_err(|error| format!("{uri}: {error}"))?;
                    sent.fetch_add(last - first, Ordering::Relaxed);
                }
                Ok::<(), String>(())
            }));
        }
        for sender in senders {
            sender.await??;
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    let (sent, refused) = (sent.load(Ordering::Relaxed), refused.load(Ordering::Relaxed));
    let rate = f64::from(u32::try_from(sent).unwrap_or(u32::MAX)) / seconds;
    print(&format!(
        "{sent} spans of {traces} traces in {seconds:.1} s: {rate:.0} a second; {refused} requests sent again\n"
    ))?;
    Ok(0)
}

/// Sends until the collector takes it.
async fn send(uri: &Uri, body: String, refused: &AtomicU64) -> Result<(), NotSent> {
    let body = hyper::body::Bytes::from(body);
    loop {
        match post(uri, body.clone()).await? {
            StatusCode::OK => return Ok(()),
            StatusCode::TOO_MANY_REQUESTS => {
                refused.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            status => return Err(format!("the collector answers {status}").into()),
        }
    }
}

/// One span of a made-up trace: tools first, and in the end the agent, whose end is that of the trace.
fn made_up(trace: u64, span: u64, spans: u64) -> Value {
    let text = |key: &str, value: String| json!({"key": key, "value": {"stringValue": value}});
    let start = 1_700_000_000_000_000_000 + span * 1_000_000;
    let is_root = span + 1 == spans;
    let attributes = if is_root {
        vec![text("gen_ai.operation.name", "invoke_agent".to_owned())]
    } else {
        // Every tenth trace asks the same all the time.
        let number = if trace.is_multiple_of(10) { 0 } else { span };
        vec![
            text("gen_ai.operation.name", "execute_tool".to_owned()),
            text("gen_ai.tool.name", "get_order".to_owned()),
            text("gen_ai.tool.call.arguments", format!("{{\"order\": {number}}}")),
            text("gen_ai.tool.call.result", format!("order {number} is pending")),
        ]
    };
    json!({
        "traceId": format!("{:032x}", trace + 1),
        "spanId": format!("{:016x}", span + 1),
        "parentSpanId": if is_root { String::new() } else { format!("{spans:016x}") },
        "name": if is_root { "invoke_agent clerk" } else { "execute_tool get_order" },
        "startTimeUnixNano": start.to_string(),
        "endTimeUnixNano": (start + 500_000).to_string(),
        "attributes": attributes,
    })
}
