//! Comparisons with `serde_json`: both must accept the same texts and read the same values.

use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// Reads a value into `serde_json`'s type.
#[expect(clippy::cast_precision_loss, reason = "`serde_json` stores these as doubles")]
fn value(json: &mut Json<'_>) -> Read<Value> {
    Ok(match json.kind()? {
        Kind::Null => json.null().map(|_| Value::Null)?,
        Kind::Bool => Value::from(json.boolean()?),
        Kind::String => Value::from(json.string()?),
        Kind::Number => match json.number()? {
            Number::Integer(integer) => match (u64::try_from(integer), i64::try_from(integer)) {
                (Ok(unsigned), _) => Value::from(unsigned),
                (_, Ok(signed)) => Value::from(signed),
                _ => Value::from(integer as f64),
            },
            Number::Large(digits) => Value::from(digits.parse::<f64>().unwrap()),
            Number::Float(float) => Value::from(float),
        },
        Kind::List => Value::from(json.list_of(value)?),
        Kind::Object => {
            let mut members = serde_json::Map::new();
            json.object(|key, member| {
                members.insert(String::from_utf8_lossy(key).into_owned(), value(member)?);
                Ok(())
            })?;
            Value::from(members)
        }
    })
}

fn whole(bytes: &[u8]) -> Option<Value> {
    let mut json = Json::new(bytes);
    let found = value(&mut json).ok()?;
    json.peek_byte().is_none().then_some(found)
}

fn skipped(bytes: &[u8]) -> bool {
    let mut json = Json::new(bytes);
    json.skip().is_ok() && json.peek_byte().is_none()
}

/// JSON of every kind, and texts that are nearly JSON.
fn text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("falsey".to_owned()),
        "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?",
        "-?[0-9]{0,24}\\.?[0-9]{0,2}[eE]?[+-]?[0-9]{0,3}",
        "\"([a-z]{0,30}|\\\\[nt\"/\\\\ux]|\\\\u[0-9a-d]{4}|é|\u{1f600}){0,6}\"",
        "\"[ -~]{0,20}\"",
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            (prop::collection::vec(inner.clone(), 0..5), "[ \n]{0,12}")
                .prop_map(|(items, space)| format!("[{space}{}{space}]", items.join(&format!(",{space}")))),
            (prop::collection::vec(("[a-c\\\\n]{0,3}", inner.clone()), 0..5), "[ \n\t]{0,10}").prop_map(
                |(members, space)| {
                    let members: Vec<String> =
                        members.into_iter().map(|(key, value)| format!("\"{key}\"{space}:{value}")).collect();
                    format!("{{{}{space}}}", members.join(","))
                }
            ),
            (inner, "[\\[\\]{},:\"]?").prop_map(|(value, litter)| value + &litter),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn values_and_acceptance_are_those_of_serde_json(text in text()) {
        let expected: Option<Value> = serde_json::from_str(&text).ok();
        // Here unpaired surrogates are U+FFFD and -0 is an integer; in serde_json, an error and a float.
        if !text.contains("\\ud") && !text.contains("-0") {
            prop_assert_eq!(&whole(text.as_bytes()), &expected, "{}", text);
        }
        if expected.is_some() {
            prop_assert!(skipped(text.as_bytes()), "{}", text);
        } else if !text.contains('\\') && !skipped(text.as_bytes()) {
            prop_assert!(whole(text.as_bytes()).is_none());
        }
    }

    #[test]
    fn what_is_passed_over_is_what_would_be_read(text in text(), tail in "[ ,\\]}]{0,2}") {
        let text = text + &tail;
        let mut read = Json::new(text.as_bytes());
        if value(&mut read).is_ok() {
            let mut passed = Json::new(text.as_bytes());
            let raw = passed.raw().unwrap();
            prop_assert_eq!(passed.offset(), read.offset());
            prop_assert_eq!(whole(raw.bytes()), Some(value(&mut raw.json()).unwrap()));
            let mut unsound = Json::new(text.as_bytes());
            if matches!(raw.kind(), Kind::List | Kind::Object) {
                prop_assert_eq!(unsound.skip_unsound(), Some(()));
                prop_assert_eq!(unsound.offset(), read.offset());
            }
        }
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"{}[]\",:\\u0e".to_vec())], 0..80)) {
        let _ = (whole(&bytes), skipped(&bytes), Json::new(&bytes).skip_unsound());
        for at in 0..bytes.len() {
            let mut json = Json::starting_at(&bytes, at, 0);
            let _ = (json.clone().raw(), json.clone().number(), json.clone().ident(), json.text());
        }
    }

    #[test]
    fn a_text_that_ends_early_says_so(text in text()) {
        // A prefix of a valid text is either a value already or ends too early, possibly within a character.
        if serde_json::from_str::<Value>(&text).is_ok() && !text.contains("\\ud") {
            for end in 0..text.len() {
                let part = text.as_bytes().get(..end).unwrap();
                if let Err(fault) = value(&mut Json::new(part)) {
                    prop_assert!(fault.is_end() || fault.is_encoding(), "{:?} of {}", fault, text);
                }
            }
        }
    }
}

#[test]
fn depth_is_bounded_in_every_way_of_reading() {
    for (depth, fits) in [(MAX_DEPTH as usize, true), (MAX_DEPTH as usize + 1, false)] {
        let text = "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(skipped(text.as_bytes()), fits);
        assert_eq!(whole(text.as_bytes()).is_some(), fits);
    }
    for (open, fits) in [(MAX_DEPTH - 1, true), (MAX_DEPTH, false)] {
        assert_eq!(Json::starting_at(b"{\"a\": 1}", 0, open).enters(b"\"a\""), fits);
    }
    let deep = "[".repeat(100_000) + &"]".repeat(100_000) + ",1";
    let mut json = Json::new(deep.as_bytes());
    assert_eq!(json.skip_unsound(), Some(()));
    assert_eq!(json.offset(), 200_000);
}

#[test]
fn the_last_of_equal_keys_counts_and_items_may_be_left() {
    let mut found = None;
    let mut json = Json::new(br#"{"a": {"x": [1, {}]}, "\u0061": 2, "b": [3, 4]}"#);
    json.object(|key, value| match key {
        b"a" => {
            found = value.raw()?.integer();
            Ok(())
        }
        _ => Ok(()),
    })
    .unwrap();
    assert_eq!(found, Some(2));
}

#[test]
fn objects_of_known_members_are_entered_and_left_as_they_are_spelled() {
    let read = |text: &str| {
        let mut json = Json::new(text.as_bytes());
        let start = json.mark();
        let members =
            json.enters(b"\"a\"") && json.skip().is_ok() && json.goes_on(b"\"b\"") && json.skip().is_ok();
        let left = members && json.leaves();
        if !left {
            json.back_to(start);
        }
        // Going back to a mark also restores the depth.
        (left, json.offset(), json.depth)
    };
    for text in ["{\"a\":1,\"b\":[2]}", " {\n \"a\" : 1 , \"b\":\t[2]\r}"] {
        assert_eq!(read(text), (true, text.len(), 0), "{text}");
    }
    for text in [
        "",
        "{}",
        "[]",
        "{\"b\":1,\"a\":2}",
        "{\"a\":1}",
        "{\"a\":1,\"b\":2,\"c\":3}",
        "{\"a\":1,\"b\":2",
        "{\"a\"1",
    ] {
        assert_eq!(read(text), (false, 0, 0), "{text}");
    }
}

#[test]
fn wrong_types_are_named() {
    let message = |fault: Fault| (fault.at(), fault.into_error().message());
    let read = |text: &'static str| Json::new(text.as_bytes());
    assert_eq!(message(read(" 7").string().unwrap_err()), (1, "expected a string, found a number".into()));
    assert_eq!(message(read("\"x\"").whole().unwrap_err()), (0, "expected a number, found a string".into()));
    assert_eq!(message(read("-3").whole().unwrap_err()), (0, "expected a whole number, found -3".into()));
    // Invalid JSON is reported as such, not as an unexpected kind.
    assert_eq!(message(read("truely").list(|_| Ok(())).unwrap_err()), (4, "invalid literal".into()));
    assert_eq!(message(read("12a").number().unwrap_err()), (2, "invalid number".into()));
    assert!(read("[1,").skip().unwrap_err().is_end());
    assert_eq!(read("3.0").whole().unwrap(), 3);
    assert_eq!(read("1e400").number().unwrap_err().at(), 0);
}

#[test]
fn what_is_checked_is_sound_inside_of_its_strings_as_well() {
    let checked = |text: &str| {
        let mut json = Json::new(text.as_bytes());
        json.check().is_ok() && json.peek_byte().is_none()
    };
    for (text, sound, passed) in [
        (r#"{"a": ["\u00e9\n", 1e3, -0.5], "b": {}}"#, true, true),
        ("{\"a\": \"line\nbreak\"}", false, true),
        ("{\"a\nb\": 1}", false, true),
        (r#"["\x"]"#, false, true),
        ("[1e999]", false, true),
        ("[1e99]", true, true),
        ("[NaN]", false, false),
        ("{\"a\": 1", false, false),
    ] {
        assert_eq!((checked(text), skipped(text.as_bytes())), (sound, passed), "{text}");
    }
    assert!(!checked(&"9".repeat(400)) && checked(&"9".repeat(308)));
}

#[test]
fn what_is_known_of_ends_is_what_would_be_found() {
    let long = "x".repeat(80);
    let text =
        format!("{{\"a\": [{{\"b\": \"{long}\\n\"}},\n[1, \"{long}\"]], \"c\": {{\"d\": [\"{long}\"]}}}}");
    let index = SkipIndex::of_length(text.len());
    for _ in 0..2 {
        let mut json = Json::with_index(text.as_bytes(), Some(&index));
        json.check().unwrap();
        assert_eq!(json.offset(), text.len());
    }
    for start in (0..text.len()).filter(|at| matches!(text.as_bytes()[*at], b'{' | b'[')) {
        let mut knowing = Raw::over(text.as_bytes(), start).with_index(Some(&index)).json();
        let mut other = Json::starting_at(text.as_bytes(), start, 0);
        assert!(knowing.skip().is_ok() && other.skip().is_ok());
        assert_eq!(knowing.offset(), other.offset(), "from {start}");
    }
    // A line may end inside a value that the index knows from the whole document.
    let line = text.split('\n').next().unwrap();
    assert!(Json::with_index(line.as_bytes(), Some(&index)).skip().unwrap_err().is_end());
    assert!(Json::with_index(line.as_bytes(), Some(&index)).check().unwrap_err().is_end());
}
