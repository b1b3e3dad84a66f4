//! `examples/collector` over a real socket: what it takes is judged and handed on, what it cannot take is refused in the
//! way that OTLP asks for. `cargo test --features collector` has built it by the time this runs.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests say what they expect by failing"
)]

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The program while it runs. It is ended with the test, whatever comes.
struct Collector {
    child: Child,
    out: BufReader<std::process::ChildStderr>,
    address: String,
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Collector {
    fn start(arguments: &[&str]) -> Self {
        Self::start_at("127.0.0.1:0", arguments)
    }

    fn start_at(address: &str, arguments: &[&str]) -> Self {
        let test = std::env::current_exe().unwrap();
        let profile = test.parent().and_then(Path::parent).unwrap();
        let program = profile.join("examples").join("collector");
        let mut command = Command::new(&program);
        command.args(["--listen", address]).args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let mut out = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap().to_owned();
        Self { child, out, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends a request with these headers; gives status, headers and body of the answer.
    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, String, String) {
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n");
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        write!(head, "content-length: {}\r\n\r\n", body.len()).unwrap();
        let mut stream = self.connect();
        stream.write_all(head.as_bytes()).unwrap();
        // Who refuses a body does not read it to its end.
        let _ = stream.write_all(body);
        answer(stream)
    }

    fn post(&self, body: &Value) -> (u16, String, String) {
        self.send("POST", "/v1/traces", &[JSON], body.to_string().as_bytes())
    }

    fn metric(&self, name: &str) -> u64 {
        let (status, _, body) = self.send("GET", "/metrics", &[], b"");
        assert_eq!(status, 200);
        number(&body, name)
    }

    fn wait_for(&self, name: &str, least: u64) {
        let began = Instant::now();
        while self.metric(name) < least {
            assert!(began.elapsed() < Duration::from_secs(20), "{name} stays below {least}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Tells it to stop; gives what it says in the end.
    fn stop(mut self) -> String {
        let told = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(told.success());
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{rest}");
        rest
    }
}

const JSON: (&str, &str) = ("content-type", "application/json");
const GZIP: (&str, &str) = ("content-encoding", "gzip");

fn answer(mut stream: TcpStream) -> (u16, String, String) {
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_lowercase(), body.to_owned())
}

fn number(metrics: &str, name: &str) -> u64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(&format!("wrongturn_{name} ")));
    line.unwrap_or_else(|| panic!("no {name} in {metrics}")).parse().unwrap()
}

/// A file in a place of its own, which is removed in the end.
struct File(PathBuf);

impl File {
    fn new(test: &str) -> Self {
        let name = format!("wrongturn-collector-{}-{test}.jsonl", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_file(&path);
        Self(path)
    }

    fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }

    fn events(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        text.lines().flat_map(|line| records(&serde_json::from_str(line).unwrap())).collect()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn records(request: &Value) -> Vec<Value> {
    request["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().unwrap().clone()
}

/// Trace, detector, label and span of an event.
fn told(event: &Value) -> (String, String, String, String) {
    let text = |name: &str| {
        let attributes = event["attributes"].as_array().unwrap();
        let found = attributes.iter().find(|attribute| attribute["key"] == name).unwrap();
        found["value"]["stringValue"].as_str().unwrap().to_owned()
    };
    let member = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
    (
        member("traceId"),
        text("gen_ai.evaluation.name"),
        text("gen_ai.evaluation.score.label"),
        member("spanId"),
    )
}

/// Whether the event reports a finding of an open trace.
fn is_update(event: &Value) -> bool {
    let attributes = event["attributes"].as_array().unwrap();
    attributes.iter().any(|attribute| attribute["key"] == "wrongturn.update")
}

fn trace_id(number: u64) -> String {
    format!("{number:032x}")
}

/// The spans of a run that asks five times the same; its agent's span comes last.
fn spans(trace: u64) -> Vec<Value> {
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let span = |id: u64, parent: &str, attributes: Value| {
        json!({"traceId": trace_id(trace), "spanId": format!("{id:016x}"), "parentSpanId": parent, "name": "a",
            "startTimeUnixNano": (1000 * id).to_string(), "endTimeUnixNano": (1000 * id + 500).to_string(),
            "attributes": attributes})
    };
    let call = json!([
        text("gen_ai.operation.name", "execute_tool"),
        text("gen_ai.tool.name", "look"),
        text("gen_ai.tool.call.arguments", "{}"),
        text("gen_ai.tool.call.result", "a wall"),
    ]);
    let mut spans: Vec<Value> = (2..7).map(|id| span(id, &format!("{:016x}", 1), call.clone())).collect();
    spans.push(span(1, "", json!([text("gen_ai.operation.name", "invoke_agent")])));
    spans
}

fn body(spans: &[Value]) -> Value {
    json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn spans_come_in_and_events_go_out() {
    let file = File::new("events");
    let collector = Collector::start(&["--out", file.name(), "--grace", "100"]);
    assert_eq!(collector.send("GET", "/healthz", &[], b"").2, "ok\n");
    // The first trace in parts, backwards; the second packed.
    for part in spans(1).chunks(2).rev() {
        assert_eq!(collector.post(&body(part)).0, 200);
    }
    let packed = gzip(body(&spans(2)).to_string().as_bytes());
    assert_eq!(collector.send("POST", "/v1/traces", &[JSON, GZIP], &packed).2, "{}");
    collector.wait_for("traces_closed_total", 2);
    collector.wait_for("events_sent_total", 10);
    // A third one is open when the program stops: it was accepted, and is not lost.
    assert_eq!(collector.post(&body(&spans(3)[..5])).0, 200);
    let last = collector.stop();
    assert_eq!((number(&last, "spans_received_total"), number(&last, "spans_judged_total")), (17, 17));
    assert_eq!(number(&last, "events_dropped_total"), 0);
    let (opened, verdicts): (Vec<Value>, Vec<Value>) = file.events().into_iter().partition(is_update);
    assert_eq!(number(&last, "events_sent_total"), (opened.len() + verdicts.len()) as u64);
    // The loops of the first two were reported before their traces closed.
    assert!(opened.len() >= 2);
    let events: Vec<_> = verdicts.iter().map(told).collect();
    assert_eq!(events.len(), 15);
    for trace in 1..4 {
        let loops: Vec<_> =
            events.iter().filter(|event| event.0 == trace_id(trace) && event.1 == "loop").collect();
        assert_eq!(loops.len(), 1);
        assert_eq!((loops[0].2.as_str(), loops[0].3.as_str()), ("fail", "0000000000000006"));
    }
}

#[cfg(feature = "otlp")]
#[test]
fn protobuf_is_read_as_json_is() {
    use opentelemetry_proto::tonic::collector::trace::v1::{
        ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
    };
    use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
    use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
    use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
    use prost::Message;

    let bytes = |hex: &Value| -> Vec<u8> {
        let hex = hex.as_str().unwrap();
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    };
    let count = |text: &Value| text.as_str().unwrap().parse().unwrap();
    let attribute = |attribute: &Value| KeyValue {
        key: attribute["key"].as_str().unwrap().to_owned(),
        value: Some(AnyValue {
            value: Some(Any::StringValue(attribute["value"]["stringValue"].as_str().unwrap().to_owned())),
        }),
        ..KeyValue::default()
    };
    let span = |span: &Value| Span {
        trace_id: bytes(&span["traceId"]),
        span_id: bytes(&span["spanId"]),
        parent_span_id: bytes(&span["parentSpanId"]),
        start_time_unix_nano: count(&span["startTimeUnixNano"]),
        end_time_unix_nano: count(&span["endTimeUnixNano"]),
        attributes: span["attributes"].as_array().unwrap().iter().map(attribute).collect(),
        ..Span::default()
    };
    let scope = ScopeSpans { spans: spans(4).iter().map(span).collect(), ..ScopeSpans::default() };
    let resource = ResourceSpans { scope_spans: vec![scope], ..ResourceSpans::default() };
    let request = ExportTraceServiceRequest { resource_spans: vec![resource] }.encode_to_vec();

    let file = File::new("protobuf");
    let collector = Collector::start(&["--out", file.name()]);
    let kind = ("content-type", "application/x-protobuf");
    let (status, head, body) = collector.send("POST", "/v1/traces", &[kind, GZIP], &gzip(&request));
    assert_eq!((status, body.as_str()), (200, ""));
    assert!(head.contains("content-type: application/x-protobuf"), "{head}");
    // A span that belongs to no trace is told of.
    let nobodys = Span { name: "x".repeat(200), ..Span::default() };
    let scope = ScopeSpans { spans: vec![span(&spans(5)[5]), nobodys], ..ScopeSpans::default() };
    let resource = ResourceSpans { scope_spans: vec![scope], ..ResourceSpans::default() };
    let mixed = ExportTraceServiceRequest { resource_spans: vec![resource] }.encode_to_vec();
    let (status, _, answer) = collector.send("POST", "/v1/traces", &[kind], &mixed);
    let expected =
        ExportTracePartialSuccess { rejected_spans: 1, error_message: "1 spans without ids".to_owned() };
    let answer = ExportTraceServiceResponse::decode(answer.as_bytes()).unwrap();
    assert_eq!((status, answer.partial_success), (200, Some(expected)));
    let (status, _, message) = collector.send("POST", "/v1/traces", &[kind], &request[..100]);
    assert_eq!(status, 400);
    assert!(message.starts_with('\u{12}'), "{message:?}");
    collector.stop();
    let events: Vec<_> = file.events().iter().map(told).collect();
    assert!(events.iter().any(|event| event.1 == "loop" && event.2 == "fail"), "{events:?}");
}

/// Path, method, headers, body, and the status that answers them.
type Case<'c> = (&'c str, &'c str, &'c [(&'c str, &'c str)], &'c [u8], u16);

#[test]
fn what_cannot_be_taken_is_refused() {
    let collector = Collector::start(&["--max-body", "1"]);
    let large = vec![b' '; (1 << 20) + 1];
    let bomb = gzip(&vec![b' '; 64 << 20]);
    let valid = body(&spans(1)).to_string();
    let cut = &valid.as_bytes()[..valid.len() / 2];
    let cases: [Case<'_>; 10] = [
        ("POST", "/v1/traces", &[JSON], &large, 413),
        ("POST", "/v1/traces", &[JSON, GZIP], &bomb, 413),
        ("POST", "/v1/traces", &[JSON, GZIP], b"no gzip", 400),
        ("POST", "/v1/traces", &[JSON], b"[1, 2]", 400),
        ("POST", "/v1/traces", &[JSON], cut, 400),
        ("POST", "/v1/traces", &[], valid.as_bytes(), 415),
        ("POST", "/v1/traces", &[JSON, ("content-encoding", "br")], valid.as_bytes(), 415),
        ("GET", "/v1/traces", &[], b"", 405),
        ("GET", "/v1/metrics", &[], b"", 404),
        ("POST", "/v1/traces", &[JSON], b"{}", 200),
    ];
    for (method, path, headers, body, status) in cases {
        let (answered, _, said) = collector.send(method, path, headers, body);
        assert_eq!(answered, status, "{method} {path} {headers:?}: {said}");
    }
    // What is wrong costs itself alone, and the answer says so, by the name that is right for the kind of request.
    let mut mixed = spans(1);
    mixed.push(json!(7));
    mixed.push(json!({"traceId": trace_id(1), "spanId": "", "name": "nobody's"}));
    let (status, _, said) = collector.post(&body(&mixed));
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((status, &said["partialSuccess"]["rejectedSpans"]), (200, &json!("2")));
    let message = said["partialSuccess"]["errorMessage"].as_str().unwrap();
    assert!(message.contains("found a number") && message.ends_with("1 spans without ids"), "{message}");
    let record = json!({"traceId": trace_id(1), "eventName": "gen_ai.choice", "body": {"stringValue": "{}"}});
    let logs = json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [record, 7]}]}]}).to_string();
    let (status, _, said) = collector.send("POST", "/v1/logs", &[JSON], logs.as_bytes());
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((status, &said["partialSuccess"]["rejectedLogRecords"]), (200, &json!("1")), "{said}");
    assert!(said["partialSuccess"].get("rejectedSpans").is_none());
    collector.wait_for("spans_received_total", 7);
    assert_eq!(collector.metric("requests_faulty_total"), 7);
}

#[test]
fn too_much_at_one_time_is_refused_for_now() {
    let collector = Collector::start(&["--max-requests", "1"]);
    let mut slow = collector.connect();
    let head = "POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n";
    slow.write_all(head.as_bytes()).unwrap();
    collector.wait_for("requests_total", 1);
    let (status, head, _) = collector.post(&body(&spans(1)));
    assert_eq!(status, 429);
    assert!(head.contains("retry-after: 1"), "{head}");
    slow.write_all(b"{}").unwrap();
    assert_eq!(answer(slow).0, 200);
    assert_eq!(collector.post(&body(&spans(1))).0, 200);
    assert_eq!(collector.metric("requests_refused_total"), 1);
}

/// A request of HTTP/1: its body, read by length.
fn taken(stream: &mut TcpStream) -> Value {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    serde_json::from_slice(&body).unwrap()
}

#[test]
fn events_are_forwarded_and_sent_again_where_that_helps() {
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/logs", target.local_addr().unwrap());
    let collector = Collector::start(&["--forward", &url, "--grace", "0"]);
    assert_eq!(collector.post(&body(&spans(7))).0, 200);
    let mut requests = Vec::new();
    for status in ["503 Service Unavailable", "200 OK"] {
        let (mut stream, _) = target.accept().unwrap();
        requests.push(taken(&mut stream));
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
    }
    assert_eq!(requests[0], requests[1]);
    assert_eq!(records(&requests[0]).len(), 5);
    collector.wait_for("events_sent_total", 5);
    assert_eq!(number(&collector.stop(), "events_dropped_total"), 0);
}

#[test]
fn events_for_a_dead_target_are_kept_up_to_a_cap_and_counted() {
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/logs", target.local_addr().unwrap());
    drop(target);
    let arguments = ["--forward", &url, "--grace", "0", "--max-events", "12", "--drain", "1"];
    let collector = Collector::start(&arguments);
    for trace in 1..6 {
        assert_eq!(collector.post(&body(&spans(trace))).0, 200);
        collector.wait_for("traces_closed_total", trace);
    }
    assert_eq!((collector.metric("events_waiting"), collector.metric("events_dropped_total")), (10, 15));
    let last = collector.stop();
    assert_eq!((number(&last, "events_sent_total"), number(&last, "events_dropped_total")), (0, 25));
}

#[test]
fn a_killed_target_costs_what_the_cap_does_not_hold() {
    let mut target = Collector::start(&[]);
    let address = target.address.clone();
    let url = format!("http://{address}/v1/logs");
    let collector = Collector::start(&["--forward", &url, "--grace", "0", "--max-events", "12"]);
    let send = |trace: u64| {
        assert_eq!(collector.post(&body(&spans(trace))).0, 200);
        collector.wait_for("traces_closed_total", trace);
    };
    send(1);
    collector.wait_for("events_sent_total", 5);
    target.child.kill().unwrap();
    target.child.wait().unwrap();
    // Two traces fit; what comes then is dropped, whole traces at a time, and said.
    for trace in 2..6 {
        send(trace);
    }
    let metrics =
        || ["sent_total", "waiting", "dropped_total"].map(|name| collector.metric(&format!("events_{name}")));
    assert_eq!(metrics(), [5, 10, 10]);
    // The program goes on all the same, and delivers what it kept when somebody is there again.
    assert_eq!(collector.send("GET", "/healthz", &[], b"").2, "ok\n");
    let again = Collector::start_at(&address, &[]);
    collector.wait_for("events_sent_total", 15);
    assert_eq!(metrics(), [15, 0, 10]);
    again.wait_for("spans_received_total", 10);
    assert_eq!(number(&collector.stop(), "events_dropped_total"), 10);
}

#[test]
fn the_metrics_are_what_prometheus_reads() {
    let collector = Collector::start(&[]);
    // One of three spans has no id.
    let mut sent = spans(1);
    sent.truncate(3);
    sent[1]["spanId"] = json!("");
    let (status, _, answered) = collector.post(&body(&sent));
    assert_eq!(status, 200);
    assert!(answered.contains(r#""rejectedSpans":"1""#), "{answered}");
    collector.wait_for("spans_received_total", 2);
    assert_eq!(collector.metric("spans_rejected_total"), 1);
    let (_, head, text) = collector.send("GET", "/metrics", &[], b"");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() > 60 && lines.len().is_multiple_of(3), "{text}");
    for metric in lines.chunks(3) {
        let (name, number) = metric[2].split_once(' ').unwrap();
        number.parse::<u64>().unwrap();
        assert!(name.starts_with("wrongturn_"), "{name}");
        let help = metric[0].strip_prefix(&format!("# HELP {name} ")).unwrap();
        assert!(help.ends_with('.'), "{help}");
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        assert_eq!(metric[1], format!("# TYPE {name} {kind}"));
    }
}

#[test]
fn names_of_hosts_are_addresses_too() {
    let collector = Collector::start_at("localhost:0", &[]);
    assert!(collector.address.starts_with("127.0.0.1:"), "{}", collector.address);
    let run = |arguments: &[&str]| {
        let own = std::env::current_exe().unwrap();
        let program = own.parent().and_then(Path::parent).unwrap().join("examples").join("collector");
        let output = Command::new(program).args(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    // A bare host is sent to where traces go.
    let load = |url: &str| run(&["--load", url, "--load-traces", "5", "--load-spans", "2"]);
    for url in [format!("http://{}", collector.address), format!("http://{}/", collector.address)] {
        let (status, out, err) = load(&url);
        assert!(status == 0 && out.starts_with("10 spans of 5 traces in "), "{out}{err}");
    }
    let (status, _, err) = load(&format!("http://{}/v1/nothing", collector.address));
    assert!(status == 2 && err.contains("/v1/nothing: the collector answers 404"), "{err}");
    let (status, _, err) = load("127.0.0.1:4318");
    assert!(status == 2 && err.contains("not of the form http://host:port"), "{err}");
    // An address that is taken or none is named.
    for address in [&*collector.address, "127.0.0.1", "no host:1"] {
        let (status, out, err) = run(&["--listen", address]);
        assert_eq!((status, &*out), (2, ""));
        assert!(err.starts_with(&format!("error: cannot listen on {address}: ")), "{err}");
    }
}
