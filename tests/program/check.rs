//! Tests `wrongturn check` and `wrongturn doctor`: what they print, the files that they write, and the gate.

use serde_json::{Value, json};

use crate::support::{Folder, command, commands_of, ends, entry, run};

/// A bundled file with flagged runs.
const RUNS: &str = "golden/tau2/scripted-careless_airline.json";

/// Returns a run in the native form that repeats a call with the same answer.
fn looping(id: &str, tool: &str, model: &str) -> String {
    let step = json!({"name": tool, "arguments": {"q": "x"}, "status": "ok", "observation": "nothing new"});
    let run = json!({"version": 1, "id": id, "model": model, "task": "t1", "steps": vec![step; 6]});
    format!("{run}\n")
}

#[test]
fn the_worst_runs_come_first() {
    let (text, _) = ends("check", &[RUNS, "--top", "3"], 0);
    insta::assert_snapshot!("check", text);
    let (text, _) = ends("check", &[RUNS, "--top", "0", "--group-by", "task", "--stats"], 0);
    insta::assert_snapshot!("check_stats", text);
    let (text, _) = ends("check", &[RUNS, "--top", "0", "--group-by", "format"], 0);
    assert!(text.contains("By format:\ntau2  "), "{text}");
    let (text, _) = ends("doctor", &[RUNS], 0);
    insta::assert_snapshot!("doctor", text);
    let (text, _) = ends("doctor", &["not/there"], 3);
    insta::assert_snapshot!("doctor_of_a_missing_file", text);
    assert_eq!(ends("check", &["not/there"], 3).0, "", "stderr says that nothing was read");
}

#[test]
fn help_texts_are_as_pinned() {
    let (help, _) = ends("--help", &[], 0);
    for name in commands_of(&help) {
        let (short, _) = ends(name, &["-h"], 0);
        assert!(short.lines().count() <= 64, "{name}: -h fits on a screen");
        let (help, _) = ends(name, &["--help"], 0);
        insta::assert_snapshot!(format!("help_{name}"), help);
    }
    for benchmark in ["benchtrace", "recovery"] {
        let (help, _) = ends("bench", &[benchmark, "--help"], 0);
        insta::assert_snapshot!(format!("help_bench_{benchmark}"), help);
    }
    insta::assert_snapshot!("help", help);
}

#[test]
fn every_format_of_output_is_as_pinned() {
    let folder = Folder::new("formats-of-output");
    // The URI of a file is escaped in a SARIF log.
    let input = folder.write("a b.jsonl", &looping("r1", "look", "m"));
    let names = ["findings.csv", "runs.csv", "log.sarif", "junit.xml", "records.jsonl", "tables.md"];
    let mut arguments = vec![input.clone(), "nothere".to_owned()];
    for name in names {
        arguments.extend(["--output".to_owned(), folder.path(name)]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (text, _) = ends("check", &arguments, 3);
    let masked = |text: &str| {
        let text = text.replace(&folder.path(""), "FOLDER/");
        text.replace(env!("CARGO_PKG_VERSION"), "VERSION")
    };
    insta::assert_snapshot!("output_text", masked(&text));
    for name in names {
        insta::assert_snapshot!(format!("output_{name}"), masked(&folder.text(name)));
    }
    let (text, _) = ends("check", &[&input, "--output-format", "github"], 0);
    insta::assert_snapshot!("output_github", masked(&text));
    let (_, error) = ends("check", &[&input, "--output", &folder.path("findings")], 2);
    assert!(error.contains("expected a name that ends in"), "{error}");
}

#[test]
fn a_gate_fails_on_its_conditions_alone() {
    let folder = Folder::new("gate");
    let input = folder.write("runs.jsonl", &looping("r1", "look", "m"));
    ends("check", &[&input, "--fail-on", "feedback_blindness"], 0);
    let (_, error) = ends("check", &[&input, "--fail-on", "loop>50%"], 1);
    assert!(error.contains("loop flags 1 of 1 run, more than 50%"), "{error}");
    ends("check", &[&input, "--fail-on", "loop>1"], 0);

    let baseline = folder.path("known.json");
    ends("check", &[&input, "--baseline", &baseline, "--update-baseline"], 0);
    let (_, error) = ends("check", &[&input, "--update-baseline"], 2);
    assert!(error.contains("--update-baseline needs --baseline"), "{error}");
    let (text, _) = ends("check", &[&input, "--baseline", &baseline, "--fail-on", "any"], 0);
    assert!(text.contains("2 known findings ignored"), "{text}");
    let (_, error) = ends("check", &[&input, "--baseline", &input, "--update-baseline"], 2);
    assert!(error.contains("not a baseline"), "{error}");
    // The same failure at other steps of the same task is known; one of another task or domain is not.
    let same = folder.write("same.jsonl", &looping("r2", "look", "m"));
    ends("check", &[&same, "--baseline", &baseline, "--fail-on", "any"], 0);
    for task in ["\"task\":\"t2\"", "\"domain\":\"d\",\"task\":\"t1\""] {
        let run = looping("r2", "look", "m").replace("\"task\":\"t1\"", task);
        let other = folder.write("other.jsonl", &run);
        ends("check", &[&other, "--baseline", &baseline, "--fail-on", "any"], 1);
    }
    let broken = folder.write("broken.json", "{");
    ends("check", &[&input, &broken], 3);
    ends("check", &[&input, &broken, "--allow-unread"], 0);
    ends("check", &[&input, &broken, "--fail-on", "loop"], 1);
}

#[test]
fn an_unknown_detector_is_reported_in_one_way() {
    let folder = Folder::new("unknown");
    let settings = folder.write("settings.toml", "select = [\"lop\"]");
    let json = folder.write("settings.json", r#"{"lop": {}}"#);
    let entry = folder.write("golden.jsonl", &entry(0, false, 1).replace("\"loop\"", "\"lop\""));
    let mut errors = String::new();
    for (name, arguments, status) in [
        ("check", &[RUNS, "--detectors", "loop,lop"][..], 2),
        ("check", &[RUNS, "--fail-on", "lop>5%"], 2),
        ("check", &[RUNS, "--config", &settings], 2),
        ("check", &[RUNS, "--config", &json], 2),
        ("gate", &[RUNS, "--against", RUNS, "--detectors", "lop"], 2),
        ("show", &[RUNS, "--explain", "lop"], 2),
        ("label", &["--sample", RUNS, "--detector", "lop"], 2),
        ("calibrate", &["--detectors", "lop"], 2),
        ("calibrate", &["--golden", &entry], 3),
    ] {
        let (_, error) = ends(name, arguments, status);
        errors += error.lines().next().unwrap();
        errors.push('\n');
    }
    insta::assert_snapshot!("unknown_detector", folder.masked(&errors));
}

#[test]
fn settings_come_from_the_nearest_file() {
    let folder = Folder::new("settings");
    folder.write("runs/a.jsonl", &looping("r1", "look", "m"));
    let check = |settings: &str, status: i32| {
        folder.write("wrongturn.toml", settings);
        let output = command("check").current_dir(folder.0.join("runs")).arg("a.jsonl").output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{error}");
        error
    };
    check("", 0);
    check("fail-on = [\"loop\"]", 1);
    check("fail-on = [\"loop\"]\n[detectors.loop]\nmin_repeats = 9\nmin_looks = 9", 0);
    check("fail-on = [\"loop\"]\n[[ignore]]\ndetector = \"loop\"\nreason = \"polls\"", 0);
    let error = check("[[ignore]]\ndetector = \"malformed_call\"\nreason = \"a tool of ours\"", 0);
    assert!(error.contains("this ignore rule matched no finding: a tool of ours"), "{error}");
    let error = check("fail_on = []", 2);
    assert!(error.contains("did you mean `fail-on`?"), "{error}");
}

#[test]
fn a_profile_judges_the_runs_that_it_matches() {
    let folder = Folder::new("profiles");
    let strict = "[profile.NAME.detectors.loop]\nmin_repeats = 9\nmin_looks = 9\n";
    let flagged = |settings: &str| {
        let run = looping("r1", "look", "gpt-5-mini")
            .replace("\"task\"", "\"labels\": {\"resource.service.name\": \"support-eu\"}, \"agent\": \"a1\", \"domain\": \"shop\", \"task\"");
        let runs = folder.write("runs/a.jsonl", &(run + &looping("r2", "look", "other")));
        let path = folder.write("settings.toml", settings);
        ends("check", &[&runs, "--config", &path, "--output", &folder.path("runs.csv")], 0);
        let rows = folder.text("runs.csv");
        let column = rows.lines().next().unwrap().split(',').position(|name| name == "loop").unwrap();
        let verdict = |row: &str| row.split(',').nth(column).unwrap() == "1";
        let verdicts: Vec<bool> = rows.lines().skip(1).map(verdict).collect();
        (verdicts[0], verdicts[1])
    };
    let profile = |name: &str, matches: &str| {
        format!("[profile.{name}]\nmatch = {{ {matches} }}\n{}", strict.replace("NAME", name))
    };
    assert_eq!(flagged(""), (true, true));
    for matches in [
        "service = \"support-*\"",
        "agent = \"a?\"",
        "model = \"gpt-*\"",
        "domain = \"shop\"",
        "label = { \"resource.service.name\" = \"*-eu\" }",
    ] {
        assert_eq!(flagged(&profile("a", matches)), (false, true), "{matches}");
    }
    for matches in ["format = \"native\"", "path = \"*/runs/a.jsonl\""] {
        assert_eq!(flagged(&profile("a", matches)), (false, false), "{matches}");
    }
    assert_eq!(flagged(&profile("a", "model = \"gpt-*\", domain = \"bank\"")), (true, true));
    // Of two profiles that match, the first in the file is used, whatever their names are.
    let none = "[profile.z]\nmatch = { model = \"gpt-*\" }\nselect = [\"malformed_call\"]\n";
    let all = "[profile.b]\nmatch = { model = \"*\" }\n";
    assert_eq!(flagged(&format!("{none}{all}")), (false, true));
    assert_eq!(flagged(&format!("{all}{none}")), (true, true));
    // A run is shown with the findings of its profile.
    let settings = folder.write("settings.toml", &profile("a", "model = \"gpt-*\""));
    let show = |run| ends("show", &[&folder.path("runs/a.jsonl"), "--run", run, "--config", &settings], 0).0;
    assert!(!show("r1").contains("loop") && show("r2").contains("loop"), "{}", show("r1"));
}

#[test]
fn recorded_text_cannot_steer_the_terminal() {
    let folder = Folder::new("escape");
    let input = folder.write("runs.jsonl", &looping("r\u{1b}[2J", "lo\u{1b}]0;x\u{7}ok", "m\u{9b}31m"));
    for name in ["check", "doctor"] {
        let output = run(name, &[&input]);
        let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        assert!(!text.chars().any(|letter| letter.is_control() && letter != '\n'), "{name}: {text:?}");
    }
    let csv = folder.path("findings.csv");
    let formula = folder.write("formula.jsonl", &looping("=HYPERLINK(1)", "look", "m"));
    ends("check", &[&formula, "--output", &csv], 0);
    assert!(folder.text("findings.csv").contains("\n'=HYPERLINK(1),"), "{}", folder.text("findings.csv"));
}

#[test]
fn an_error_message_has_a_bound() {
    let folder = Folder::new("long");
    let input =
        folder.write("runs.jsonl", &format!("{{\"version\": 1, \"status\": \"{}\"}}\n", "x".repeat(1 << 20)));
    let (_, error) = ends("check", &[&input, "--format", "native"], 3);
    assert!(error.lines().all(|line| line.chars().count() <= 1001), "{} bytes", error.len());
}

#[test]
fn a_long_name_is_cut_where_people_read_it() {
    let folder = Folder::new("names");
    let long = "n".repeat(1 << 16);
    let input =
        folder.write("runs.jsonl", &looping(&long, "look", &long).replace("\"t1\"", &format!("{long:?}")));
    for (name, more) in [
        ("check", vec!["--group-by", "model", "--stats", "--verbose"]),
        ("check", vec!["--output-format", "github"]),
        ("show", vec![]),
        ("doctor", vec![]),
    ] {
        let (text, _) = ends(name, &[&[&*input], &more[..]].concat(), 0);
        assert!(text.len() < 8000, "{name} {more:?}: {} bytes", text.len());
    }
    let settings = folder.write("settings.toml", &format!("select = [{long:?}]"));
    let (_, error) = ends("check", &[&input, "--config", &settings], 2);
    assert!(error.contains("unknown detector") && error.len() < 1100, "{} bytes", error.len());
}

#[test]
fn an_error_of_the_guard_blocks_no_agent() {
    ends("guard", &["--no-such-flag"], 1);
}

#[test]
fn a_gate_against_earlier_runs_fails_only_where_the_pairs_say_so() {
    let folder = Folder::new("against");
    let runs = |loops: usize| -> String {
        let run = |task: usize| {
            let mut run: Value = serde_json::from_str(&looping(&format!("r{task}"), "look", "m")).unwrap();
            run["task"] = json!(format!("t{task}"));
            // Fewer calls are not a loop.
            run["steps"].as_array_mut().unwrap().truncate(if task < loops { 6 } else { 1 });
            format!("{run}\n")
        };
        (0..12).map(run).collect()
    };
    let [good, bad] =
        [("good.jsonl", 2), ("bad.jsonl", 12)].map(|(name, loops)| folder.write(name, &runs(loops)));
    let (text, _) = ends("gate", &[&good, "--against", &good], 0);
    let passed = "ok      loop                   2 before, 2 now, of 12 pairs; p = 1.0000";
    assert!(text.contains(passed) && !text.contains("malformed_call"), "{text}");
    let (text, _) = ends("gate", &[&bad, "--against", &good], 1);
    let failed = "FAILED  loop                   2 before, 12 now, of 12 pairs; p = 0.0020";
    assert!(text.contains(failed), "{text}");
    ends("gate", &[&good, "--against", &bad], 0);
    let (text, _) = ends("gate", &[&bad, "--against", &good, "--detectors", "malformed_call"], 0);
    assert!(text.starts_with("ok      malformed_call ") && text.lines().count() == 1, "{text}");
    let other = folder.write("other.jsonl", &looping("r", "look", "m").replace("\"t1\"", "\"elsewhere\""));
    let (_, error) = ends("gate", &[&other, "--against", &good], 2);
    assert!(error.contains("no task is in both"), "{error}");
}

#[test]
fn fingerprints_are_compared_by_group() {
    let folder = Folder::new("fingerprint");
    let (svg, dot) = (folder.path("svg"), folder.path("dot"));
    let arguments =
        ["golden/tau2", "--resamples", "100", "--svg", &svg, "--dot", &dot, "--json", &folder.path("f.json")];
    let (text, _) = ends("fingerprint", &arguments, 0);
    insta::assert_snapshot!("fingerprint", text);
    assert!(folder.text("svg/1-scripted-careless-transitions.svg").contains("<polygon"));
    assert!(folder.text("svg/2-scripted-careless-what-follows.svg").contains("fill-opacity"));
    assert!(folder.text("dot/3-scripted-quitter.dot").starts_with("digraph"));
    assert_eq!(folder.json("f.json")["groups"][0]["name"], "scripted-careless");
    let (text, _) = ends("fingerprint", &["golden/tau2", "--group-by", "no such label"], 0);
    assert!(text.starts_with("408 runs in 1 group by no such label.\n"), "{text}");
}

#[test]
fn runs_are_sorted_as_asked() {
    let folder = Folder::new("sort");
    folder.write("b.jsonl", &looping("r1", "look", "m1"));
    folder.write(
        "a.jsonl",
        &looping("r2", "look", "m2").replacen("[{", "[{\"name\":\"x\",\"status\":\"ok\"},{", 1),
    );
    let first = |order: &str| {
        let (text, _) = ends("check", &[&folder.path(""), "--sort", order], 0);
        text.lines().next().unwrap().to_owned()
    };
    assert!(first("path").contains("a.jsonl"), "{}", first("path"));
    assert!(first("model").contains("b.jsonl"), "{}", first("model"));
    assert!(first("steps").contains("a.jsonl"), "{}", first("steps"));
}

#[test]
fn the_command_line_is_described_for_shells_and_readers() {
    let folder = Folder::new("described");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let (script, _) = ends("completions", &[shell], 0);
        assert!(script.contains("doctor") && script.contains("fail-on"), "{shell}");
    }
    ends("man", &[&folder.path("man")], 0);
    assert!(folder.text("man/wrongturn.1").contains("wrongturn"));
    assert!(folder.text("man/wrongturn-check.1").contains("fail\\-on"));
}

#[test]
fn the_schema_of_settings_has_the_keys_that_are_read() {
    let (schema, _) = ends("schema", &[], 0);
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let folder = Folder::new("schema");
    let run = folder.write("runs/a.jsonl", &looping("r1", "look", "m"));
    let read = |settings: &str| {
        let path = folder.write("settings.toml", settings);
        let (status, _, error) = crate::support::told("check", &[&run, "--config", &path]);
        (status, error)
    };
    // No key of the schema is refused as unknown.
    for (key, _) in schema["properties"].as_object().unwrap() {
        let (_, error) = read(&format!("{key} = 7"));
        assert!(!error.is_empty() && !error.contains("unknown key"), "{key}: {error}");
    }
    for (id, detector) in schema["properties"]["detectors"]["properties"].as_object().unwrap() {
        for (key, value) in detector["properties"].as_object().unwrap() {
            let default = &value["default"];
            if default.is_number() || default.is_boolean() || default.is_string() {
                let (status, error) = read(&format!("[detectors.{id}]\n{key} = {default}\n"));
                assert_eq!(status, 0, "{id}.{key}: {error}");
            }
        }
        assert_eq!(read(&format!("[detectors.{id}]\nno_such_key = 1\n")).0, 2, "{id}");
    }
}

#[test]
fn a_finding_has_the_line_and_the_element_of_its_last_step() {
    let folder = Folder::new("places");
    let call = |id: u32| {
        json!({"role": "assistant", "tool_calls": [
            {"id": id.to_string(), "function": {"name": "look", "arguments": "{\"q\": 1}"}},
        ]})
    };
    let answer = |id: u32| json!({"role": "tool", "tool_call_id": id.to_string(), "content": "nothing new"});
    let messages: Vec<Value> = (0..8).flat_map(|id| [call(id), answer(id)]).collect();
    let lines: String = messages.iter().flat_map(|message| [message.to_string(), "\n".to_owned()]).collect();
    let one_line = json!({"messages": messages}).to_string();
    let indented = serde_json::to_string_pretty(&json!({"messages": messages})).unwrap();
    let results = json!({"info": {}, "tasks": [], "simulations": [{"id": "a", "messages": []}, {"id": "b",
        "messages": (0..8).flat_map(|id| [
            json!({"role": "assistant", "tool_calls": [{"id": id.to_string(), "name": "look", "arguments": {}}]}),
            json!({"role": "tool", "id": id.to_string(), "content": "nothing new"}),
        ]).collect::<Vec<_>>()}]});
    let native =
        format!("{}{}", looping("r0", "look", "m").replace("\"look\"", "\"x\""), looping("r1", "look", "m"));
    let place_of_loop = |name: &str, text: &str| {
        let (input, log) = (folder.write(name, text), folder.path("log.sarif"));
        ends("check", &[&input, "--detectors", "loop", "--output", &log], 0);
        let log = folder.json("log.sarif");
        let result = log["runs"][0]["results"].as_array().unwrap().last().unwrap().clone();
        let place = &result["locations"][0];
        let line = place["physicalLocation"]["region"]["startLine"].as_u64().unwrap();
        (line, place["logicalLocations"][0]["fullyQualifiedName"].as_str().unwrap().to_owned())
    };
    // The eighth call is the 15th message.
    assert_eq!(place_of_loop("lines.jsonl", &lines).0, 15);
    let element = "/messages/14/tool_calls/0".to_owned();
    assert_eq!(place_of_loop("line.json", &one_line), (1, element.clone()));
    let line = 1 + indented.lines().position(|line| line.contains("\"id\": \"7\"")).unwrap() as u64;
    let (found, pointer) = place_of_loop("indented.json", &indented);
    assert!((line - 2..=line + 2).contains(&found) && pointer == element, "{found} {line} {pointer}");
    let (_, pointer) = place_of_loop("tau2.json", &results.to_string());
    assert_eq!(pointer, format!("/simulations/1{element}"));
    assert_eq!(place_of_loop("native.jsonl", &native).0, 2);
    let lists = format!("[{{\"role\": \"user\", \"content\": \"hi\"}}]\n{}\n", json!(messages));
    assert_eq!(place_of_loop("lists.jsonl", &lists).0, 2);
}
