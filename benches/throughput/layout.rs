//! Writes tau2 files in other layouts: one run on each line, or shortened runs. Members keep their order.

use clap::ValueEnum;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Layout {
    Files,
    Lines,
}

/// Members with judgements, which are much longer than a shortened run.
const JUDGED: [&str; 2] = ["reward_info", "info"];

/// Returns the runs of a tau2 file in another layout. With `short`, cuts each run as [`cut`] does. A file that is not a
/// single JSON value is returned unchanged; one without runs becomes empty.
pub(crate) fn anew(bytes: &[u8], layout: Layout, short: Option<usize>) -> Vec<u8> {
    let Ok(file) = serde_json::from_slice::<&RawValue>(bytes) else { return bytes.to_vec() };
    let mut text = String::new();
    let runs = |list: &RawValue| -> Option<Vec<String>> {
        let runs: Vec<&RawValue> = serde_json::from_str(list.get()).ok()?;
        Some(runs.into_iter().map(|run| cut(run, short)).collect())
    };
    let members = serde_json::from_str::<Members<'_>>(file.get()).map(|members| members.0);
    let listed = match &members {
        Ok(members) => members.iter().find(|(key, _)| key == "simulations").and_then(|(_, list)| runs(list)),
        Err(_) => runs(file),
    };
    let Some(runs) = listed else { return Vec::new() };
    match layout {
        Layout::Lines => runs.iter().for_each(|run| text += &format!("{run}\n")),
        Layout::Files => {
            let list = format!("[{}]", runs.join(","));
            match members {
                Ok(members) => write_object(&members, &mut text, |key, value, out| match key {
                    "simulations" => *out += &list,
                    _ => write(value, out),
                }),
                Err(_) => text = list,
            }
        }
    }
    text.into_bytes()
}

/// Returns a run without white space. With `short`, keeps its first messages up to that many KB in total, and drops its
/// judgements.
fn cut(run: &RawValue, short: Option<usize>) -> String {
    let mut text = String::new();
    match (short, serde_json::from_str::<Members<'_>>(run.get())) {
        (Some(kb), Ok(Members(mut members))) => {
            members.retain(|(key, _)| !JUDGED.contains(&&**key));
            write_object(&members, &mut text, |key, value, out| match key {
                "messages" => *out += &first_messages(value, kb * 1000),
                _ => write(value, out),
            });
        }
        _ => write(run, &mut text),
    }
    text
}

fn first_messages(messages: &RawValue, bytes: usize) -> String {
    let mut text = String::new();
    let Ok(list) = serde_json::from_str::<Vec<&RawValue>>(messages.get()) else {
        write(messages, &mut text);
        return text;
    };
    let written = list.into_iter().map(|message| {
        let mut text = String::new();
        write(message, &mut text);
        text
    });
    let mut size = 0;
    let kept = written.take_while(|message| {
        size += message.len();
        size <= bytes
    });
    format!("[{}]", kept.collect::<Vec<_>>().join(","))
}

/// Writes a value without white space.
fn write(value: &RawValue, out: &mut String) {
    let text = value.get();
    if let Ok(Members(members)) = serde_json::from_str(text) {
        write_object(&members, out, |_, value, out| write(value, out));
    } else if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text) {
        out.push('[');
        for (place, item) in items.into_iter().enumerate() {
            out.extend((place > 0).then_some(','));
            write(item, out);
        }
        out.push(']');
    } else {
        *out += text;
    }
}

fn write_object(
    members: &[(String, &RawValue)],
    out: &mut String,
    mut write: impl FnMut(&str, &RawValue, &mut String),
) {
    out.push('{');
    for (place, (key, value)) in members.iter().enumerate() {
        out.extend((place > 0).then_some(','));
        *out += &serde_json::Value::from(&**key).to_string();
        out.push(':');
        write(key, value, out);
    }
    out.push('}');
}

/// The members of an object, in their order.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}
