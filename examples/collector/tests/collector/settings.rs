//! Settings from files and arguments.

use std::fs;
use std::process::Command;

use crate::support::{Collector, Dir, body_of, command, settings, spans};

#[test]
fn wrong_settings_are_named() {
    let dir = Dir::new("settings");
    let cases = [
        ("[receive]\nmax_boddy_mib = 1\n", "max_boddy_mib"),
        ("[detect]\ndetectors = [\"lop\"]\n", "`lop`"),
        ("[detect.config.loop]\nmin_repeats = 0\n", "min_repeats"),
        ("[[sink]]\nkind = \"pigeon\"\n", "pigeon"),
        ("[[profile]]\nwhen = {}\n", "detect"),
    ];
    for (text, named) in cases {
        let file = dir.path("collector.toml");
        fs::write(&file, text).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_collector"))
            .args(["--check", "--config", &file])
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(error.starts_with("error: ") && error.contains(&file) && error.contains(named), "{error}");
    }
    for wrong in ["receive", "traces.grace_ms=soon"] {
        let output = command(&settings(&[wrong])).arg("--check").output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
    let taken = Collector::start(&[]);
    for address in [&*taken.http, "127.0.0.1", "no host:1"] {
        let output = command(&[format!("receive.http='{address}'")]).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(error.contains(&format!("error: cannot listen on {address}: ")), "{error}");
    }
}

#[test]
fn services_have_their_own_detectors() {
    let dir = Dir::new("profiles");
    let file = dir.path("collector.toml");
    let text = format!(
        "sink = [{{kind = 'file', path = '{}'}}]\n[traces]\ngrace_ms = 0\n\
         [detect]\ndetectors = ['loop']\n\
         [[profile]]\nwhen = {{'service.name' = 'patient'}}\ndetect = {{detectors = ['wasted_actions']}}\n",
        dir.path("events.jsonl")
    );
    fs::write(&file, text).unwrap();
    let collector = Collector::start_with(&file);
    for (number, service) in [(1, "patient"), (2, "strict")] {
        assert_eq!(collector.post(&body_of(service, &spans(number))).0, 200);
        collector.wait("traces_closed_total", number);
    }
    assert_eq!(collector.stop().0, 0);
    let events = dir.events();
    let verdicts: Vec<_> = events
        .iter()
        .filter(|event| event.text("wrongturn.update").is_empty())
        .map(|event| (event.sender("service.name"), event.text("gen_ai.evaluation.name")))
        .collect();
    assert_eq!(verdicts, [("patient", "wasted_actions"), ("strict", "loop")]);
}
