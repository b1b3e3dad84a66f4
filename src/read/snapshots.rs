//! Finds growing snapshots: a log may repeat a conversation so far at each of its steps.

use std::collections::BTreeSet;

use crate::json::{Kind, Raw};

/// Members that number the snapshots of a conversation. Without one, equal beginnings are runs of their own, such as
/// trials.
const COUNTERS: [&[u8]; 6] = [b"iteration", b"move", b"round", b"step", b"timestamp", b"turn"];

/// Returns the places of the items whose conversation a later item begins with and continues, and that are otherwise
/// equal.
pub(super) fn continued(items: &[Raw<'_>]) -> BTreeSet<usize> {
    let snapshots = items.iter().enumerate();
    let mut all: Vec<_> = snapshots.filter_map(|(place, item)| Some((snapshot(*item)?, place))).collect();
    // In this order, a conversation is directly before those that continue it.
    all.sort_unstable();
    let mut found = BTreeSet::new();
    for pair in all.windows(2) {
        if let [((around, one), place), ((next_around, next), later)] = pair
            && around == next_around
            && place < later
            && begins(next, one)
        {
            found.insert(*place);
        }
    }
    found
}

/// Returns true if a list begins with all values of another, both without the closing bracket.
pub(super) fn begins(list: &[u8], start: &[u8]) -> bool {
    list.strip_prefix(start).is_some_and(|rest| matches!(rest.trim_ascii_start(), [] | [b',', ..]))
}

/// Returns true if an item may be one of the snapshots of a conversation.
pub(super) fn is_snapshot(item: Raw<'_>) -> bool {
    snapshot(item).is_some()
}

/// The members of a snapshot but its counters, and its messages up to the closing bracket.
type Snapshot<'a> = (Vec<(Vec<u8>, &'a [u8])>, &'a [u8]);

fn snapshot<'a>(item: Raw<'a>) -> Option<Snapshot<'a>> {
    let (mut around, mut messages, mut is_counted) = (Vec::new(), None, false);
    let read = item.json().object(|key, value| {
        let value: Raw<'a> = value.raw()?;
        match key {
            b"messages" if value.kind() == Kind::List => messages = Some(value.bytes()),
            key if COUNTERS.contains(&key) => is_counted = true,
            key => around.push((key.to_vec(), value.bytes())),
        }
        Ok(())
    });
    read.ok().filter(|()| is_counted)?;
    Some((around, messages?.strip_suffix(b"]")?.trim_ascii_end()))
}
