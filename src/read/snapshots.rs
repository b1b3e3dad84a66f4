//! Finds growing snapshots: a log may repeat a conversation so far each time that it grows.

use std::collections::BTreeSet;

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

/// Returns the messages of an item, up to the closing bracket: the item itself, or its longest list of objects. Lists
/// of objects with a role come first.
fn conversation<'a>(item: Raw<'a>) -> Option<&'a [u8]> {
    let mut longest = None;
    let mut add = |list: Raw<'a>| {
        let first = list.first_items(1).first().copied().filter(|first| first.kind() == Kind::Object);
        let list = first.map(|first| (first.member("role").is_some(), list.bytes().len(), list.bytes()));
        longest = longest.max(list);
    };
    match item.kind() {
        Kind::List => add(item),
        _ => item
            .json()
            .object(|_, value| {
                let value = value.raw()?;
                if value.kind() == Kind::List {
                    add(value);
                }
                Ok(())
            })
            .ok()?,
    }
    Some(longest?.2.strip_suffix(b"]")?.trim_ascii_end())
}
