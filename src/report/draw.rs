//! Draws charts, with presentation attributes that every SVG viewer supports.

use super::axis::{Axis, MARGIN, WIDTH};
use super::chart::{BarChart, IntervalChart, IntervalRow, LineChart};
use super::colours::Colour;
use super::markup::Markup;
use super::wrap::{shortened, width};
use crate::stats::Interval;

/// A stroke: colour, width and dashes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pen(pub(super) Colour, pub(super) f64, pub(super) &'static str);

const GRID: Pen = Pen(Colour::Rule, 1.0, "none");
const REFERENCE: Pen = Pen(Colour::Ink, 1.2, "4 3");
const INTERVAL: Pen = Pen(Colour::Blue, 2.0, "none");
const OTHER: Pen = Pen(Colour::Soft, 1.5, "2 2");
const BASELINE: Pen = Pen(Colour::Orange, 3.0, "none");

pub(super) fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| "undefined".to_owned(), |value| format!("{value:.2}"))
}

/// Formats a coordinate with two decimals, finer than any screen. A value that is not finite becomes 0.
pub(super) fn number(value: f64) -> String {
    let value = if value.is_finite() { value } else { 0.0 };
    format!("{:.2}", value + 0.0)
}

pub(super) fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::from(u32::MAX), f64::from)
}

pub(super) fn fill(markup: &mut Markup, tag: &'static str, colour: Colour, shape: &[(&'static str, &str)]) {
    let (hex, class) = (colour.light(), colour.class('f'));
    let mut attributes = shape.to_vec();
    attributes.extend([("fill", hex), ("class", &class)]);
    markup.shape(tag, &attributes);
}

pub(super) fn stroke(
    markup: &mut Markup,
    tag: &'static str,
    Pen(colour, width, dash): Pen,
    inside: Option<Colour>,
    shape: &[(&'static str, &str)],
) {
    let (hex, class) = (colour.light(), colour.class('s'));
    let fill = inside.map_or("none", Colour::light);
    let fill_class = inside.map(|inside| inside.class('f')).unwrap_or_default();
    let (classes, width) = (format!("{class} {fill_class}"), number(width));
    let mut attributes = shape.to_vec();
    attributes.extend([
        ("stroke", hex),
        ("stroke-width", &width),
        ("fill", fill),
        ("class", classes.trim_end()),
    ]);
    if dash != "none" {
        attributes.push(("stroke-dasharray", dash));
    }
    markup.shape(tag, &attributes);
}

pub(super) fn line(markup: &mut Markup, pen: Pen, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(number);
    stroke(markup, "line", pen, None, &[("x1", &x1), ("y1", &y1), ("x2", &x2), ("y2", &y2)]);
}

pub(super) fn label(markup: &mut Markup, anchor: &str, at: (f64, f64), text: &str) {
    write(markup, Colour::Ink, ("12", "normal"), anchor, at, text);
}

pub(super) fn small(markup: &mut Markup, anchor: &str, at: (f64, f64), text: &str) {
    write(markup, Colour::Ink, ("11", "normal"), anchor, at, text);
}

pub(super) fn note(markup: &mut Markup, anchor: &str, at: (f64, f64), text: &str) {
    write(markup, Colour::Soft, ("11", "normal"), anchor, at, text);
}

fn write(
    markup: &mut Markup,
    colour: Colour,
    (size, weight): (&str, &str),
    anchor: &str,
    (x, y): (f64, f64),
    text: &str,
) {
    let (hex, class) = (colour.light(), colour.class('f'));
    let (x, y) = (number(x), number(y));
    let mut attributes = vec![("x", x.as_str()), ("y", &y), ("text-anchor", anchor), ("fill", hex)];
    attributes.extend([("class", class.as_str()), ("font-size", size)]);
    if weight != "normal" {
        attributes.push(("font-weight", weight));
    }
    markup.leaf("text", &attributes, text);
}

/// Draws the scale with its label under the rows. Returns its lower end.
fn scale_under(markup: &mut Markup, axis: &Axis, bottom: f64, text: &str) -> f64 {
    for tick in axis.ticks() {
        line(markup, GRID, (axis.at(tick), bottom), (axis.at(tick), bottom + 4.0));
        note(markup, "middle", (axis.at(tick), bottom + 16.0), &axis.label(tick));
    }
    label(markup, "middle", (WIDTH / 2.0, bottom + 32.0), text);
    bottom + 40.0
}

/// Draws the label of a row, shortened to leave room for the note on its right.
fn row_head(markup: &mut Markup, y: f64, text: &str, at_right: &str, weight: &str) {
    let at_right = shortened(at_right, 40);
    let text = shortened(text, 58_usize.saturating_sub(width(&at_right)));
    write(markup, Colour::Ink, ("12", weight), "start", (MARGIN, y), &text);
    note(markup, "end", (WIDTH - MARGIN, y), &at_right);
}

pub(super) fn intervals(markup: &mut Markup, chart: &IntervalChart) -> f64 {
    const ROW: f64 = 36.0;
    let ends = |interval: Option<Interval>| interval.into_iter().flat_map(|i| [i.low, i.high]);
    let values = chart
        .rows
        .iter()
        .flat_map(|row| ends(row.interval).chain(ends(row.other)).chain(row.estimate).chain(row.baseline));
    let scale = match chart.range {
        Some((from, to)) => Axis::between(from, to),
        None => Axis::fitting(values.chain(chart.reference)),
    };
    let bottom = 6.0 + ROW * count(chart.rows.len());
    for (place, row) in chart.rows.iter().enumerate() {
        let top = 6.0 + ROW * count(place);
        // Lines begin below the label.
        for tick in scale.ticks() {
            line(markup, GRID, (scale.at(tick), top + 19.0), (scale.at(tick), top + ROW));
        }
        if let Some(reference) = chart.reference {
            line(markup, REFERENCE, (scale.at(reference), top + 19.0), (scale.at(reference), top + ROW));
        }
        row_head(markup, top + 14.0, &row.label, &row.note, if row.pooled { "bold" } else { "normal" });
        interval_row(markup, row, &scale, top + 26.0);
    }
    let bottom = scale_under(markup, &scale, bottom, &chart.axis);
    legend(markup, chart, bottom)
}

fn interval_row(markup: &mut Markup, row: &IntervalRow, scale: &Axis, middle: f64) {
    if let Some(other) = row.other {
        line(markup, OTHER, (scale.at(other.low), middle + 5.0), (scale.at(other.high), middle + 5.0));
    }
    if let (true, Some(interval), Some(estimate)) = (row.pooled, row.interval, row.estimate) {
        let points = [
            (scale.at(interval.low), middle),
            (scale.at(estimate), middle - 6.0),
            (scale.at(interval.high), middle),
            (scale.at(estimate), middle + 6.0),
        ];
        let points = points.map(|(x, y)| format!("{},{}", number(x), number(y))).join(" ");
        fill(markup, "polygon", Colour::Orange, &[("points", &points)]);
        return;
    }
    mark_interval(markup, row.interval.map(|i| (scale.at(i.low), scale.at(i.high))), middle);
    if let Some(estimate) = row.estimate {
        mark_point(markup, (scale.at(estimate), middle));
    }
    if let Some(baseline) = row.baseline {
        let x = scale.at(baseline);
        line(markup, BASELINE, (x, middle - 8.0), (x, middle + 8.0));
    }
}

fn mark_interval(markup: &mut Markup, ends: Option<(f64, f64)>, middle: f64) {
    let Some((low, high)) = ends else { return };
    line(markup, INTERVAL, (low, middle), (high, middle));
    line(markup, INTERVAL, (low, middle - 4.0), (low, middle + 4.0));
    line(markup, INTERVAL, (high, middle - 4.0), (high, middle + 4.0));
}

fn mark_point(markup: &mut Markup, (x, y): (f64, f64)) {
    fill(markup, "circle", Colour::Blue, &[("cx", &number(x)), ("cy", &number(y)), ("r", "4")]);
}

/// Draws the legend of an interval chart: its marks and their meanings. Returns the legend's lower end.
fn legend(markup: &mut Markup, chart: &IntervalChart, mut y: f64) -> f64 {
    let (left, right) = (MARGIN, MARGIN + 24.0);
    let mut entry = |markup: &mut Markup, text: &str, mark: &dyn Fn(&mut Markup, f64)| {
        if !text.is_empty() {
            mark(markup, y + 6.0);
            note(markup, "start", (right + 8.0, y + 10.0), text);
            y += 16.0;
        }
    };
    let has = |which: fn(&IntervalRow) -> bool| chart.rows.iter().any(which);
    entry(markup, &chart.interval, &|markup, y| {
        mark_interval(markup, Some((left, right)), y);
        mark_point(markup, (f64::midpoint(left, right), y));
    });
    let other = if has(|row| row.other.is_some()) { chart.other.as_str() } else { "" };
    entry(markup, other, &|markup, y| line(markup, OTHER, (left, y), (right, y)));
    let pooled = if has(|row| row.pooled) { "pooled over the rows above (random effects)" } else { "" };
    entry(markup, pooled, &|markup, y| {
        let middle = f64::midpoint(left, right);
        let points = format!("{left},{y} {middle},{} {right},{y} {middle},{}", y - 5.0, y + 5.0);
        fill(markup, "polygon", Colour::Orange, &[("points", &points)]);
    });
    let baseline = if has(|row| row.baseline.is_some()) { chart.baseline.as_str() } else { "" };
    entry(markup, baseline, &|markup, y| {
        let middle = f64::midpoint(left, right);
        line(markup, BASELINE, (middle, y - 6.0), (middle, y + 6.0));
    });
    y + 4.0
}

/// The marks of lines, as paths around the origin.
const MARKS: [&str; 4] =
    ["M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0", "M-4,-4h8v8h-8z", "M0,-5L5,4H-5z", "M0,-5L5,0L0,5L-5,0z"];

pub(super) fn lines(markup: &mut Markup, chart: &LineChart) -> f64 {
    const TOP: f64 = 24.0;
    const BOTTOM: f64 = 224.0;
    let left = MARGIN + 28.0;
    let places = chart.places.len();
    let x = |place: usize| {
        let width = WIDTH - MARGIN - 12.0 - left;
        left + 6.0 + if places > 1 { (width - 6.0) * count(place) / count(places - 1) } else { width / 2.0 }
    };
    let y = |value: f64| BOTTOM - value.clamp(0.0, 1.0) * (BOTTOM - TOP);
    label(markup, "start", (MARGIN, 12.0), &chart.measure);
    for tick in [0.0, 0.25, 0.5, 0.75, 1.0] {
        line(markup, GRID, (left, y(tick)), (WIDTH - MARGIN, y(tick)));
        note(markup, "end", (left - 4.0, y(tick) + 4.0), &format!("{tick:.2}"));
    }
    let every = places.div_ceil(8).max(1);
    for (place, text) in chart.places.iter().enumerate().step_by(every) {
        note(markup, "middle", (x(place), BOTTOM + 16.0), &shortened(text, 12));
    }
    label(markup, "middle", (WIDTH / 2.0, BOTTOM + 32.0), &chart.axis);
    let mut legend = BOTTOM + 52.0;
    for (index, one) in chart.lines.iter().enumerate() {
        let colour = Colour::SERIES.get(index % Colour::SERIES.len()).copied().unwrap_or(Colour::Ink);
        let dash = if (index / 4) % 2 == 1 { "6 3" } else { "none" };
        let mut path = String::new();
        let mut pen_down = false;
        for (place, value) in one.values.iter().take(places).enumerate() {
            if let Some(value) = value {
                let command = if pen_down { 'L' } else { 'M' };
                path += &format!("{command}{},{}", number(x(place)), number(y(*value)));
            }
            pen_down = value.is_some();
        }
        if !path.is_empty() {
            stroke(markup, "path", Pen(colour, 2.0, dash), None, &[("d", &path)]);
        }
        let mark = MARKS.get(index % MARKS.len()).copied().unwrap_or_default();
        let put = |markup: &mut Markup, at_x: f64, at_y: f64| {
            let place = format!("translate({},{})", number(at_x), number(at_y));
            let shape = [("d", mark), ("transform", place.as_str())];
            stroke(markup, "path", Pen(colour, 1.5, "none"), Some(Colour::Paper), &shape);
        };
        for (place, value) in one.values.iter().take(places).enumerate() {
            if let Some(value) = value {
                put(markup, x(place), y(*value));
            }
        }
        put(markup, MARGIN + 8.0, legend - 4.0);
        let last = one.values.iter().rev().flatten().next().copied();
        label(markup, "start", (MARGIN + 20.0, legend), &shortened(&one.label, 46));
        note(markup, "end", (WIDTH - MARGIN, legend), &shown(last));
        legend += 18.0;
    }
    legend
}

pub(super) fn bars(markup: &mut Markup, chart: &BarChart) -> f64 {
    const ROW: f64 = 34.0;
    let most = chart.bars.iter().map(|bar| bar.share).filter(|share| share.is_finite()).fold(0.0, f64::max);
    let scale = Axis::fitting([0.0, most.max(0.01)].into_iter());
    let bottom = 6.0 + ROW * count(chart.bars.len());
    for (place, bar) in chart.bars.iter().enumerate() {
        let top = 6.0 + ROW * count(place);
        for tick in scale.ticks() {
            line(markup, GRID, (scale.at(tick), top + 17.0), (scale.at(tick), top + ROW));
        }
        row_head(markup, top + 13.0, &bar.label, &bar.note, "normal");
        let share = if bar.share.is_finite() { bar.share } else { 0.0 };
        let (x, width) = (scale.at(0.0), scale.at(share) - scale.at(0.0));
        let [x, y, width] = [x, top + 19.0, width].map(number);
        fill(markup, "rect", Colour::Blue, &[("x", &x), ("y", &y), ("width", &width), ("height", "10")]);
    }
    scale_under(markup, &scale, bottom, &chart.axis)
}
