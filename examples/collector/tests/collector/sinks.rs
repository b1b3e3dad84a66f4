//! Delivery of events to sinks, and its failures.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use serde_json::Value;

use crate::support::{Collector, Dir, body, body_of, settings, spans, trace_id, wait_for};

/// Accepts a request and answers it with this status. Returns the body of the request.
fn serve(listener: &TcpListener, status: &str) -> Vec<u8> {
    let (mut stream, _) = listener.accept().unwrap();
    let body = body_of_request(&mut stream);
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
    body
}

fn body_of_request(stream: &mut TcpStream) -> Vec<u8> {
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
    body
}

fn sink(kind: &str, url: &str, more: &str) -> Vec<String> {
    settings(&[&format!("sink=[{{kind='{kind}',url='{url}'{more}}}]"), "traces.grace_ms=0"])
}

#[test]
fn events_are_sent_again_if_that_may_help() {
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", target.local_addr().unwrap());
    let collector = Collector::start(&sink("otlp_http", &url, ""));
    assert_eq!(collector.post(&body(&spans(7))).0, 200);
    let first = serve(&target, "503 Service Unavailable");
    assert_eq!(first, serve(&target, "200 OK"));
    collector.wait("events_sent_total", 5);
    // Events that are refused for good are dropped.
    assert_eq!(collector.post(&body(&spans(8))).0, 200);
    serve(&target, "400 Bad Request");
    collector.wait("events_dropped_total", 5);
    assert_eq!(collector.stop().0, 1);
}

#[test]
fn events_pass_from_collector_to_collector_over_tls() {
    let dir = Dir::new("tls");
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(dir.path("cert.pem"), made.cert.pem()).unwrap();
    fs::write(dir.path("key.pem"), made.signing_key.serialize_pem()).unwrap();
    fs::write(dir.path("token"), "s3cret").unwrap();
    let target = Collector::start(&[
        format!("receive.tls={{cert='{}',key='{}'}}", dir.path("cert.pem"), dir.path("key.pem")),
        format!("receive.token_file='{}'", dir.path("token")),
    ]);
    let port = |address: &str| address.rsplit(':').next().unwrap().to_owned();
    for (kind, address) in [("otlp_http", &target.http), ("otlp_grpc", &target.grpc)] {
        let url = format!("https://localhost:{}", port(address));
        let trusted = format!(",ca_file='{}',token_file='{}'", dir.path("cert.pem"), dir.path("token"));
        let collector = Collector::start(&sink(kind, &url, &trusted));
        assert_eq!(collector.post(&body_of("shop", &spans(1))).0, 200);
        collector.wait("events_sent_total", 5);
        assert_eq!(collector.stop().0, 0, "{kind}");
        // Without trust in the certificate, then without a token.
        for more in
            [format!(",token_file='{}'", dir.path("token")), format!(",ca_file='{}'", dir.path("cert.pem"))]
        {
            let collector = Collector::start(&sink(kind, &url, &more));
            assert_eq!(collector.post(&body(&spans(1))).0, 200);
            let log = wait_for("a warning", || {
                let log = collector.log();
                log.contains("events cannot be sent").then_some(log)
            });
            assert!(log.contains("UnknownIssuer") || log.contains("answered 401"), "{kind} {log}");
            assert_eq!(collector.count("events_sent_total"), 0);
        }
    }
}

#[test]
fn events_for_a_dead_target_wait_up_to_a_cap_in_bytes() {
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", target.local_addr().unwrap());
    drop(target);
    let mut all = sink("otlp_http", &url, ",max_waiting_mib=1");
    all.push("receive.drain_seconds=2".to_owned());
    let collector = Collector::start(&all);
    let mut trace = 0;
    while collector.count("events_dropped_total") == 0 {
        let batch: Vec<_> = (0..50)
            .flat_map(|_| {
                trace += 1;
                spans(trace)
            })
            .collect();
        assert_eq!(collector.post(&body(&batch)).0, 200);
        collector.wait("traces_closed_total", trace);
        assert!(trace < 5000, "nothing is dropped");
    }
    let waiting = collector.count("events_waiting_bytes");
    assert!((500_000..=1 << 20).contains(&waiting), "{waiting}");
    let (status, reason) = collector.get("/readyz");
    assert_eq!(status, 503);
    assert!(reason.starts_with("sink otlp_http: "), "{reason}");
    let (status, took) = collector.stop();
    assert_eq!(status, 1);
    assert!(took.as_secs() < 5, "{took:?}");
}

#[test]
fn a_full_disk_is_reported_and_fails_the_run() {
    let own =
        settings(&["sink=[{kind='file',path='/dev/full'}]", "traces.grace_ms=0", "receive.drain_seconds=2"]);
    let collector = Collector::start(&own);
    assert_eq!(collector.post(&body(&spans(1))).0, 200);
    collector.wait("events_waiting", 5);
    wait_for("a warning", || collector.log().contains("No space left").then_some(()));
    assert_eq!(collector.count("events_sent_total"), 0);
    assert_eq!(collector.stop().0, 1);
}

#[test]
fn a_torn_line_costs_only_itself() {
    let dir = Dir::new("torn");
    fs::write(dir.path("events.jsonl"), "{\"resourceLogs\": [{\"resou").unwrap();
    let collector = Collector::start(&[dir.sink(), "traces.grace_ms=0".to_owned()]);
    assert_eq!(collector.post(&body(&spans(1))).0, 200);
    collector.wait("events_sent_total", 5);
    assert_eq!(collector.stop().0, 0);
    assert_eq!(dir.events().iter().filter(|event| event.is("loop", "")).count(), 1);
    let text = fs::read_to_string(dir.path("events.jsonl")).unwrap();
    assert!(text.starts_with("{\"resourceLogs\": [{\"resou\n{"), "{text}");
}

#[test]
fn a_webhook_reports_each_finding_once_at_a_bounded_rate() {
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", target.local_addr().unwrap());
    let mut all = sink("webhook", &url, ",per_minute=1");
    all.push("detect.detectors=['loop']".to_owned());
    let collector = Collector::start(&all);
    assert_eq!(collector.post(&body_of("shop", &spans(1)[..5])).0, 200);
    let message: Value = serde_json::from_slice(&serve(&target, "200 OK")).unwrap();
    let text = message["text"].as_str().unwrap();
    assert!(text.starts_with("shop: ") && text.contains("strategy/loop"), "{text}");
    assert!(text.contains(&trace_id(1)), "{text}");
    // The end of the first trace has no new finding, and the rate limit leaves out that of the second.
    assert_eq!(collector.post(&body_of("shop", &spans(1)[5..])).0, 200);
    assert_eq!(collector.post(&body_of("shop", &spans(2))).0, 200);
    collector.wait("traces_closed_total", 2);
    wait_for("the events", || (collector.count("events_waiting") == 0).then_some(()));
    target.set_nonblocking(true).unwrap();
    assert!(target.accept().is_err(), "there is no second message");
    assert_eq!(collector.stop().0, 0);
}

#[test]
fn every_sink_has_every_event() {
    let (one, other) = (Dir::new("sink-one"), Dir::new("sink-other"));
    let files = [one.path("events.jsonl"), other.path("events.jsonl")];
    let sinks = format!(
        "sink=[{{kind='file',name='a',path='{}'}},{{kind='file',name='b',path='{}'}}]",
        files[0], files[1]
    );
    let collector = Collector::start(&[sinks, "traces.grace_ms=0".to_owned()]);
    assert_eq!(collector.post(&body(&spans(1))).0, 200);
    collector.wait("events_sent_total", 10);
    assert_eq!(collector.metric("events_sent_total", "sink=\"b\""), 5);
    assert_eq!(collector.stop().0, 0);
    assert_eq!(fs::read(&files[0]).unwrap(), fs::read(&files[1]).unwrap());
}
