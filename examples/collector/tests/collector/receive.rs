//! Accepted and refused requests, with their answers.

use std::io::Write as _;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::support::{
    Collector, Dir, GZIP, JSON, answer, attribute, body, gzip, settings, spans, trace_id, wait_for,
};

fn load(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_collector")).arg("load").args(arguments).output().unwrap()
}

#[test]
fn spans_come_in_and_events_go_out() {
    let dir = Dir::new("events");
    let collector = Collector::start(&[dir.sink(), "traces.grace_ms=100".to_owned()]);
    assert_eq!(collector.get("/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(collector.get("/readyz"), (200, "ok\n".to_owned()));
    // The first trace comes in parts, in reverse order; the second is compressed.
    for part in spans(1).chunks(2).rev() {
        assert_eq!(collector.post(&body(part)).0, 200);
    }
    let packed = gzip(body(&spans(2)).to_string().as_bytes());
    assert_eq!(collector.send("POST", "/v1/traces", &[JSON, GZIP], &packed).2, "{}");
    collector.wait("traces_closed_total", 2);
    // The third is open when the program stops.
    assert_eq!(collector.post(&body(&spans(3)[..5])).0, 200);
    assert_eq!(collector.stop().0, 0);
    let (opened, verdicts): (Vec<_>, Vec<_>) =
        dir.events().into_iter().partition(|event| !event.text("wrongturn.update").is_empty());
    assert!(opened.len() >= 2, "{opened:?}");
    assert_eq!(verdicts.len(), 15);
    for trace in 1..4 {
        let loops: Vec<_> =
            verdicts.iter().filter(|event| event.trace == trace_id(trace) && event.is("loop", "")).collect();
        assert_eq!(loops.len(), 1);
        assert_eq!(loops[0].text("gen_ai.evaluation.score.label"), "fail");
        assert_eq!(loops[0].span, "0000000000000006");
    }
}

#[test]
fn protobuf_is_read_like_json_over_http_and_grpc() {
    for grpc in [false, true] {
        let dir = Dir::new(if grpc { "grpc" } else { "protobuf" });
        let collector = Collector::start(&[dir.sink(), "traces.grace_ms=0".to_owned()]);
        let address = format!("http://{}", if grpc { &collector.grpc } else { &collector.http });
        // With one sender, because a span that comes after the root of its trace is late.
        let mut arguments = vec![&*address, "--traces", "30", "--spans", "6", "--senders", "1"];
        arguments.extend(grpc.then_some("--grpc"));
        let output = load(&arguments);
        assert!(output.status.success(), "{output:?}");
        collector.wait("traces_closed_total", 30);
        assert_eq!(collector.count("spans_received_total"), 180);
        // A trace is closed shortly before its findings are counted.
        let loops = "detector=\"loop\",mode=\"strategy/loop\",service=\"load\"";
        wait_for("three loops", || (collector.metric("findings_total", loops) == 3).then_some(()));
        assert_eq!(collector.stop().0, 0);
        // Every tenth trace loops.
        let loops = dir
            .events()
            .into_iter()
            .filter(|event| event.is("loop", "") && event.text("gen_ai.evaluation.score.label") == "fail");
        let traces: Vec<_> = loops.map(|event| event.trace).collect();
        assert_eq!(traces, [1, 11, 21].map(trace_id));
    }
}

/// Method, path, headers and body of a request, and the expected status.
type Case<'c> = (&'c str, &'c str, &'c [(&'c str, &'c str)], &'c [u8], u16);

#[test]
fn each_request_has_its_status() {
    let collector = Collector::start(&settings(&["receive.max_body_mib=1"]));
    let large = vec![b' '; (1 << 20) + 1];
    let bomb = gzip(&vec![b' '; 64 << 20]);
    let valid = body(&spans(1)).to_string();
    let valid = valid.as_bytes();
    let packed = gzip(valid);
    let cases: [Case<'_>; 17] = [
        ("POST", "/v1/traces", &[JSON], &large, 413),
        ("POST", "/v1/traces", &[JSON, GZIP], &bomb, 413),
        ("POST", "/v1/traces", &[JSON, GZIP], b"no gzip", 400),
        ("POST", "/v1/traces", &[JSON], b"[1, 2]", 400),
        ("POST", "/v1/traces", &[], valid, 415),
        ("POST", "/v1/traces", &[("content-type", "application/jsonfoo")], valid, 415),
        ("POST", "/v1/traces", &[("content-type", "application/x-protobufxx")], valid, 415),
        ("POST", "/v1/traces", &[JSON, ("content-encoding", "br")], valid, 415),
        ("GET", "/v1/traces", &[], b"", 405),
        ("POST", "/metrics", &[], b"", 405),
        ("GET", "/v1/metrics", &[], b"", 404),
        ("POST", "/v1/traces", &[JSON], b"{}", 200),
        ("POST", "/v1/traces", &[("content-type", "Application/JSON; charset=utf-8")], valid, 200),
        ("POST", "/v1/traces", &[JSON, ("content-encoding", "GZIP")], &packed, 200),
        ("POST", "/v1/traces", &[JSON, ("content-encoding", "Identity")], valid, 200),
        ("GET", "/traces/0000000000000000000000000000000f", &[], b"", 404),
        ("GET", "/traces/00000000000000000000000000000001", &[], b"", 200),
    ];
    for (method, path, headers, body, status) in cases {
        let (answered, _, message) = collector.send(method, path, headers, body);
        assert_eq!(answered, status, "{method} {path} {headers:?}: {message}");
    }
    for end in (1..valid.len()).step_by(97) {
        let (answered, _, message) = collector.send("POST", "/v1/traces", &[JSON], &valid[..end]);
        assert_eq!(answered, 400, "cut at {end}: {message}");
    }
    assert_eq!(collector.metric("requests_total", "transport=\"http\",code=\"415\""), 4);
}

#[test]
fn valid_spans_of_a_request_are_accepted() {
    let collector = Collector::start(&[]);
    let mut mixed = spans(1);
    mixed.push(json!(7));
    mixed.push(json!({"traceId": trace_id(1), "spanId": "", "name": "without id"}));
    mixed.push(json!({"traceId": "my-trace", "spanId": "1", "name": "malformed id"}));
    let (status, _, message) = collector.post(&body(&mixed));
    let answered: Value = serde_json::from_str(&message).unwrap();
    assert_eq!((status, &answered["partialSuccess"]["rejectedSpans"]), (200, &json!("3")), "{message}");
    let message = answered["partialSuccess"]["errorMessage"].as_str().unwrap();
    assert!(message.contains("1 spans or log records with malformed ids; 1 spans without ids"), "{message}");
    let record = json!({"traceId": trace_id(1), "eventName": "gen_ai.choice", "body": {"stringValue": "{}"}});
    let logs = json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [record, 7]}]}]}).to_string();
    let (status, _, message) = collector.send("POST", "/v1/logs", &[JSON], logs.as_bytes());
    let answered: Value = serde_json::from_str(&message).unwrap();
    assert_eq!(status, 200);
    assert_eq!(answered["partialSuccess"]["rejectedLogRecords"], "1", "{message}");
    collector.wait("spans_received_total", 7);
    assert_eq!(collector.count("spans_rejected_total"), 4);
}

#[test]
fn an_open_trace_can_be_looked_at() {
    let collector = Collector::start(&[]);
    assert_eq!(collector.post(&body(&spans(7)[..5])).0, 200);
    collector.wait("spans_received_total", 5);
    let (status, runs) = collector.get(&format!("/traces/{}", trace_id(7)));
    let runs: Value = serde_json::from_str(&runs).unwrap();
    assert_eq!((status, &runs[0]["steps"]), (200, &json!(5)));
    assert_eq!(runs[0]["verdicts"]["loop"]["detected"], true, "{runs}");
}

#[test]
fn grpc_requires_the_token_like_http() {
    let dir = Dir::new("token");
    std::fs::write(dir.path("token"), "s3cret\n").unwrap();
    std::fs::write(dir.path("wrong"), "s3creT\n").unwrap();
    let token = format!("receive.token_file='{}'", dir.path("token"));
    let collector = Collector::start(&[token, dir.sink()]);
    let (http, grpc) = (format!("http://{}", collector.http), format!("http://{}", collector.grpc));
    for (address, transport) in [(&http, None), (&grpc, Some("--grpc"))] {
        for (file, is_allowed) in [(None, false), (Some("wrong"), false), (Some("token"), true)] {
            let file = file.map(|file| dir.path(file));
            let mut arguments = vec![&**address, "--traces", "1", "--spans", "1"];
            arguments.extend(transport);
            if let Some(file) = &file {
                arguments.extend(["--token-file", file]);
            }
            let output = load(&arguments);
            assert_eq!(output.status.success(), is_allowed, "{arguments:?} {output:?}");
            let error = String::from_utf8(output.stderr).unwrap();
            assert_eq!(error.contains("answered 401"), !is_allowed, "{error}");
        }
    }
    // The probes need no token; the metrics do.
    assert_eq!((collector.get("/healthz").0, collector.get("/metrics").0), (200, 401));
    let bearer = [("authorization", "bEARER s3cret")];
    let (status, _, metrics) = collector.send("GET", "/metrics", &bearer, b"");
    assert_eq!(status, 200);
    assert!(metrics.contains("wrongturn_requests_total{transport=\"grpc\",code=\"200\"} 1"), "{metrics}");
    assert!(metrics.contains("wrongturn_requests_total{transport=\"grpc\",code=\"401\"} 2"), "{metrics}");
}

#[test]
fn bodies_beyond_the_budget_get_429_until_there_is_room() {
    let collector = Collector::start(&settings(&["receive.max_in_flight_mib=1"]));
    let mut slow = collector.connect();
    let length = (1 << 20) - 10;
    let head = format!(
        "POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    slow.write_all(head.as_bytes()).unwrap();
    slow.write_all(&vec![b' '; length - 2]).unwrap();
    collector.wait("in_flight_bytes", length as u64 - 2);
    let (status, refused, _) = collector.post(&body(&spans(1)));
    assert_eq!(status, 429);
    assert!(refused.contains("retry-after: 1"), "{refused}");
    slow.write_all(b"{}").unwrap();
    assert_eq!(answer(slow).0, 200);
    wait_for("the judge", || (collector.count("in_flight_bytes") == 0).then_some(()));
    assert_eq!(collector.post(&body(&spans(1))).0, 200);
}

#[test]
fn metrics_count_each_step_once_and_their_senders_are_bounded() {
    let limits = ["metrics.max_senders=3", "traces.grace_ms=0", "detect.config.loop.min_repeats=2"];
    let collector = Collector::start(&settings(&limits));
    for number in 1..7 {
        let mut own = spans(number);
        own[5]["attributes"]
            .as_array_mut()
            .unwrap()
            .push(attribute("gen_ai.agent.name", &format!("a\"{number}")));
        assert_eq!(collector.post(&body(&own)).0, 200);
        collector.wait("traces_closed_total", number);
    }
    let (_, metrics) = collector.get("/metrics");
    assert!(
        metrics.contains(r#"detector="loop",mode="strategy/loop",service="",agent="a\"1",model="""#),
        "{metrics}"
    );
    assert_eq!(collector.metric("findings_total", r#"detector="loop""#), 6);
    assert_eq!(
        collector.metric("findings_total", r#"detector="loop",mode="strategy/loop",service="other""#),
        3
    );
    // Each run has five steps in findings. They count once, even if several detectors find them.
    assert_eq!(collector.metric("cost_steps_total", ""), 30);
    let dashboard = include_str!("../../grafana.json");
    for part in dashboard.split("wrongturn_").skip(1) {
        let name: String = part.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
        assert!(metrics.contains(&format!("# TYPE wrongturn_{name} ")), "no {name} in the metrics");
    }
    for line in metrics.lines() {
        let (series, value) = line.rsplit_once(' ').unwrap();
        let is_value = value.parse::<f64>().is_ok() && series.starts_with("wrongturn_");
        assert!(
            is_value || line.starts_with("# HELP wrongturn_") || line.starts_with("# TYPE wrongturn_"),
            "{line}"
        );
    }
}
