//! Free places of calls.

use std::collections::BTreeSet;

use super::request::Request;

/// The place of a call: its request, and its index in the output.
pub(super) type Place = (usize, usize);

/// Takes the first free call of the last request that began before a time.
pub(super) fn latest(
    requests: &[Request<'_>],
    places: &mut BTreeSet<Place>,
    taken: &BTreeSet<Place>,
    time: u64,
) -> Option<Place> {
    let began = requests.partition_point(|request| request.start <= time);
    let last = loop {
        // Clocks of several machines differ: if none began before, take the first.
        let last = match places.range(..(began, 0)).next_back() {
            Some(last) => *last,
            None => *places.first()?,
        };
        if !taken.contains(&last) {
            break last;
        }
        places.remove(&last);
    };
    if last.0 >= began {
        return Some(last);
    }
    let start = requests.get(last.0).map_or(0, |request| request.start);
    let first = requests.partition_point(|request| request.start < start);
    first_free(places, (first, 0), last, taken)
}

/// Finds the first free place in a range. Taken places before it are dropped.
pub(super) fn first_free(
    places: &mut BTreeSet<Place>,
    first: Place,
    last: Place,
    taken: &BTreeSet<Place>,
) -> Option<Place> {
    loop {
        let next = *places.range(first..=last).next()?;
        if !taken.contains(&next) {
            return Some(next);
        }
        places.remove(&next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_places_are_found_within_a_range() {
        let mut places: BTreeSet<Place> = [(0, 0), (1, 0), (1, 1), (1, 2), (2, 0)].into();
        let taken: BTreeSet<Place> = [(0, 0), (1, 0), (1, 1)].into();
        let free = first_free(&mut places, (1, 0), (1, usize::MAX), &taken);
        assert_eq!(free, Some((1, 2)));
        assert_eq!(places, [(0, 0), (1, 2), (2, 0)].into());
        assert_eq!(first_free(&mut places, (0, 0), (0, usize::MAX), &taken), None);
    }
}
