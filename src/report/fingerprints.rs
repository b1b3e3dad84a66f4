//! Renders the behaviour of groups of runs: graphs of transitions, heat maps and distances.

use std::collections::BTreeMap;

use super::cell::{Cell, counted};
use super::chart::{Chart, Plot};
use super::document::{Detail, Document};
use super::graph::{GraphChart, GraphContrast, GraphEdge, GraphNode, GraphNodeKind, HeatChart};
use super::table::Table;
use crate::compare::{FingerprintDistance, FingerprintGroup, FingerprintGroups};
use crate::fingerprint::{Fingerprint, Node};
use crate::stats::{float, ratio};

/// Maximum number of kinds of events with their own node; the others share one.
const NODES: usize = 11;

/// Maximum number of groups for which the short text shows the differences.
const FEW: usize = 5;

/// Maximum number of distances in the short text.
const DISTANCES: usize = 10;

/// Maximum number of groups that are drawn.
const DRAWN: usize = 12;

/// The smallest difference between shares that is highlighted.
const CONTRAST: f64 = 0.01;

/// Edges with a smaller share are not drawn unless they are highlighted.
const FAINT: f64 = 0.005;

/// Maximum number of transitions per group in the table of differences.
const DIFFERENCES: usize = 5;

/// Returns the behaviour of groups as a document: distances, the transitions that differ most, all
/// transitions, and a graph and a heat map for each of the first 12 groups. `by` names what the runs are
/// grouped by, such as `model`.
#[must_use]
pub fn fingerprint_document(found: &FingerprintGroups, by: &str) -> Document {
    let mut document = Document::new(format!("Transitions between events, by {by}"));
    document.lead(lead(found, by));
    document.section("Distances").table(distances(found, DISTANCES));
    if found.distances.len() > DISTANCES {
        document.detail(Detail::Full).table(distances(found, usize::MAX));
    }
    document.detail(if found.groups.len() > FEW { Detail::Full } else { Detail::Short });
    document.section("Differences").table(differences(found));
    document.detail(Detail::Full).section("Groups").table(transitions(found)).detail(Detail::Short);
    let nodes = Nodes::of(&found.groups);
    let widest = found
        .groups
        .iter()
        .flat_map(|group| nodes.shares(&group.fingerprint).into_values())
        .fold(0.0, f64::max);
    for group in found.groups.iter().take(DRAWN) {
        document.chart(graph(found, group, &nodes, widest));
        document.chart(heat(group, &nodes));
    }
    if found.groups.len() > DRAWN {
        document.paragraph(format!("Further groups, not drawn: {}.", found.groups.len() - DRAWN));
    }
    document
}

fn lead(found: &FingerprintGroups, by: &str) -> String {
    let runs = found.groups.iter().map(|group| group.runs).sum();
    let groups = counted(found.groups.len() as u64, "group");
    let start = format!("{} in {groups} by {by}.", counted(runs, "run"));
    let Some(FingerprintDistance { groups: [one, other], distance, by_chance, tasks, .. }) =
        by_comparability(found).into_iter().next()
    else {
        return start;
    };
    let chance = by_chance
        .map_or_else(String::new, |chance| format!(" (by chance {})", Cell::Interval(chance, 2).shown()));
    let apart = format!("{one} and {other}, distance {distance:.2}{chance}");
    if *tasks == 0 {
        return format!(
            "{start} No two groups share a task, so distances compare different tasks. The farthest apart are {apart}."
        );
    }
    let tasks = counted(*tasks, "shared task");
    format!("{start} Of the groups that share tasks, the farthest apart are {apart}, over {tasks}.")
}

/// Returns the distances between groups that share tasks, then all others, each in decreasing order.
fn by_comparability(found: &FingerprintGroups) -> Vec<&FingerprintDistance> {
    let (shared, apart): (Vec<_>, Vec<_>) = found.distances.iter().partition(|one| one.tasks > 0);
    shared.into_iter().chain(apart).collect()
}

fn distances(found: &FingerprintGroups, most: usize) -> Table {
    let all = by_comparability(found);
    let (name, title) = ("distances", "Distance between groups (Jensen–Shannon)");
    let first = most < all.len();
    let title = if first { format!("{title}: {most} of {} pairs", all.len()) } else { title.to_owned() };
    Table::of(if first { "distances_first" } else { name }, title, all.into_iter().take(most))
        .column("first", |one| Cell::text(&one.groups[0]))
        .column("second", |one| Cell::text(&one.groups[1]))
        .column("tasks #", |one| Cell::Count(one.tasks))
        .column("distance #", |one| Cell::Real(one.distance, 3))
        .column("by_chance=by chance, 95% ~ +", |one| {
            Cell::of(one.by_chance, |interval| Cell::Interval(interval, 3))
        })
        .column("p #", |one| Cell::of(one.p, Cell::P))
        .noted(format!(
            "0: the same transitions equally often, 1: no transition in common. tasks: the tasks that both groups \
             share. Only their runs are compared; pairs without a shared task come last, compared over all runs. p and \
             distance by chance: the runs of each task are shuffled between the groups ({} shuffles, seed {}).",
            found.resamples, found.seed
        ))
}

fn shares_of(fingerprint: &Fingerprint) -> impl Iterator<Item = (&Node, &Node, f64)> {
    let total = fingerprint.total();
    fingerprint.edges().map(move |(from, to, count)| (from, to, ratio(count, total).unwrap_or(0.0)))
}

/// Returns the share of each transition in a group, and its mean share in the other groups that have transitions.
fn contrasts<'f>(
    found: &'f FingerprintGroups,
    group: &'f FingerprintGroup,
) -> BTreeMap<(&'f Node, &'f Node), (f64, f64)> {
    let others: Vec<&FingerprintGroup> = found
        .groups
        .iter()
        .filter(|other| other.name != group.name && !other.fingerprint.is_empty())
        .collect();
    let mut shares: BTreeMap<(&Node, &Node), (f64, f64)> = BTreeMap::new();
    for (from, to, share) in shares_of(&group.fingerprint) {
        shares.entry((from, to)).or_default().0 = share;
    }
    for (from, to, share) in others.iter().flat_map(|other| shares_of(&other.fingerprint)) {
        shares.entry((from, to)).or_default().1 += share / float(others.len() as u64);
    }
    shares
}

fn differences(found: &FingerprintGroups) -> Table {
    let few = |group| {
        let mut contrasts: Vec<_> = contrasts(found, group).into_iter().collect();
        let gap = |(own, other): (f64, f64)| (own - other).abs();
        contrasts.retain(|(_, shares)| gap(*shares) >= CONTRAST);
        contrasts.sort_by(|(_, a), (_, b)| gap(*b).total_cmp(&gap(*a)));
        contrasts.into_iter().take(DIFFERENCES).map(move |one| (group, one))
    };
    let groups = found.groups.iter().filter(|_| found.groups.len() > 1).flat_map(few);
    Table::of("differences", "Transitions whose share differs most from that in the other groups", groups)
        .column("group", |(group, _)| Cell::text(&group.name))
        .column("from", |(_, ((from, _), _))| Cell::text(from.to_string()))
        .column("to", |(_, ((_, to), _))| Cell::text(to.to_string()))
        .column("share #", |(_, (_, (own, _)))| Cell::Share(*own))
        .column("others #", |(_, (_, (_, other)))| Cell::Share(*other))
        .grouped()
        .noted("share: of all transitions of the group. others: the mean share in the other groups.")
}

fn transitions(found: &FingerprintGroups) -> Table {
    let edges = found.groups.iter().flat_map(|group| {
        let mut edges: Vec<_> = group.fingerprint.edges().collect();
        edges.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
        edges.into_iter().map(move |edge| (group, edge))
    });
    Table::of("transitions", "Transitions of each group", edges)
        .column("group", |(group, _)| Cell::text(&group.name))
        .column("from", |(_, (from, ..))| Cell::text(from.to_string()))
        .column("to", |(_, (_, to, _))| Cell::text(to.to_string()))
        .column("count #", |(_, (.., count))| Cell::Count(*count))
        .column("share #", |(group, (.., count))| Cell::ratio(*count, group.fingerprint.total()))
        .grouped()
}

/// The nodes that every graph has: the most frequent events, and one for all others.
struct Nodes {
    shown: Vec<GraphNode>,
    places: BTreeMap<Node, usize>,
}

impl Nodes {
    fn of(groups: &[FingerprintGroup]) -> Self {
        let mut weights: BTreeMap<&Node, f64> = BTreeMap::new();
        for (from, to, share) in groups.iter().flat_map(|group| shares_of(&group.fingerprint)) {
            *weights.entry(from).or_default() += share;
            *weights.entry(to).or_default() += share;
        }
        let mut nodes: Vec<(&Node, f64)> = weights.into_iter().collect();
        nodes.sort_by(|a, b| b.1.total_cmp(&a.1));
        let rest = nodes.split_off(nodes.len().min(NODES));
        nodes.sort_by_key(|(node, _)| (kind(node), *node));
        let mut shown: Vec<GraphNode> =
            nodes.iter().map(|(node, _)| GraphNode { label: name(node), kind: kind(node) }).collect();
        let mut places: BTreeMap<Node, usize> =
            nodes.iter().enumerate().map(|(place, (node, _))| ((*node).clone(), place)).collect();
        if !rest.is_empty() {
            places.extend(rest.iter().map(|(node, _)| ((*node).clone(), shown.len())));
            let label = counted(rest.len() as u64, "other");
            shown.push(GraphNode { label, kind: GraphNodeKind::Tool });
        }
        Self { shown, places }
    }

    /// Sums the shares of a fingerprint's transitions by the indices of their nodes.
    fn shares(&self, fingerprint: &Fingerprint) -> BTreeMap<(usize, usize), f64> {
        let mut shares = BTreeMap::new();
        for (from, to, share) in shares_of(fingerprint) {
            if let (Some(from), Some(to)) = (self.places.get(from), self.places.get(to)) {
                *shares.entry((*from, *to)).or_default() += share;
            }
        }
        shares
    }
}

fn kind(node: &Node) -> GraphNodeKind {
    match node {
        Node::Agent => GraphNodeKind::Agent,
        Node::User => GraphNodeKind::User,
        Node::Tool(_) => GraphNodeKind::Tool,
        Node::UserTool(_) => GraphNodeKind::UserTool,
    }
}

fn name(node: &Node) -> String {
    match node {
        Node::Tool(name) | Node::UserTool(name) => name.clone(),
        node => node.to_string(),
    }
}

fn graph(found: &FingerprintGroups, group: &FingerprintGroup, nodes: &Nodes, widest: f64) -> Chart {
    let mut shares: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
    for ((from, to), (own, other)) in contrasts(found, group) {
        if let (Some(from), Some(to)) = (nodes.places.get(from), nodes.places.get(to)) {
            let sums = shares.entry((*from, *to)).or_default();
            *sums = (sums.0 + own, sums.1 + other);
        }
    }
    let mut edges = Vec::new();
    for ((from, to), (share, other)) in shares {
        let contrast = match share - other {
            _ if found.groups.len() < 2 => GraphContrast::Similar,
            more if more >= CONTRAST => GraphContrast::More,
            less if less <= -CONTRAST => GraphContrast::Less,
            _ => GraphContrast::Similar,
        };
        if share >= FAINT || contrast != GraphContrast::Similar {
            edges.push(GraphEdge { from, to, share, contrast });
        }
    }
    let caption = format!(
        "{}. Highlighted: shares that differ from their mean in the other groups by at least one percentage point. \
         Others below 0.5% are left out.",
        counted(group.runs, "run")
    );
    let plot = GraphChart { nodes: nodes.shown.clone(), edges, widest };
    Chart::new(format!("{}: transitions", group.name), caption, Plot::Graph(plot))
}

fn heat(group: &FingerprintGroup, nodes: &Nodes) -> Chart {
    let shares = nodes.shares(&group.fingerprint);
    let size = nodes.shown.len();
    let share = |from, to| shares.get(&(from, to)).copied().unwrap_or(0.0);
    let row = |from| {
        let sum: f64 = (0..size).map(|to| share(from, to)).sum();
        (0..size).map(|to| (sum > 0.0).then(|| share(from, to) / sum)).collect()
    };
    let plot = HeatChart {
        names: nodes.shown.iter().map(|node| node.label.clone()).collect(),
        values: (0..size).map(row).collect(),
    };
    let caption = "For each event (row), how often each event (column) follows it, in percent.";
    Chart::new(format!("{}: what follows", group.name), caption, Plot::Heat(plot))
}
