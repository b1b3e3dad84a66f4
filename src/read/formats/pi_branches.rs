//! Finds the abandoned branches of a pi session.

use std::collections::BTreeMap;

use super::prelude::*;

/// Returns true if OpenClaw wrote a message itself: a notice, or a copy of a text that it delivered. The copy may
/// be outside the branch with the text, so it does not show which branch was continued.
pub(super) fn is_by_openclaw(message: &Members<'_>) -> bool {
    message.name("provider").as_deref() == Some("openclaw")
}

/// Returns, for each line, the index of the first line of its abandoned branch, or `None` if the line is in
/// no abandoned branch.
pub(super) fn abandoned(lines: &[Members<'_>]) -> Vec<Option<usize>> {
    let mut places = BTreeMap::new();
    let mut parents = Vec::with_capacity(lines.len());
    let mut last = None;
    for (place, line) in lines.iter().enumerate() {
        let known = line.name("parentId").and_then(|parent| places.get(&parent).copied());
        // An entry without a known parent follows the one before it.
        let parent = known.or(last);
        parents.push(parent);
        if let Some(id) = line.name("id").filter(|_| line.has("parentId")) {
            places.insert(id, place);
        }
        // A copy of a text that was delivered does not begin a branch.
        if !is_by_openclaw(&line.object("message")) || parent == last {
            last = Some(place);
        }
    }
    let mut is_main = vec![false; lines.len()];
    let mut next = last;
    while let Some((place, seen)) = next.and_then(|place| Some((place, is_main.get_mut(place)?))) {
        *seen = true;
        next = parents.get(place).copied().flatten().filter(|parent| *parent < place);
    }
    let mut roots: Vec<Option<usize>> = Vec::with_capacity(lines.len());
    for (place, ((is_main, parent), line)) in is_main.into_iter().zip(parents).zip(lines).enumerate() {
        let inherited = parent.and_then(|parent| roots.get(parent).copied().flatten());
        let begins = !is_main && line.has("parentId");
        roots.push(if begins { inherited.or(Some(place)) } else { inherited });
    }
    roots
}
