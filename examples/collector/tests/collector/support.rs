//! Runs a collector as a child process, sends requests to it, and makes up traces.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");
pub(crate) const GZIP: (&str, &str) = ("content-encoding", "gzip");

/// The longest that a test waits for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A running collector, which is killed when dropped.
pub(crate) struct Collector {
    pub(crate) child: Child,
    pub(crate) http: String,
    pub(crate) grpc: String,
    log: Arc<Mutex<String>>,
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn command(settings: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_collector"));
    for setting in settings {
        command.args(["--set", setting]);
    }
    command
}

/// Returns settings in the form that [`Collector::start`] takes.
pub(crate) fn settings(settings: &[&str]) -> Vec<String> {
    settings.iter().map(|setting| (*setting).to_owned()).collect()
}

impl Collector {
    pub(crate) fn start(own: &[String]) -> Self {
        Self::spawn(&mut command(own))
    }

    /// Starts a collector with the settings of a file.
    pub(crate) fn start_with(file: &str) -> Self {
        Self::spawn(command(&[]).args(["--config", file]))
    }

    fn spawn(command: &mut Command) -> Self {
        command.args(["--set", "receive.http=127.0.0.1:0", "--set", "receive.grpc=127.0.0.1:0"]);
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the collector starts");
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let log = Arc::new(Mutex::new(String::new()));
        let written = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                writeln!(written.lock().unwrap(), "{line}").unwrap();
            }
        });
        let mut collector = Self { child, http: String::new(), grpc: String::new(), log };
        let mut address = |protocol: &str| {
            wait_for(&format!("the {protocol} address"), || {
                assert!(collector.child.try_wait().unwrap().is_none(), "{}", collector.log());
                let log = collector.log.lock().unwrap();
                let line = log.lines().find(|line| line.contains(&format!("protocol=\"{protocol}\"")))?;
                line.split("address=").nth(1).map(str::to_owned)
            })
        };
        let (http, grpc) = (address("http"), address("grpc"));
        (collector.http, collector.grpc) = (http, grpc);
        collector
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.http).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends a request. Returns the status, head and body of the answer.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> (u16, String, String) {
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n");
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        write!(head, "content-length: {}\r\n\r\n", body.len()).unwrap();
        let mut stream = self.connect();
        stream.write_all(head.as_bytes()).unwrap();
        // The collector may close the connection before it has read all of a refused body.
        let _ = stream.write_all(body);
        answer(stream)
    }

    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        let (status, _, body) = self.send("GET", path, &[], b"");
        (status, body)
    }

    pub(crate) fn post(&self, body: &Value) -> (u16, String, String) {
        self.send("POST", "/v1/traces", &[JSON], body.to_string().as_bytes())
    }

    /// Returns the sum of all series of a metric whose labels contain this text.
    pub(crate) fn metric(&self, name: &str, labels: &str) -> u64 {
        let (status, body) = self.get("/metrics");
        assert_eq!(status, 200, "{body}");
        let series = body.lines().filter_map(|line| {
            let (series, value) = line.strip_prefix("wrongturn_")?.rsplit_once(' ')?;
            let (found, own) = series.split_once('{').unwrap_or((series, ""));
            (found == name && own.contains(labels)).then(|| value.parse::<f64>().unwrap())
        });
        series.sum::<f64>() as u64
    }

    pub(crate) fn count(&self, name: &str) -> u64 {
        self.metric(name, "")
    }

    pub(crate) fn wait(&self, name: &str, least: u64) {
        wait_for(&format!("{name} of at least {least}"), || (self.count(name) >= least).then_some(()));
    }

    pub(crate) fn terminate(&self) {
        let sent = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Sends SIGTERM and waits for the exit. Returns the exit status and the time that it took.
    pub(crate) fn stop(mut self) -> (i32, Duration) {
        self.terminate();
        let began = Instant::now();
        let status = wait_for("the end", || self.child.try_wait().unwrap());
        (status.code().unwrap(), began.elapsed())
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Returns the resident memory, in MiB.
    pub(crate) fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap() / 1024
    }
}

/// Waits until `found` returns a value. Panics after [`PATIENCE`].
pub(crate) fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn answer(mut stream: TcpStream) -> (u16, String, String) {
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    (status, head.to_lowercase(), body.to_owned())
}

/// A directory that is removed when dropped.
pub(crate) struct Dir(PathBuf);

impl Dir {
    pub(crate) fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("wrongturn-collector-{}-{test}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// Returns the setting for a file sink in this directory.
    pub(crate) fn sink(&self) -> String {
        format!("sink=[{{kind='file',path='{}'}}]", self.path("events.jsonl"))
    }

    /// Returns the events that the sink has written.
    pub(crate) fn events(&self) -> Vec<Event> {
        let text = fs::read_to_string(self.path("events.jsonl")).unwrap_or_default();
        let requests = text.lines().map(|line| serde_json::from_str(line).unwrap_or_default());
        requests.flat_map(|request: Value| events(&request)).collect()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An event as a sink receives it.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) trace: String,
    pub(crate) span: String,
    pub(crate) resource: Value,
    attributes: Value,
}

impl Event {
    pub(crate) fn text(&self, name: &str) -> &str {
        text_of(&self.attributes, name)
    }

    pub(crate) fn sender(&self, name: &str) -> &str {
        text_of(&self.resource, name)
    }

    pub(crate) fn is(&self, detector: &str, update: &str) -> bool {
        self.text("gen_ai.evaluation.name") == detector && self.text("wrongturn.update") == update
    }
}

fn text_of<'a>(attributes: &'a Value, name: &str) -> &'a str {
    let found = attributes.as_array().unwrap().iter().find(|attribute| attribute["key"] == name);
    found.and_then(|found| found["value"]["stringValue"].as_str()).unwrap_or_default()
}

pub(crate) fn events(request: &Value) -> Vec<Event> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut events = Vec::new();
    for logs in list(&request["resourceLogs"]) {
        for record in list(&logs["scopeLogs"][0]["logRecords"]) {
            let id = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
            events.push(Event {
                trace: id("traceId"),
                span: id("spanId"),
                resource: logs["resource"]["attributes"].clone(),
                attributes: record["attributes"].clone(),
            });
        }
    }
    events
}

pub(crate) fn trace_id(number: u64) -> String {
    format!("{number:032x}")
}

pub(crate) fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// Returns the spans of a run that makes the same call five times. The span of its agent comes last.
pub(crate) fn spans(trace: u64) -> Vec<Value> {
    let span = |id: u64, parent: &str, attributes: Value| {
        json!({"traceId": trace_id(trace), "spanId": format!("{id:016x}"), "parentSpanId": parent, "name": "a",
            "startTimeUnixNano": (1000 * id).to_string(), "endTimeUnixNano": (1000 * id + 500).to_string(),
            "attributes": attributes})
    };
    let call = json!([
        attribute("gen_ai.operation.name", "execute_tool"),
        attribute("gen_ai.tool.name", "look"),
        attribute("gen_ai.tool.call.arguments", "{}"),
        attribute("gen_ai.tool.call.result", "a wall"),
    ]);
    let mut spans: Vec<Value> = (2..7).map(|id| span(id, &format!("{:016x}", 1), call.clone())).collect();
    spans.push(span(1, "", json!([attribute("gen_ai.operation.name", "invoke_agent")])));
    spans
}

pub(crate) fn body(spans: &[Value]) -> Value {
    json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
}

/// Returns a body of spans from the service with this name.
pub(crate) fn body_of(service: &str, spans: &[Value]) -> Value {
    let resource = json!({"attributes": [attribute("service.name", service)]});
    json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}], "resource": resource}]})
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
