//! Calls for which no span has been found yet.

use super::prelude::*;

/// The index of a request, and of a call in its output.
pub(crate) type Place = (usize, usize);

/// A lookup key for calls. `true` restricts it to calls without an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum By<'r> {
    Id(&'r str),
    Content(bool, &'r str, Digest),
    Name(bool, &'r str),
}

/// The open calls of requests, which must be sorted by start.
pub(crate) struct OpenCalls<'r, 's> {
    requests: &'r [Request<'s>],
    /// May still hold taken places, which are removed when they are next found.
    places: BTreeMap<By<'r>, BTreeSet<Place>>,
    taken: BTreeSet<Place>,
}

impl<'r, 's> OpenCalls<'r, 's> {
    pub(crate) fn new(requests: &'r [Request<'s>]) -> Self {
        Self { requests, places: BTreeMap::new(), taken: BTreeSet::new() }
    }

    pub(crate) fn add(&mut self, by: By<'r>, place: Place) {
        self.places.entry(by).or_default().insert(place);
    }

    /// Takes the first open call of the last request that has one and began at or before this time.
    pub(crate) fn take_latest(&mut self, by: &By<'r>, time: u64) -> Option<Place> {
        let began = self.requests.partition_point(|request| request.start <= time);
        let places = self.places.get_mut(by)?;
        let last = loop {
            // Clocks may differ between machines: if all such requests began later, take the first.
            let before = places.range(..(began, 0)).next_back();
            let last = *before.or(places.first())?;
            if !self.taken.contains(&last) {
                break last;
            }
            places.remove(&last);
        };
        if last.0 >= began {
            self.taken.insert(last);
            return Some(last);
        }
        let start = self.requests.get(last.0).map_or(0, |request| request.start);
        let first = self.requests.partition_point(|request| request.start < start);
        self.take_first(by, (first, 0), last)
    }

    /// Takes the first open call in a range.
    pub(crate) fn take_first(&mut self, by: &By<'r>, first: Place, last: Place) -> Option<Place> {
        let places = self.places.get_mut(by)?;
        loop {
            let next = *places.range(first..=last).next()?;
            if self.taken.insert(next) {
                return Some(next);
            }
            places.remove(&next);
        }
    }
}
