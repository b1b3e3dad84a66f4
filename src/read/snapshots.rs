//! Finds growing snapshots: a log may repeat a conversation so far each time that it grows.

use std::collections::BTreeSet;

use super::members::Members;
use crate::json::{Kind, Raw};

/// Returns the places of the items whose conversation a later item begins with and continues.
pub(super) fn continued(items: &[Raw<'_>]) -> BTreeSet<usize> {
    let conversations = items.iter().enumerate();
    let mut all: Vec<(&[u8], usize)> =
        conversations.filter_map(|(place, item)| Some((conversation(*item)?, place))).collect();
    // In this order, a conversation is directly before those that continue it.
    all.sort_unstable();
    let groups: Vec<_> = all.chunk_by(|one, next| one.0 == next.0).collect();
    let mut found = BTreeSet::new();
    for pair in groups.windows(2) {
        if let [[same @ .., (one, last)], [.., (next, later)]] = pair
            && next.strip_prefix(*one).is_some_and(|rest| rest.trim_ascii_start().starts_with(b","))
        {
            let places = same.iter().map(|(_, place)| *place).chain([*last]);
            found.extend(places.filter(|place| place < later));
        }
    }
    found
}

/// Returns the messages of an item, up to the closing bracket: the item itself, or its longest list of objects. A list
/// of objects with a role comes first; with two such lists, neither is the whole conversation.
fn conversation(item: Raw<'_>) -> Option<&[u8]> {
    let lists = match item.kind() {
        Kind::List => vec![item],
        _ => Members::from(item).iter().map(|(_, value)| value).collect(),
    };
    let shown = lists.into_iter().filter_map(|list| {
        let first = list.first_items(1).into_iter().find(|first| first.kind() == Kind::Object)?;
        Some((first.member("role").is_some(), list.bytes().len(), list.bytes()))
    });
    let mut shown: Vec<_> = shown.collect();
    shown.sort_unstable();
    match shown[..] {
        [.., (true, ..), (true, ..)] => None,
        _ => Some(shown.last()?.2.strip_suffix(b"]")?.trim_ascii_end()),
    }
}
