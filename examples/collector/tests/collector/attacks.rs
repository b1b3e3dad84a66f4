//! Malicious clients and targets.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::json;

use crate::support::{Collector, Dir, GZIP, JSON, attribute, body, gzip, settings, spans, trace_id};

#[test]
fn a_client_that_reads_nothing_does_not_hold_up_the_end() {
    let dir = Dir::new("unread");
    let collector = Collector::start(&[dir.sink(), "receive.drain_seconds=2".to_owned()]);
    assert_eq!(collector.post(&body(&spans(1)[..5])).0, 200);
    // Answers pile up until neither side can send more.
    let mut unread = collector.connect();
    unread.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let requests = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".repeat(50);
    while unread.write_all(requests.as_bytes()).is_ok() {}
    let (status, took) = collector.stop();
    assert_eq!(status, 0);
    assert!(took < Duration::from_secs(5), "{took:?}");
    // The spans of answered requests were judged.
    assert!(dir.events().iter().any(|event| event.is("loop", "")));
}

#[test]
fn a_target_that_hangs_holds_up_the_end_once() {
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let sink = format!("sink=[{{kind='otlp_http',url='http://{}'}}]", target.local_addr().unwrap());
    let collector =
        Collector::start(&[sink, "traces.grace_ms=0".to_owned(), "receive.drain_seconds=2".to_owned()]);
    for trace in 1..8 {
        assert_eq!(collector.post(&body(&spans(trace))).0, 200);
        collector.wait("traces_closed_total", trace);
    }
    let (status, took) = collector.stop();
    assert_eq!(status, 1, "events were dropped");
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn slow_bodies_keep_nobody_out() {
    let collector = Collector::start(&settings(&["receive.body_seconds=1"]));
    let head = "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{";
    let mut slow: Vec<TcpStream> = (0..200).map(|_| collector.connect()).collect();
    for stream in &mut slow {
        stream.write_all(head.as_bytes()).unwrap();
    }
    assert_eq!(collector.post(&body(&spans(1))).0, 200);
    crate::support::wait_for("the end of the slow bodies", || {
        (collector.metric("requests_total", "code=\"408\"") >= 200).then_some(())
    });
}

#[test]
fn idle_connections_keep_nobody_out() {
    let collector = Collector::start(&settings(&["receive.max_connections=20"]));
    let mut idle: Vec<TcpStream> = (0..100).map(|_| collector.connect()).collect();
    for stream in &mut idle {
        let _ = stream.write_all(b"GET / HT");
    }
    for _ in 0..5 {
        assert_eq!(collector.post(&body(&spans(1))).0, 200);
    }
    let open = collector.count("connections");
    assert!(open <= 20, "{open}");
}

#[test]
fn ids_of_any_length_are_not_kept() {
    let collector = Collector::start(&settings(&["traces.grace_ms=0"]));
    let before = collector.memory();
    for number in 0..12 {
        let mut span = spans(1).remove(5);
        span["traceId"] = json!(format!("{number:06}{}", "a".repeat(5_000_000)));
        let packed = gzip(body(&[span]).to_string().as_bytes());
        let (status, _, message) = collector.send("POST", "/v1/traces", &[JSON, GZIP], &packed);
        assert_eq!(status, 400, "{message}");
    }
    assert_eq!(collector.count("open_traces"), 0);
    let grown = collector.memory() - before;
    assert!(grown < 40, "{grown} MiB");
}

#[test]
fn events_that_wait_are_small_whatever_their_traces_hold() {
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let sink = format!("sink=[{{kind='otlp_http',url='http://{}'}}]", target.local_addr().unwrap());
    let collector = Collector::start(&[sink, "traces.grace_ms=0".to_owned()]);
    let before = collector.memory();
    for number in 1..13 {
        let mut own = spans(number);
        let attributes = own[5]["attributes"].as_array_mut().unwrap();
        attributes.push(attribute("gen_ai.agent.name", &"a".repeat(5_000_000)));
        let packed = gzip(body(&own).to_string().as_bytes());
        assert_eq!(collector.send("POST", "/v1/traces", &[JSON, GZIP], &packed).0, 200);
        collector.wait("traces_closed_total", number);
    }
    let waiting = collector.count("events_waiting_bytes");
    assert!(waiting < 1_000_000, "{waiting}");
    let grown = collector.memory() - before;
    assert!(grown < 90, "{grown} MiB");
}

#[test]
fn bodies_that_unpack_to_many_spans_stay_within_the_budget() {
    let collector =
        Collector::start(&settings(&["receive.max_in_flight_mib=16", "traces.max_memory_mib=32"]));
    let before = collector.memory();
    let packed: Vec<Vec<u8>> = (0..4)
        .map(|body: u64| {
            let spans: Vec<String> = (0..15_000_u64)
                .map(|span| {
                    let trace = trace_id(1 + body * 100_000 + span / 8);
                    format!(
                        r#"{{"traceId":"{trace}","spanId":"{:016x}","parentSpanId":"0000000000000009"}}"#,
                        span + 1
                    )
                })
                .collect();
            let text =
                format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#, spans.join(","));
            gzip(text.as_bytes())
        })
        .collect();
    std::thread::scope(|scope| {
        for body in packed.iter().cycle().take(8) {
            let collector = &collector;
            scope.spawn(move || {
                let (status, _, message) = collector.send("POST", "/v1/traces", &[JSON, GZIP], body);
                assert!(matches!(status, 200 | 429), "{status} {message}");
            });
        }
    });
    let grown = collector.memory() - before;
    assert!(grown < 250, "{grown} MiB");
}
