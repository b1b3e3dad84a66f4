//! Tests `wrongturn compare`.

use serde_json::json;

use crate::support::{Folder, ends};

#[test]
fn a_comparison_takes_two_sides() {
    let folder = Folder::new("compare");
    let summary = folder.path("summary.json");
    let quitter = "golden/tau2/scripted-quitter_airline.json";
    let careless = "golden/tau2/scripted-careless_airline.json";
    ends("compare", &["--json", &summary, "--resamples", "100", quitter, careless], 0);
    let found = folder.json("summary.json");
    assert_eq!(
        (&found["tasks"], &found["first"]["counted"], &found["second"]["counted"]),
        (&json!(10), &json!(40), &json!(40))
    );
    assert_eq!(found["first"]["label"], quitter);
    let compared = |arguments: &[&str]| ends("compare", &[&["--resamples", "100"], arguments].concat(), 0).0;
    let mut text = compared(&[quitter, quitter]);
    text += &ends("compare", &[quitter, "golden/tau2/scripted-quitter_retail.json"], 2).1;
    let all = "golden/tau2";
    text +=
        &compared(&[all, all, "--first-model", "scripted-quitter", "--second-model", "scripted-persistent"]);
    insta::assert_snapshot!("compare", text);
    for wrong in [&[quitter][..], &["--resamples", "0"], &[quitter, "nowhere.json", "third.json"]] {
        ends("compare", wrong, 2);
    }
    let foreign = folder.write("foreign.json", r#"{"name": "no run", "version": 3}"#);
    let mut errors = ends("compare", &[&foreign, &foreign], 3).1;
    errors += &ends("compare", &["--resamples", "100", quitter, "nowhere.json"], 3).1;
    let (out, error) = ends("compare", &[all, quitter, "--first-model", "gpt-9"], 2);
    assert_eq!(out, "");
    insta::assert_snapshot!("compare_errors", folder.masked(&(errors + &error)));
}
