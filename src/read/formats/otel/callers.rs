//! Finds the run that started each run.

use std::collections::BTreeMap;

use super::tree::{MOST_AROUND, Owner, Tree};

/// Finds the callers of runs, with a cache of intermediate results.
pub(super) struct Callers<'t, 's, 'a> {
    tree: &'t Tree<'s, 'a>,
    /// The indexes of owners that have steps.
    owners: BTreeMap<&'t Owner, usize>,
    /// For owners without steps, the nearest enclosing owner with steps, and the distance to it.
    nearest: BTreeMap<Owner, Option<(usize, usize)>>,
}

impl<'t, 's, 'a> Callers<'t, 's, 'a> {
    /// Among these owners.
    pub(super) fn new(tree: &'t Tree<'s, 'a>, owners: impl Iterator<Item = &'t Owner>) -> Self {
        let owners = owners.enumerate().map(|(number, owner)| (owner, number)).collect();
        Self { tree, owners, nearest: BTreeMap::new() }
    }

    /// Returns the index of the owner whose run started an owner's run: the nearest enclosing one with steps.
    pub(super) fn caller(&mut self, owner: &Owner) -> Option<usize> {
        let (caller, distance) = self.nearest(self.tree.owner_around(owner)?)?;
        (distance < MOST_AROUND && self.owners.get(owner) != Some(&caller)).then_some(caller)
    }

    /// Returns the nearest owner with steps, from this one outwards.
    fn nearest(&mut self, first: Owner) -> Option<(usize, usize)> {
        let mut found = None;
        let mut path = Vec::new();
        let mut next = Some(first);
        while let Some(owner) = next {
            if let Some(number) = self.owners.get(&owner) {
                found = Some((*number, 0));
                break;
            }
            if let Some(known) = self.nearest.get(&owner) {
                found = *known;
                break;
            }
            next = self.tree.owner_around(&owner);
            // A cycle leads nowhere.
            self.nearest.insert(owner.clone(), None);
            path.push(owner);
        }
        for owner in path.into_iter().rev() {
            found = found.map(|(number, distance)| (number, distance + 1));
            self.nearest.insert(owner, found);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::Span;
    use super::*;

    /// Agents of different names inside one another.
    fn nested(many: usize) -> Vec<Span<'static>> {
        let span = |number: usize| Span {
            span_id: number.to_string().into(),
            parent: number.checked_sub(1).map(|parent| parent.to_string().into()),
            name: format!("agent {number}").into(),
            ..Span::default()
        };
        (0..many)
            .map(|number| span(number).with_attributes(&[("openinference.span.kind", "AGENT")]))
            .collect()
    }

    #[test]
    fn the_caller_is_the_nearest_with_steps() {
        let spans = nested(6);
        let tree = Tree::new(&spans);
        let owners = [Owner::Trace, Owner::Agent(1), Owner::Agent(4)];
        let mut callers = Callers::new(&tree, owners.iter());
        let found: Vec<_> = (0..6).rev().map(|at| callers.caller(&Owner::Agent(at))).collect();
        assert_eq!(found, [Some(2), Some(1), Some(1), Some(1), Some(0), Some(0)]);
        assert_eq!(callers.caller(&Owner::Trace), None);
    }

    #[test]
    fn callers_are_not_looked_for_without_end() {
        let spans = nested(MOST_AROUND + 3);
        let tree = Tree::new(&spans);
        let owners = [Owner::Agent(0)];
        let mut callers = Callers::new(&tree, owners.iter());
        assert_eq!(callers.caller(&Owner::Agent(MOST_AROUND + 2)), None);
        assert_eq!(callers.caller(&Owner::Agent(MOST_AROUND + 1)), None);
        assert_eq!(callers.caller(&Owner::Agent(MOST_AROUND)), Some(0));
        assert_eq!(callers.caller(&Owner::Agent(0)), None);
    }
}
