//! `strategy/unexplored_direction` (`strategy/unexplored_destination` in the public code): exits of a room
//! that were named but never tried, although the room was visited more than once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::super::Definition;
use super::rooms::{Direction, direction_of_action, exits};
use super::{ModeEpisode, ModeFinding, ModeVerdict};

struct Visited<'e> {
    /// Its name as first seen.
    name: &'e str,
    /// The first step that names each exit.
    named: BTreeMap<Direction, i64>,
    tried: BTreeSet<Direction>,
    visits: u64,
}

/// Returns at most one finding per room, in the order of first appearance.
pub(super) fn verdict(episode: &ModeEpisode, definition: Definition) -> ModeVerdict {
    let paper = definition == Definition::Paper;
    let rooms = if paper { episode.current_rooms() } else { episode.headed_rooms() };
    let Some(last) = episode.trajectory.last().filter(|_| rooms.iter().any(Option::is_some)) else {
        return if paper {
            ModeVerdict::not_applicable("no room headings")
        } else {
            ModeVerdict::of(Vec::new())
        };
    };
    let mut visited: Vec<Visited<'_>> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut before: Option<usize> = None;
    let mut any_exit = false;
    for (step, room) in episode.trajectory.iter().zip(&rooms) {
        let Some(room) = room else { continue };
        let ways = exits(&step.obs);
        any_exit |= !ways.is_empty();
        // The paper ignores case, and counts consecutive steps in a room as one visit.
        let key = if paper { room.to_lowercase() } else { room.clone() };
        let place = *places.entry(key).or_insert_with(|| {
            visited.push(Visited { name: room, named: BTreeMap::new(), tried: BTreeSet::new(), visits: 0 });
            visited.len() - 1
        });
        let Some(here) = visited.get_mut(place) else { continue };
        here.visits += u64::from(!paper || before != Some(place));
        before = Some(place);
        for way in ways {
            here.named.entry(way).or_insert(step.step);
        }
        here.tried.extend(step.action.as_deref().and_then(direction_of_action));
    }
    if paper && !any_exit {
        return ModeVerdict::not_applicable("observations name no exits");
    }
    let findings = visited.iter().filter(|room| room.visits >= 2).filter_map(|room| {
        let missed = || room.named.iter().filter(|(way, _)| !room.tried.contains(*way));
        let directions: Vec<Direction> = missed().map(|(way, _)| *way).collect();
        let first = missed().map(|(_, step)| *step).min()?;
        let (mode, end) = if paper {
            ("strategy/unexplored_direction", last.step)
        } else {
            ("strategy/unexplored_destination", first)
        };
        let evidence = json!({"room": room.name, "directions": directions, "visits": room.visits});
        Some(ModeFinding { mode, range: [first, end], evidence })
    });
    ModeVerdict::of(findings.collect())
}
