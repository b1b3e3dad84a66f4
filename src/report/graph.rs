//! Graphs of transitions, and heat maps, as SVG.

use super::axis::{MARGIN, WIDTH};
use super::colours::Colour;
use super::draw::{Pen, count, fill, label, line, note, number, small, stroke};
use super::markup::Markup;
use super::wrap::shortened;

/// A graph of transitions between kinds of events, which are placed in order around a circle.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GraphChart {
    pub(super) nodes: Vec<GraphNode>,
    pub(super) edges: Vec<GraphEdge>,
    /// The share that gets the widest edge.
    pub(super) widest: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct GraphNode {
    pub(super) label: String,
    pub(super) kind: GraphNodeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GraphNodeKind {
    Agent,
    Tool,
    User,
    UserTool,
}

/// A transition between nodes, given by their indices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GraphEdge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) share: f64,
    pub(super) contrast: GraphContrast,
}

/// How the share of an edge differs from its mean share in the other groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GraphContrast {
    Similar,
    Less,
    More,
}

/// A heat map: a value in [0, 1] for each row and column, which have the same names. `None` is left blank.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HeatChart {
    pub(super) names: Vec<String>,
    pub(super) values: Vec<Vec<Option<f64>>>,
}

const CENTRE: (f64, f64) = (WIDTH / 2.0, 124.0);
const RADIUS: f64 = 90.0;
const NODE: f64 = 8.0;

/// Maximum width in columns of a label, except at the top and bottom of the circle.
const LABEL: usize = 14;

type Point = (f64, f64);

/// Returns the point at this many units from `from`, in the direction of `to`.
fn towards(from: Point, to: Point, units: f64) -> Point {
    let (x, y) = (to.0 - from.0, to.1 - from.1);
    let length = x.hypot(y).max(1e-9);
    (from.0 + units * x / length, from.1 + units * y / length)
}

fn turned((x, y): Point, around: Point, angle: f64) -> Point {
    let (sin, cos) = angle.sin_cos();
    let (dx, dy) = (x - around.0, y - around.1);
    (around.0 + dx * cos - dy * sin, around.1 + dx * sin + dy * cos)
}

fn place(index: usize, nodes: usize) -> Point {
    let angle = std::f64::consts::TAU * count(index) / count(nodes.max(1));
    turned((CENTRE.0, CENTRE.1 - RADIUS), CENTRE, angle)
}

pub(super) fn graph(markup: &mut Markup, chart: &GraphChart) -> f64 {
    let mut edges: Vec<&GraphEdge> = chart.edges.iter().collect();
    // Highlighted edges are drawn above the others, and narrow ones above wide ones.
    edges.sort_by(|a, b| {
        let rank = |edge: &GraphEdge| edge.contrast != GraphContrast::Similar;
        rank(a).cmp(&rank(b)).then(b.share.total_cmp(&a.share))
    });
    for edge in edges {
        let width = 1.0 + 7.0 * (edge.share / chart.widest.max(1e-9)).clamp(0.0, 1.0);
        let ends = (place(edge.from, chart.nodes.len()), place(edge.to, chart.nodes.len()));
        draw_edge(markup, ends, pen(edge.contrast, width));
    }
    for (index, node) in chart.nodes.iter().enumerate() {
        let (x, y) = place(index, chart.nodes.len());
        mark_node(markup, node.kind, (x, y));
        let text = shortened(&node.label, LABEL);
        if (x - CENTRE.0).abs() < 12.0 {
            let below = if y > CENTRE.1 { 22.0 } else { -14.0 };
            small(markup, "middle", (x, y + below), &shortened(&node.label, 40));
        } else if x > CENTRE.0 {
            small(markup, "start", (x + 13.0, y + 4.0), &text);
        } else {
            small(markup, "end", (x - 13.0, y + 4.0), &text);
        }
    }
    graph_legend(markup, chart, CENTRE.1 + RADIUS + 44.0)
}

fn pen(contrast: GraphContrast, width: f64) -> Pen {
    match contrast {
        GraphContrast::Similar => Pen(Colour::Soft, width, "none"),
        GraphContrast::Less => Pen(Colour::Blue, width, "5 3"),
        GraphContrast::More => Pen(Colour::Orange, width, "none"),
    }
}

/// Draws a curved arrow, or a loop inside the circle if both ends are the same.
fn draw_edge(markup: &mut Markup, (from, to): (Point, Point), pen: Pen) {
    let Pen(colour, width, _) = pen;
    let head = 5.0 + width;
    let is_loop = (from.0 - to.0).abs() + (from.1 - to.1).abs() < 1e-6;
    let [first, last] = if is_loop {
        let inwards = towards(from, CENTRE, 46.0);
        [turned(inwards, from, 0.55), turned(inwards, from, -0.55)]
    } else {
        let middle = (f64::midpoint(from.0, to.0), f64::midpoint(from.1, to.1));
        [(middle.0 + 0.16 * (to.1 - from.1), middle.1 - 0.16 * (to.0 - from.0)); 2]
    };
    let start = towards(from, first, NODE + 1.0);
    let tip = towards(to, last, NODE + 3.0);
    let foot = towards(to, last, NODE + 3.0 + head);
    let point = |(x, y): Point| format!("{},{}", number(x), number(y));
    let path = format!("M{}C{} {} {}", point(start), point(first), point(last), point(foot));
    stroke(markup, "path", pen, None, &[("d", &path)]);
    let half = 2.5 + width / 2.0;
    let side = |angle: f64| turned(towards(foot, tip, half), foot, angle);
    let quarter = std::f64::consts::FRAC_PI_2;
    let points = [point(tip), point(side(quarter)), point(side(-quarter))].join(" ");
    fill(markup, "polygon", colour, &[("points", &points)]);
}

fn mark_node(markup: &mut Markup, kind: GraphNodeKind, (x, y): Point) {
    let (shape, colour) = match kind {
        GraphNodeKind::Agent => ("M-8,0a8,8 0 1,0 16,0a8,8 0 1,0 -16,0", Colour::Blue),
        GraphNodeKind::Tool => ("M-7,-7h14v14h-14z", Colour::Green),
        GraphNodeKind::User => ("M0,-9L9,0L0,9L-9,0z", Colour::Violet),
        GraphNodeKind::UserTool => ("M-7,-7h14v14h-14z", Colour::Violet),
    };
    let place = format!("translate({},{})", number(x), number(y));
    let shape = [("d", shape), ("transform", place.as_str())];
    stroke(markup, "path", Pen(Colour::Paper, 1.5, "none"), Some(colour), &shape);
}

/// Draws the legend for the kinds of nodes and edges in the graph. Returns its lower end.
fn graph_legend(markup: &mut Markup, chart: &GraphChart, mut y: f64) -> f64 {
    let kinds = [
        (GraphNodeKind::Agent, "agent's message"),
        (GraphNodeKind::Tool, "agent's call"),
        (GraphNodeKind::User, "user's message"),
        (GraphNodeKind::UserTool, "user's call"),
    ];
    let shown = kinds.iter().filter(|(kind, _)| chart.nodes.iter().any(|node| node.kind == *kind));
    for (number, (kind, text)) in shown.enumerate() {
        let x = MARGIN + 9.0 + if number % 2 == 1 { 140.0 } else { 0.0 };
        y += if number > 0 && number % 2 == 0 { 20.0 } else { 0.0 };
        mark_node(markup, *kind, (x, y - 4.0));
        note(markup, "start", (x + 15.0, y), text);
    }
    let contrasts = [
        (GraphContrast::Similar, "share of transitions, as wide as it is large"),
        (GraphContrast::More, "larger share than in the other groups"),
        (GraphContrast::Less, "smaller share than in the other groups"),
    ];
    for (contrast, text) in contrasts {
        if chart.edges.iter().any(|edge| edge.contrast == contrast) {
            y += 18.0;
            line(markup, pen(contrast, 3.0), (MARGIN, y - 4.0), (MARGIN + 26.0, y - 4.0));
            note(markup, "start", (MARGIN + 34.0, y), text);
        }
    }
    y + 10.0
}

pub(super) fn heat(markup: &mut Markup, chart: &HeatChart) -> f64 {
    const LEFT: f64 = 128.0;
    const TOP: f64 = 36.0;
    let columns = count(chart.names.len().max(1));
    let cell = ((WIDTH - MARGIN - LEFT) / columns).min(30.0);
    label(markup, "start", (LEFT, 12.0), "next event (numbers as in the rows)");
    for (row, name) in chart.names.iter().enumerate() {
        let middle = TOP + cell * (count(row) + 0.5);
        note(markup, "middle", (LEFT + cell * (count(row) + 0.5), TOP - 6.0), &(row + 1).to_string());
        let name = format!("{} {}", shortened(name, LABEL), row + 1);
        small(markup, "end", (LEFT - 8.0, middle + 4.0), &name);
        for (column, value) in chart.values.get(row).into_iter().flatten().enumerate() {
            let Some(value) = value else { continue };
            let (x, y) = (LEFT + cell * count(column), TOP + cell * count(row));
            let opacity = number(0.06 + 0.5 * value.clamp(0.0, 1.0));
            let [left, top, side] = [x + 0.5, y + 0.5, cell - 1.0].map(number);
            let shape = [("x", left.as_str()), ("y", &top), ("width", &side), ("height", &side)];
            fill(markup, "rect", Colour::Blue, &[&shape[..], &[("fill-opacity", &opacity)]].concat());
            if *value >= 0.005 && cell >= 20.0 {
                let text = format!("{:.0}", 100.0 * value);
                small(markup, "middle", (x + cell / 2.0, middle + 4.0), &text);
            }
        }
    }
    TOP + cell * columns + 8.0
}
