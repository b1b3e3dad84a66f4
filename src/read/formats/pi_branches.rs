//! Finds the abandoned branches of a pi session, and the texts that OpenClaw copied.

use std::collections::BTreeMap;

use super::prelude::*;

/// Returns true if OpenClaw wrote a message itself: a notice, or a copy of a text that it delivered. The copy may
/// be outside the branch with the text, so it does not show which branch was continued.
pub(super) fn is_by_openclaw(message: &Members<'_>) -> bool {
    matches!(message.name("model").as_deref(), Some("delivery-mirror" | "gateway-injected"))
}

/// Returns a digest of the part of a text that OpenClaw delivers: without thoughts and without a mark such as
/// `[[reply_to_current]]`.
pub(super) fn delivered(text: &str) -> Digest {
    let text = text.rsplit_once("<final>").map_or(text, |(_, answer)| answer);
    let text = text.split("</final>").next().unwrap_or(text).trim_start();
    let unmarked = text.strip_prefix("[[").and_then(|rest| rest.split_once("]]"));
    Digest::of_text(unmarked.map_or(text, |(_, rest)| rest).trim())
}

/// Returns, for each line, the index of the first line of its abandoned branch, or `None` if the line is in
/// no abandoned branch. Lines that several branches share are in one of them only: the main one, or else the last.
pub(super) fn abandoned(lines: &[Members<'_>]) -> Vec<Option<usize>> {
    let mut places = BTreeMap::new();
    let mut parents = Vec::with_capacity(lines.len());
    let (mut last, mut ends) = (None, Vec::new());
    for (place, line) in lines.iter().enumerate() {
        let known = line.name("parentId").and_then(|parent| places.get(&parent).copied());
        // An entry without a known parent follows the one before it.
        let parent = known.or(last);
        parents.push(parent);
        if let Some(id) = line.name("id").filter(|_| line.has("parentId")) {
            places.insert(id, place);
        }
        // A copy of a text that was delivered does not begin a branch.
        let is_copy = is_by_openclaw(&line.object("message"));
        if !is_copy || parent == last {
            last = Some(place);
        }
        ends.extend(last.filter(|_| !is_copy && line.has("parentId")));
    }
    ends.extend(last);
    let mut branches: Vec<Option<Option<usize>>> = vec![None; lines.len()];
    for end in ends.into_iter().rev() {
        let above = |place: &usize| parents.get(*place).copied().flatten().filter(|parent| parent < place);
        let path = std::iter::successors(Some(end), above);
        let path: Vec<_> = path.take_while(|place| matches!(branches.get(*place), Some(None))).collect();
        let first = path.last().copied().filter(|_| Some(end) != last);
        for place in path {
            branches.get_mut(place).into_iter().for_each(|branch| *branch = Some(first));
        }
    }
    // Other lines are in the branch of their parent.
    let mut roots: Vec<Option<usize>> = Vec::with_capacity(lines.len());
    for (branch, parent) in branches.into_iter().zip(parents) {
        let inherited = || parent.and_then(|parent| roots.get(parent).copied().flatten());
        let root = branch.unwrap_or_else(inherited);
        roots.push(root);
    }
    roots
}

/// Returns true if the text of a result is longer in the first of these lines.
pub(super) fn is_longer(first: &Members<'_>, copy: &Members<'_>) -> bool {
    let size =
        |line: &Members<'_>| line.object("message").get("content").map(|content| content.bytes().len());
    size(first) > size(copy)
}
