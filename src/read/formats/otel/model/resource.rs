//! The attributes of the service that sent a span, within caps.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Data, Value};

/// The attributes of a sender as texts, shared by its spans. `None` if it has none.
pub(crate) type Resource = Option<Arc<BTreeMap<String, String>>>;

/// How many attributes are kept, and how long a name and a value may be.
const MOST: (usize, usize, usize) = (16, 64, 256);

/// Attributes that describe the process or the SDK rather than the service.
const NOT_KEPT: [&str; 2] = ["process.", "telemetry."];

/// Adds an attribute; one that is too long, too many, or not a text, number or boolean is left out.
pub(crate) fn add(to: &mut Resource, key: &str, value: &Value<'_>) {
    let text = match value {
        Value::Text(text) => text.as_str().to_owned(),
        Value::Data(Data::Bool(value)) => value.to_string(),
        Value::Data(Data::Number(number)) if !number.is_f64() => number.to_string(),
        Value::Data(_) => return,
    };
    let (attributes, name, length) = MOST;
    let known = to.get_or_insert_default();
    let is_kept = !NOT_KEPT.iter().any(|prefix| key.starts_with(prefix));
    if is_kept && known.len() < attributes && key.len() <= name && text.len() <= length {
        Arc::make_mut(known).insert(key.to_owned(), text);
    }
}

/// About how many bytes the attributes take.
pub(crate) fn bytes(resource: &Resource) -> usize {
    let entries = resource.iter().flat_map(|attributes| attributes.iter());
    entries.map(|(key, value)| 96 + key.len() + value.len()).sum()
}
