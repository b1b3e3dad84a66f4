//! Tests `wrongturn bench benchtrace` and `wrongturn bench recovery`, on the bundled data and on bad input.

use std::fs;

use crate::support::{Folder, command, ends, json_of, told as run};
use serde_json::{Value, json};

const COMMANDS: [&str; 14] = [
    "bench benchtrace reflect",
    "bench benchtrace reflect --predict detectors --episodes golden/benchtrace/episodes.json",
    "bench benchtrace evolve",
    "bench benchtrace proximity",
    "bench benchtrace agree",
    "bench benchtrace relate",
    "bench benchtrace modes",
    "bench benchtrace calls",
    "bench recovery read golden/recovery/results.json",
    "bench recovery select",
    "bench recovery commands golden/recovery/terminus.json",
    "bench recovery transcript",
    "bench recovery compare",
    "bench recovery inherit",
];

#[test]
fn every_command_works_on_the_bundled_data() {
    for line in COMMANDS {
        let (status, table, err) = run(line, &[]);
        assert_eq!((status, err.as_str()), (0, ""), "{line}");
        let widest = table.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 80, "{line}: {widest}\n{table}");
        // The same input gives the same output.
        assert_eq!(json_of(line, &[]), json_of(line, &[]), "{line}");
    }
}

#[test]
fn modes_and_intervals_are_options() {
    for (command, mode) in [("reflect", "code"), ("evolve", "cosine"), ("agree", "code")] {
        assert_eq!(json_of("bench benchtrace", &[command, "--mode", mode])["mode"], mode);
    }
    for command in ["reflect", "evolve"] {
        let json = |options: &[&str]| json_of("bench benchtrace", &[&[command], options].concat());
        assert!(json(&[]).get("intervals").is_none());
        let with = json(&["--intervals", "--seed", "3", "--resamples", "100"]);
        assert_eq!(with["intervals"]["seed"], 3);
        assert!(with["intervals"]["all"].is_object());
        assert_ne!(
            with["intervals"],
            json(&["--intervals", "--seed", "4", "--resamples", "100"])["intervals"]
        );
    }
    let json = json_of("bench benchtrace", &["reflect", "--recall-gate", "0.9"]);
    let passed = |gate: &str| json["all"]["funnel"][gate]["pass"].as_u64();
    assert!(passed("recall") <= passed("table5"));
}

#[test]
fn bad_lines_cost_themselves_and_are_told() {
    let folder = Folder::new("bad");
    let good = r#"{"id": "a", "a": [], "b": [{"type": "x/y", "where": [0, 3], "tier": "core"}]}"#;
    let text = format!(
        "{good}\n{good}\n{{\"id\": \"b\", \"a\": [], \"b\": [{{\"type\": \"x/y\", \"where\": [3, 0], \"tier\": \"core\"}}]}}\n"
    );
    let path = folder.write("partly.jsonl", &text);
    let (table, mut errors) = ends("bench benchtrace", &["agree", &path], 3);
    assert!(table.contains("1 episodes"), "{table}");

    // A list is not read as an object by position, and a byte order mark is not part of a record.
    let listed = folder.write("listed.jsonl", &format!("\u{feff}{good}\n[\"c\", [], []]\n"));
    let (table, err) = ends("bench benchtrace", &["agree", &listed], 3);
    assert!(table.contains("1 episodes"), "{table}");
    errors += &err;
    insta::assert_snapshot!("bench_errors", folder.masked(&errors));

    let trials = folder.write(
        "trials.jsonl",
        "{\"model\": \"m\", \"context\": \"fresh\", \"task\": \"t\", \"trial\": \"1\", \"resolved\": true}\n\
         {\"model\": \"m\", \"context\": \"env\", \"task\": \"t\", \"trial\": \"1\", \"resolved\": false}\n\
         {\"model\": \"m\", \"context\": \"env\", \"task\": \"t\", \"trial\": \"1\", \"resolved\": false}\n",
    );
    assert_eq!(run("bench recovery", &["compare", &trials]).0, 3);
    let fresh = folder.write(
        "fresh.jsonl",
        "{\"model\": \"m\", \"context\": \"fresh\", \"task\": \"t\", \"trial\": \"1\", \"resolved\": true}",
    );
    assert_eq!(run("bench recovery", &["compare", &fresh]).0, 3);

    let broken = folder.write("broken.json", "{");
    let other = folder.write("other.json", "{}");
    let terminus = "golden/recovery/terminus.json";
    assert_eq!(run("bench recovery", &["commands", terminus, &broken]).0, 3);
    assert_eq!(run("bench recovery", &["commands", &other, &broken]).0, 3);
    assert_eq!(run("bench recovery", &["read", "golden/recovery/results.json", &other]).0, 0);
    assert_eq!(run("bench recovery", &["read", &broken]).0, 3);
    assert_eq!(run("bench recovery", &["select", &other]).0, 3);
}

#[test]
fn wrong_usage_and_inputs_without_records_have_statuses_of_their_own() {
    let folder = Folder::new("nothing");
    let empty = folder.write("empty.jsonl", "\n");
    for (name, arguments) in [
        ("bench benchtrace", vec![]),
        ("bench benchtrace", vec!["agree", "--mode", "cosine"]),
        ("bench benchtrace", vec!["agree", &empty]),
        ("bench benchtrace", vec!["agree", "no/such/file.jsonl"]),
        ("bench benchtrace", vec!["reflect", "--predict", "detectors"]),
        // One of the two alone would be compared with bundled data.
        ("bench benchtrace", vec!["reflect", "--predictions", "golden/benchtrace/predictions.jsonl"]),
        ("bench benchtrace", vec!["reflect", "--gold", "golden/benchtrace/gold.jsonl"]),
        (
            "bench benchtrace",
            vec!["reflect", "--gold", &empty, "--predictions", "golden/benchtrace/predictions.jsonl"],
        ),
        ("bench recovery", vec!["inherit", &empty]),
        ("bench recovery", vec!["select", "--mode", "best"]),
    ] {
        let (status, out, err) = run(name, &arguments);
        let is_read = !arguments.iter().any(|argument| [&*empty, "no/such/file.jsonl"].contains(argument));
        let expected = if is_read { 2 } else { 3 };
        assert_eq!((status, out.as_str()), (expected, ""), "{name} {arguments:?}");
        assert!(!err.is_empty());
    }
}

/// Interactions are counted in the files next to the results; without such files, a trial is not selected.
#[test]
fn selection_counts_interactions_beside_the_results() {
    let folder = Folder::new("layout");
    let trial = |task: &str| {
        format!(r#"{{"task_id": "{task}", "trial_name": "{task}.1-of-1.r", "is_resolved": false}}"#)
    };
    let results = folder.write(
        "run/results.json",
        &format!(
            r#"{{"accuracy": 0, "results": [{}, {}, {}]}}"#,
            trial("long"),
            trial("short"),
            trial("unknown")
        ),
    );
    for (task, episodes) in [("long", 11), ("short", 10)] {
        for episode in 0..episodes {
            folder
                .write(&format!("run/{task}/{task}.1-of-1.r/agent-logs/episode-{episode}/response.json"), "");
        }
        folder.write(&format!("run/{task}/{task}.1-of-1.r/agent-logs/episodes_replayed.txt"), "");
    }
    let selected = json_of("bench recovery", &["select", &results]);
    assert_eq!(selected["kept"], json!(["long.1-of-1.r"]));
    assert_eq!(selected["left_out"], json!({"interactions_unknown": 1, "too_short": 1}));
    let harbor = json_of("bench recovery", &["select", "golden/recovery/harbor/result.json"]);
    assert_eq!(harbor["kept"], json!(["mend-fence__invented"]));
}

/// No output replaces an input: neither JSON nor a page nor a table.
#[test]
fn no_output_replaces_an_input() {
    let folder = Folder::new("replaces");
    let reflect =
        "bench benchtrace reflect --gold benchtrace/gold.jsonl --predictions benchtrace/predictions.jsonl";
    let rows = [
        (reflect, "benchtrace/gold.jsonl"),
        (reflect, "benchtrace/predictions.jsonl"),
        (
            "bench benchtrace reflect --predict detectors --episodes benchtrace/episodes.json",
            "benchtrace/episodes.json",
        ),
        ("bench benchtrace evolve benchtrace/cases.jsonl", "benchtrace/cases.jsonl"),
        ("bench benchtrace agree benchtrace/annotators.jsonl", "benchtrace/annotators.jsonl"),
        ("bench benchtrace relate benchtrace/records.jsonl", "benchtrace/records.jsonl"),
        ("bench benchtrace modes benchtrace/episodes.jsonl", "benchtrace/episodes.jsonl"),
        ("bench benchtrace calls benchtrace/calls.jsonl", "benchtrace/calls.jsonl"),
        ("bench benchtrace proximity benchtrace/pairs.jsonl", "benchtrace/pairs.jsonl"),
        ("bench recovery read recovery/harbor/result.json", "recovery/harbor/result.json"),
        ("bench recovery select recovery/harbor/result.json", "recovery/harbor/result.json"),
        ("bench recovery select recovery/harbor/result.json", "recovery/harbor/agent/trajectory.json"),
        (
            "bench recovery commands recovery/harbor/agent/trajectory.json",
            "recovery/harbor/agent/trajectory.json",
        ),
        ("bench recovery compare recovery/trials.jsonl", "recovery/trials.jsonl"),
        ("bench recovery inherit recovery/pairs.jsonl", "recovery/pairs.jsonl"),
    ];
    for (_, input) in rows {
        folder.write(input, &fs::read_to_string(format!("golden/{input}")).unwrap());
    }
    let run = |line: &str, to: &str, output: &str| {
        let output = command(line).args([to, output]).current_dir(&folder.0).output().unwrap();
        (output.status.code(), output.stdout.len(), String::from_utf8(output.stderr).unwrap())
    };
    for (line, input) in rows {
        let before = folder.bytes(input);
        for to in ["--json", "--html", "--markdown", "--latex"] {
            let (status, written, err) = run(line, to, input);
            assert_eq!((status, written), (Some(2), 0), "{line} {to}");
            assert!(err.contains("the output is the input"), "{err}");
            assert_eq!(folder.bytes(input), before);
        }
        let (status, _, err) = run(line, "--json", "out.json");
        assert_eq!((status, err.as_str()), (Some(0), ""), "{line}");
    }
}

/// Every command writes its tables in every form, and a page with them.
#[test]
fn tables_are_files_and_a_page_too() {
    let folder = Folder::new("forms");
    for (number, line) in COMMANDS.iter().enumerate() {
        let file = |ending: &str| folder.path(&format!("{number}{ending}"));
        let (html, markdown, latex, csv) = (file(".html"), file(".md"), file(".tex"), file(""));
        let to = ["--html", &html, "--markdown", &markdown, "--latex", &latex, "--csv", &csv];
        let (status, text, err) = run(line, &to);
        assert_eq!((status, err.as_str()), (0, ""), "{line}");
        let page = fs::read_to_string(&html).unwrap();
        let titles = page.matches("<caption>").count();
        assert!(titles > 0 && page.ends_with("</html>\n"), "{line}");
        // Every form has the same tables.
        assert_eq!(fs::read_to_string(&markdown).unwrap().matches("### ").count(), titles);
        let latex = fs::read_to_string(&latex).unwrap();
        let continued = latex.matches(" (continued)}").count();
        assert_eq!(latex.matches("\\caption{").count() - continued, titles);
        assert!(latex.starts_with("% needs "), "{latex}");
        assert!(fs::read_dir(&csv).unwrap().count() >= titles);
        let ruled = text.lines().filter(|line| line.starts_with("  --")).count();
        assert_eq!(ruled, titles, "{text}");
        if ["reflect", "evolve", "compare"].iter().any(|drawn| line.contains(drawn)) {
            assert!(page.contains("<svg "), "{line}");
        }
    }
}

/// Input that is not JSON, of the wrong type, or too deep is skipped, and nothing panics.
#[test]
fn garbage_costs_itself() {
    let folder = Folder::new("garbage");
    let endless = "x".repeat(3 << 20);
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let lines =
        [endless.as_str(), &nested, "{\"id\": 7}", "[]", "null", "\u{0}", "{\"id\": \"a\"", "\"\\ud800\""];
    let path = folder.write("garbage.jsonl", &lines.join("\n"));
    let document = folder.write("garbage.json", &endless);
    for line in COMMANDS {
        let [name, benchmark, command, ..] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let input = match command {
            "reflect" => vec!["--gold", &path, "--predictions", &path],
            "read" | "commands" => vec![&*document, &path],
            _ => vec![&*path],
        };
        let (status, out, err) = run(name, &[&[benchmark, command], &input[..]].concat());
        assert_eq!((status, out.lines().count() < 3), (3, true), "{line} {out}");
        assert!(err.contains("error: ") && !err.contains("panicked"), "{line} {err}");
        assert!(err.len() < 10_000, "{line}: {} bytes of errors", err.len());
    }
}

/// Result folders are compared as the trials that they hold, with the replies counted from the files next to
/// them.
#[test]
fn results_are_compared_like_trials() {
    let folder = Folder::new("results");
    let mut trials = String::new();
    for (context, task, reward, episodes) in
        [("fresh", "a", 1, 2), ("fresh", "b", 0, 3), ("env", "a", 0, 4), ("env", "b", 0, 5)]
    {
        let trial = format!("{task}.1-of-1.{context}");
        let is_resolved = reward == 1;
        folder.write(
            &format!("{context}/{task}/results.json"),
            &format!(r#"{{"task_id": "{task}", "trial_name": "{trial}", "is_resolved": {is_resolved}}}"#),
        );
        for episode in 0..episodes {
            folder.write(&format!("{context}/{task}/agent-logs/episode-{episode}/response.json"), "");
        }
        trials += &format!(
            r#"{{"model": "m:1", "context": "{context}", "task": "{task}", "trial": "{trial}", "resolved": {is_resolved}, "scored": true, "interactions": {episodes}, "declared_done": true}}"#
        );
        trials.push('\n');
    }
    // A summary of a job has no trials.
    folder.write("fresh/result.json", r#"{"n_total_trials": 2, "stats": {}}"#);
    let trials = folder.write("trials.jsonl", &trials);
    let side = |context: &str| format!("m:1:{context}={}", folder.0.join(context).display());
    let (fresh, env) = (side("fresh"), side("env"));
    let found = json_of("bench recovery", &["compare", "--results", &fresh, "--results", &env]);
    assert_eq!(found, json_of("bench recovery", &["compare", &trials]));
    let model = &found["contexts"]["env"]["models"]["m:1"];
    assert_eq!((&model["tasks"], &model["fresh"]["rate"]), (&Value::from(2), &Value::from(0.5)));
    assert_eq!(model["recovery"]["mean_interactions"], 4.5);
    assert_eq!(
        model["recovery"]["premature"],
        model["tasks"].as_u64().unwrap() - model["recovery"]["resolved"].as_u64().unwrap()
    );

    let apart = env.replace(":env=", ":env@other=");
    let found = json_of("bench recovery", &["compare", "--results", &fresh, "--results", &apart]);
    assert_eq!(&found["contexts"]["env after other"]["models"]["m:1"], model);
    let (status, _, err) = run("bench recovery", &["compare", "--results", "m=trials"]);
    assert_eq!(status, 2);
    assert!(err.contains("expected MODEL:CONTEXT[@SOURCE]=PATH"), "{err}");
    // Fresh starts alone cannot be compared.
    let (status, _, err) = run("bench recovery", &["compare", "--results", &fresh]);
    assert_eq!(status, 3);
    assert!(err.contains("no trial in a recovery context"), "{err}");
}

/// The records that `relate` joins are those in the outputs of `reflect` and `evolve`.
#[test]
fn relate_joins_reflection_and_evolution() {
    let folder = Folder::new("relate");
    let file = |name: &str| format!("golden/benchtrace/{name}.jsonl");
    let (gold, predictions, cases) = (file("gold"), file("predictions"), file("cases"));
    let annotated = ["--gold", &gold, "--predictions", &predictions];
    for mode in ["paper", "code"] {
        let json = |arguments: &[&str]| json_of("bench benchtrace", &[arguments, &["--mode", mode]].concat());
        let reflection = json(&[&["reflect"], &annotated[..]].concat());
        let evolution = json(&["evolve", &cases]);
        let stage = |signal: &Value| {
            let episodes = reflection["episodes"].as_array().unwrap();
            Some(&episodes.iter().find(|episode| &episode["id"] == signal)?["funnel"]["table5"])
        };
        let mut records = String::new();
        for (case, answer) in
            fs::read_to_string(&cases).unwrap().lines().zip(evolution["cases"].as_array().unwrap())
        {
            let case: Value = serde_json::from_str(case).unwrap();
            let Some(stage) = stage(&case["signal"]) else { continue };
            let passed = ["detection", "localization", "diagnosis", "pass"]
                .iter()
                .position(|name| stage == name)
                .unwrap();
            let class = case["target"]["type"].as_str().unwrap().split('/').next().unwrap();
            let mut record = json!({
                "case": case["id"], "class": class, "detection": passed > 0, "localization": passed > 1,
                "diagnosis": passed > 2, "avoided": answer["avoided"],
            });
            if let Some(framework) = case.get("framework") {
                record["framework"] = framework.clone();
            }
            records += &format!("{record}\n");
        }
        assert!(records.lines().count() > 10, "{records}");
        let records = folder.write(&format!("{mode}.jsonl"), &records);
        let joined = json(&[&["relate", "--cases", &cases], &annotated[..]].concat());
        assert_eq!(joined, json_of("bench benchtrace", &["relate", &records]), "{mode}");
    }
}
