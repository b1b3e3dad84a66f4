//! Tests `wrongturn bench benchtrace` and `wrongturn bench recovery`, on the bundled data and on bad input.

use std::fs;

use crate::support::{Folder, told as run};
use serde_json::Value;

const COMMANDS: [(&str, &[&str]); 14] = [
    ("bench benchtrace", &["reflect"]),
    (
        "bench benchtrace",
        &["reflect", "--predict", "detectors", "--episodes", "golden/benchtrace/episodes.json"],
    ),
    ("bench benchtrace", &["evolve"]),
    ("bench benchtrace", &["proximity"]),
    ("bench benchtrace", &["agree"]),
    ("bench benchtrace", &["relate"]),
    ("bench benchtrace", &["modes"]),
    ("bench benchtrace", &["calls"]),
    ("bench recovery", &["read", "golden/recovery/results.json"]),
    ("bench recovery", &["select"]),
    ("bench recovery", &["commands", "golden/recovery/terminus.json"]),
    ("bench recovery", &["transcript"]),
    ("bench recovery", &["compare"]),
    ("bench recovery", &["inherit"]),
];

#[test]
fn every_command_works_on_the_bundled_data() {
    for (name, arguments) in COMMANDS {
        let (status, table, err) = run(name, arguments);
        assert_eq!((status, err.as_str()), (0, ""), "{name} {arguments:?}");
        let widest = table.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 80, "{name} {arguments:?}: {widest}\n{table}");
        let (status, json, _) = run(name, &[arguments, &["--json", "-"]].concat());
        assert_eq!(status, 0);
        serde_json::from_str::<Value>(&json).unwrap();
        // The same input gives the same output.
        assert_eq!(run(name, &[arguments, &["--json", "-"]].concat()).1, json);
    }
}

#[test]
fn help_names_inputs_and_exit_statuses() {
    for name in ["bench benchtrace", "bench recovery"] {
        let (status, help, _) = run(name, &["--help"]);
        assert_eq!(status, 0);
        for named in ["Inputs: ", "Outputs: ", "Exit status: 0 success", "2 usage", "Example: ", "JSON"] {
            assert!(help.contains(named), "{name}: {named}\n{help}");
        }
    }
    for (name, arguments) in COMMANDS {
        let (status, help, _) = run(name, &[arguments[0], "--help"]);
        assert_eq!(status, 0);
        assert!(help.contains("Exit status"), "{help}");
        let widest = help.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 80, "{name} {}: {widest}\n{help}", arguments[0]);
    }
}

#[test]
fn modes_and_intervals_are_options() {
    for (arguments, key, value) in [
        (vec!["reflect", "--mode", "code"], "mode", "code"),
        (vec!["evolve", "--mode", "cosine"], "mode", "cosine"),
        (vec!["agree", "--mode", "code"], "mode", "code"),
    ] {
        let (_, json, _) = run("bench benchtrace", &[&arguments[..], &["--json", "-"]].concat());
        assert_eq!(serde_json::from_str::<Value>(&json).unwrap()[key], value);
    }
    for command in ["reflect", "evolve"] {
        let json = |options: &[&str]| -> Value {
            let (_, json, _) = run("bench benchtrace", &[&[command, "--json", "-"], options].concat());
            serde_json::from_str(&json).unwrap()
        };
        assert!(json(&[]).get("intervals").is_none());
        let with = json(&["--intervals", "--seed", "3", "--resamples", "100"]);
        assert_eq!(with["intervals"]["seed"], 3);
        assert!(with["intervals"]["all"].is_object());
        assert_ne!(
            with["intervals"],
            json(&["--intervals", "--seed", "4", "--resamples", "100"])["intervals"]
        );
    }
    let (_, json, _) = run("bench benchtrace", &["reflect", "--recall-gate", "0.9", "--json", "-"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert!(
        json["all"]["funnel"]["recall"]["pass"].as_u64() <= json["all"]["funnel"]["table5"]["pass"].as_u64()
    );
}

#[test]
fn bad_lines_cost_themselves_and_are_told() {
    let folder = Folder::new("bad");
    let good = r#"{"id": "a", "a": [], "b": [{"type": "x/y", "where": [0, 3], "tier": "core"}]}"#;
    let text = format!(
        "{good}\n{good}\n{{\"id\": \"b\", \"a\": [], \"b\": [{{\"type\": \"x/y\", \"where\": [3, 0], \"tier\": \"core\"}}]}}\n"
    );
    let path = folder.write("partly.jsonl", &text);
    let (status, table, err) = run("bench benchtrace", &["agree", &path]);
    assert_eq!(status, 3);
    assert!(table.contains("1 episodes"), "{table}");
    assert!(err.contains(&format!("{path}:2:1: ")), "{err}");
    assert!(err.contains(&format!("{path}:3:")) && err.contains("ends before it begins"), "{err}");

    // A list is not read as an object by position, and a byte order mark is not part of a record.
    let listed = folder.write("listed.jsonl", &format!("\u{feff}{good}\n[\"c\", [], []]\n"));
    let (status, table, err) = run("bench benchtrace", &["agree", &listed]);
    assert!(status == 3 && table.contains("1 episodes"), "{table}");
    assert!(err.contains(&format!("{listed}:2:")) && err.contains("expected an object"), "{err}");

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

/// The number of interactions comes from the files next to the results.
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
    let (status, json, _) = run("bench recovery", &["select", &results, "--json", "-"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((status, &json["kept"]), (0, &serde_json::json!(["long.1-of-1.r"])));
    assert_eq!(json["left_out"], serde_json::json!({"interactions_unknown": 1, "too_short": 1}));
    let (_, json, _) =
        run("bench recovery", &["select", "golden/recovery/harbor/result.json", "--json", "-"]);
    assert_eq!(
        serde_json::from_str::<Value>(&json).unwrap()["kept"],
        serde_json::json!(["mend-fence__invented"])
    );
}

/// No output replaces an input: neither JSON nor a page nor a table.
#[test]
fn no_output_replaces_an_input() {
    let folder = Folder::new("replaces");
    let copy = |name: &str| folder.write(name, &fs::read_to_string(format!("golden/{name}")).unwrap());
    let [gold, predictions, cases] =
        ["gold", "predictions", "cases"].map(|name| copy(&format!("benchtrace/{name}.jsonl")));
    let [annotators, records, episodes, calls, pairs] =
        ["annotators", "records", "episodes", "calls", "pairs"]
            .map(|name| copy(&format!("benchtrace/{name}.jsonl")));
    let bench = copy("benchtrace/episodes.json");
    let [trials, errors] = ["trials", "pairs"].map(|name| copy(&format!("recovery/{name}.jsonl")));
    let result = copy("recovery/harbor/result.json");
    let trajectory = copy("recovery/harbor/agent/trajectory.json");
    let reflect = ["reflect", "--gold", &gold, "--predictions", &predictions];
    for (name, arguments, input) in [
        ("bench benchtrace", &reflect[..], &gold),
        ("bench benchtrace", &reflect[..], &predictions),
        ("bench benchtrace", &["reflect", "--predict", "detectors", "--episodes", &bench], &bench),
        ("bench benchtrace", &["evolve", &cases], &cases),
        ("bench benchtrace", &["agree", &annotators], &annotators),
        ("bench benchtrace", &["relate", &records], &records),
        ("bench benchtrace", &["modes", &episodes], &episodes),
        ("bench benchtrace", &["calls", &calls], &calls),
        ("bench benchtrace", &["proximity", &pairs], &pairs),
        ("bench recovery", &["read", &result], &result),
        ("bench recovery", &["select", &result], &result),
        ("bench recovery", &["select", &result], &trajectory),
        ("bench recovery", &["commands", &trajectory], &trajectory),
        ("bench recovery", &["compare", &trials], &trials),
        ("bench recovery", &["inherit", &errors], &errors),
    ] {
        let before = fs::read(input).unwrap();
        for to in ["--json", "--html", "--markdown", "--latex"] {
            let (status, out, err) = run(name, &[arguments, &[to, input]].concat());
            assert_eq!((status, out.as_str()), (2, ""), "{name} {arguments:?} {to}");
            assert!(err.contains("the output is the input"), "{err}");
            assert_eq!(fs::read(input).unwrap(), before);
        }
        let json = folder.0.join("out.json").display().to_string();
        let (status, _, err) = run(name, &[arguments, &["--json", &json]].concat());
        assert_eq!((status, err.as_str()), (0, ""), "{name} {arguments:?}");
    }
}

/// Every command writes its tables in every form, and a page with them.
#[test]
fn tables_are_files_and_a_page_too() {
    let folder = Folder::new("forms");
    for (number, (name, arguments)) in COMMANDS.iter().enumerate() {
        let file = |ending: &str| folder.0.join(format!("{number}{ending}")).display().to_string();
        let (html, markdown, latex, csv) = (file(".html"), file(".md"), file(".tex"), file(""));
        let to = ["--html", &html, "--markdown", &markdown, "--latex", &latex, "--csv", &csv];
        let (status, text, err) = run(name, &[arguments, &to[..]].concat());
        assert_eq!((status, err.as_str()), (0, ""), "{name} {arguments:?}");
        let page = fs::read_to_string(&html).unwrap();
        let titles = page.matches("<caption>").count();
        assert!(titles > 0 && page.ends_with("</html>\n"), "{name} {arguments:?}");
        // Every form has the same tables.
        assert_eq!(fs::read_to_string(&markdown).unwrap().matches("### ").count(), titles);
        let latex = fs::read_to_string(&latex).unwrap();
        let continued = latex.matches(" (continued)}").count();
        assert_eq!(latex.matches("\\caption{").count() - continued, titles);
        assert!(latex.starts_with("% needs "), "{latex}");
        assert!(fs::read_dir(&csv).unwrap().count() >= titles);
        let ruled = text.lines().filter(|line| line.starts_with("  --")).count();
        assert_eq!(ruled, titles, "{text}");
        if ["reflect", "evolve", "compare"].contains(&arguments[0]) {
            assert!(page.contains("<svg "), "{arguments:?}");
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
    for (name, arguments) in COMMANDS {
        let input = match (name, arguments[0]) {
            ("bench benchtrace", "reflect") => vec![arguments[0], "--gold", &path, "--predictions", &path],
            ("bench recovery", "read" | "commands") => vec![arguments[0], &document, &path],
            _ => vec![arguments[0], &path],
        };
        let (status, out, err) = run(name, &input);
        assert_eq!((status, out.lines().count() < 3), (3, true), "{name} {input:?} {out}");
        assert!(err.contains("error: ") && !err.contains("panicked"), "{name} {input:?} {err}");
        assert!(err.len() < 10_000, "{name} {input:?}: {} bytes of errors", err.len());
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
    let (status, by_folder, err) =
        run("bench recovery", &["compare", "--results", &fresh, "--results", &env, "--json", "-"]);
    assert_eq!((status, err.as_str()), (0, ""));
    assert_eq!(by_folder, run("bench recovery", &["compare", &trials, "--json", "-"]).1);
    let found: Value = serde_json::from_str(&by_folder).unwrap();
    let model = &found["contexts"]["env"]["models"]["m:1"];
    assert_eq!((&model["tasks"], &model["fresh"]["rate"]), (&Value::from(2), &Value::from(0.5)));
    assert_eq!(model["recovery"]["mean_interactions"], 4.5);
    assert_eq!(
        model["recovery"]["premature"],
        model["tasks"].as_u64().unwrap() - model["recovery"]["resolved"].as_u64().unwrap()
    );

    let apart = env.replace(":env=", ":env@other=");
    let (_, found, _) =
        run("bench recovery", &["compare", "--results", &fresh, "--results", &apart, "--json", "-"]);
    let found: Value = serde_json::from_str(&found).unwrap();
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
        let json = |arguments: &[&str]| -> Value {
            let (status, out, err) =
                run("bench benchtrace", &[arguments, &["--mode", mode, "--json", "-"]].concat());
            assert_eq!((status, err.as_str()), (0, ""), "{arguments:?}");
            serde_json::from_str(&out).unwrap()
        };
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
            let mut record = serde_json::json!({
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
        let (_, apart, _) = run("bench benchtrace", &["relate", &records, "--json", "-"]);
        assert_eq!(joined, serde_json::from_str::<Value>(&apart).unwrap(), "{mode}");
    }
}
