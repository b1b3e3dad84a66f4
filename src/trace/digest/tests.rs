use super::*;
use serde_json::json;

#[test]
fn key_order_and_number_spelling_do_not_matter() {
    let same = [
        (r#"{"a":1,"b":{"c":[1,2.5],"d":null}}"#, r#"{ "b": {"d":null, "c":[1.0,25e-1]}, "a":1e0 }"#),
        (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
        (r#""\u0061""#, r#""a""#),
        (r#"["a\n\u0041\/\u001B"]"#, r#"["a\u000aA/\u001b"]"#),
        (r#"{"\u0061\n":"\""}"#, r#"{"a\u000A":"\u0022"}"#),
        (r#""\/0001""#, r#""/0001""#),
        ("-0.0", "0"),
        ("18446744073709551615", "18446744073709551615"),
    ];
    for (left, right) in same {
        assert_eq!(Digest::of_json(left), Digest::of_json(right), "{left} {right}");
    }
    let different = [
        ("[1,2]", "[2,1]"),
        ("[[1],2]", "[1,[2]]"),
        (r#""1""#, "1"),
        ("0", "false"),
        ("null", r#""null""#),
        (r#"{"a":{"b":1}}"#, r#"{"b":{"a":1}}"#),
        ("9007199254740993", "9007199254740992"),
        ("{}", "[]"),
    ];
    for (left, right) in different {
        assert_ne!(Digest::of_json(left), Digest::of_json(right), "{left} {right}");
    }
}

#[test]
fn values_and_texts_agree() {
    let texts = json!({"k\"\n": "\u{1b}\u{7f}\\/\u{e9}\u{fffd}"});
    assert_eq!(Digest::of_value(&texts), Digest::of_json(&texts.to_string()));
    let value = json!({"z": [1, 2.0, {"y": "x\n"}], "a": 1e300, "m": -3});
    assert_eq!(Digest::of_value(&value), Digest::of_json(&value.to_string()));
    assert_eq!(canonical::of_value(&value), r#"{"a":1e+300,"m":-3,"z":[1,2,{"y":"x\n"}]}"#);
    assert_eq!(Digest::of_json(&canonical::of_value(&value)), Digest::of_value(&value));
}

#[test]
fn unsound_or_deep_texts_stand_for_themselves() {
    let deep = "[".repeat(400) + &"]".repeat(400);
    assert_eq!(Digest::of_json(&deep), Digest::of_json(&deep));
    assert_ne!(Digest::of_json(&deep), Digest::of_json("[[]]"));
    assert_eq!(Digest::of_json("{nope"), Digest::of_json("{nope"));
    // Unpaired surrogates are read as U+FFFD.
    assert_eq!(Digest::of_json(r#""\ud800""#), Digest::of_json("\"\u{fffd}\""));
    assert_ne!(Digest::of_json("1 2"), Digest::of_json("1 3"));
}

#[test]
fn deep_values_differ_where_their_content_does() {
    let nested = |depth: usize, core: i64| {
        let mut value = json!(core);
        for _ in 0..depth {
            value = Value::from(vec![value]);
        }
        value
    };
    for depth in [127, 128, 129, 300, 3000] {
        let (one, two) = (nested(depth, 1), nested(depth, 2));
        assert_ne!(Digest::of_value(&one), Digest::of_value(&two), "{depth}");
        assert_eq!(Digest::of_value(&one), Digest::of_json(&canonical::of_value(&one)), "{depth}");
    }
    assert_ne!(Digest::of_value(&nested(200, 1)), Digest::of_value(&nested(201, 1)));
}

#[test]
fn members_are_found_by_name() {
    assert_eq!(member(r#"{"a":{"b":1},"c":2}"#, "c"), Some(Digest::of_json("2.0")));
    assert_eq!(member(r#"{"a":1}"#, "b"), None);
    assert_eq!(member(r#"{"a":1,"b":0,"a":[2]}"#, "a"), Some(Digest::of_json("[2]")));
    assert_eq!(member("[1]", "b"), None);
}
