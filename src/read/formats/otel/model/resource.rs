//! The attributes of the service that sent a span, within limits.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Data, Value};

/// The attributes of a sender as strings, shared by its spans. `None` if it has none.
pub(crate) type Resource = Option<Arc<BTreeMap<String, String>>>;

/// Maximum number of attributes, of bytes in a name, and of bytes in a value.
const MOST: (usize, usize, usize) = (16, 64, 256);

/// Prefixes of attributes that describe the process or the SDK rather than the service.
const NOT_KEPT: [&str; 2] = ["process.", "telemetry."];

/// Adds an attribute, unless it exceeds a limit, its name begins with a prefix in [`NOT_KEPT`], or its value is not a
/// text, an integer or a boolean.
pub(crate) fn add(to: &mut Resource, key: &str, value: &Value<'_>) {
    let text = match value {
        Value::Data(Data::Bool(value)) => value.to_string(),
        Value::Data(Data::Number(number)) if !number.is_f64() => number.to_string(),
        Value::Data(_) => return,
        text => text.as_str().unwrap_or_default().to_owned(),
    };
    let (attributes, name, length) = MOST;
    let known = to.get_or_insert_default();
    let is_kept = !NOT_KEPT.iter().any(|prefix| key.starts_with(prefix));
    if is_kept && known.len() < attributes && key.len() <= name && text.len() <= length {
        Arc::make_mut(known).insert(key.to_owned(), text);
    }
}

/// Estimates the memory that the attributes take, in bytes.
pub(crate) fn bytes(resource: &Resource) -> usize {
    let entries = resource.iter().flat_map(|attributes| attributes.iter());
    entries.map(|(key, value)| 96 + key.len() + value.len()).sum()
}
