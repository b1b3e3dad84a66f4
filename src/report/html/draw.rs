//! The drawing of charts.

use super::axis::{Axis, MARGIN, WIDTH};
use super::chart::{BarChart, IntervalChart, LineChart};
use super::markup::Markup;
use crate::stats::Interval;

/// A value beside its line.
pub(super) fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| "undefined".to_owned(), |value| format!("{value:.2}"))
}

/// A coordinate: two decimals are finer than any screen.
pub(super) fn number(value: f64) -> String {
    let value = if value.is_finite() { value } else { 0.0 };
    format!("{:.2}", value + 0.0)
}

fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::from(u32::MAX), f64::from)
}

fn line(markup: &mut Markup, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(number);
    markup.shape("line", &[("class", class), ("x1", &x1), ("y1", &y1), ("x2", &x2), ("y2", &y2)]);
}

fn label(markup: &mut Markup, class: &str, anchor: &str, (x, y): (f64, f64), text: &str) {
    let (x, y) = (number(x), number(y));
    markup.leaf("text", &[("class", class), ("x", &x), ("y", &y), ("text-anchor", anchor)], text);
}

/// The axis under the rows, with faint lines through them.
fn axis(markup: &mut Markup, axis: &Axis, top: f64, bottom: f64) {
    for tick in axis.ticks() {
        let x = axis.at(tick);
        line(markup, "grid", (x, top), (x, bottom));
        label(markup, "tick", "middle", (x, bottom + 14.0), &axis.label(tick));
    }
}

/// The label of a row, cut so that the note beside it has room.
fn row_head(markup: &mut Markup, y: f64, text: &str, note: &str, class: &str) {
    let room = 58_usize.saturating_sub(note.chars().count());
    let length = text.chars().count();
    let cut: String = if length > room {
        let end = room / 2;
        let head: String = text.chars().take(room.saturating_sub(end + 1)).collect();
        let tail: String = text.chars().skip(length - end).collect();
        format!("{head}…{tail}")
    } else {
        text.to_owned()
    };
    label(markup, class, "start", (MARGIN, y), &cut);
    label(markup, "note", "end", (WIDTH - MARGIN, y), note);
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
    axis(markup, &scale, 6.0, bottom);
    if let Some(reference) = chart.reference {
        line(markup, "reference", (scale.at(reference), 6.0), (scale.at(reference), bottom));
    }
    for (place, row) in chart.rows.iter().enumerate() {
        let top = 6.0 + ROW * count(place);
        let middle = top + 26.0;
        row_head(
            markup,
            top + 14.0,
            &row.label,
            &row.note,
            if row.pooled { "label strong" } else { "label" },
        );
        if let Some(other) = row.other {
            line(markup, "other", (scale.at(other.low), middle + 5.0), (scale.at(other.high), middle + 5.0));
        }
        if let (true, Some(interval), Some(estimate)) = (row.pooled, row.interval, row.estimate) {
            let points: Vec<String> = [
                (scale.at(interval.low), middle),
                (scale.at(estimate), middle - 6.0),
                (scale.at(interval.high), middle),
                (scale.at(estimate), middle + 6.0),
            ]
            .iter()
            .map(|(x, y)| format!("{},{}", number(*x), number(*y)))
            .collect();
            markup.shape("polygon", &[("class", "pooled"), ("points", &points.join(" "))]);
            continue;
        }
        if let Some(interval) = row.interval {
            let (low, high) = (scale.at(interval.low), scale.at(interval.high));
            line(markup, "interval", (low, middle), (high, middle));
            line(markup, "interval", (low, middle - 4.0), (low, middle + 4.0));
            line(markup, "interval", (high, middle - 4.0), (high, middle + 4.0));
        }
        if let Some(estimate) = row.estimate {
            let (x, y) = (number(scale.at(estimate)), number(middle));
            markup.shape("circle", &[("class", "point"), ("cx", &x), ("cy", &y), ("r", "4")]);
        }
        if let Some(baseline) = row.baseline {
            let x = scale.at(baseline);
            line(markup, "baseline", (x, middle - 8.0), (x, middle + 8.0));
        }
    }
    bottom + 22.0
}

/// The marks of lines, drawn around 0; as many as there are.
const MARKS: [&str; 4] =
    ["M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0", "M-4,-4h8v8h-8z", "M0,-5L5,4H-5z", "M0,-5L5,0L0,5L-5,0z"];

pub(super) fn lines(markup: &mut Markup, chart: &LineChart) -> f64 {
    const TOP: f64 = 8.0;
    const BOTTOM: f64 = 208.0;
    let left = MARGIN + 28.0;
    let places = chart.places.len();
    let x = |place: usize| {
        let width = WIDTH - MARGIN - 12.0 - left;
        left + 6.0 + if places > 1 { (width - 6.0) * count(place) / count(places - 1) } else { width / 2.0 }
    };
    let y = |value: f64| BOTTOM - value.clamp(0.0, 1.0) * (BOTTOM - TOP);
    for tick in [0.0, 0.25, 0.5, 0.75, 1.0] {
        line(markup, "grid", (left, y(tick)), (WIDTH - MARGIN, y(tick)));
        label(markup, "tick", "end", (left - 4.0, y(tick) + 4.0), &format!("{tick:.2}"));
    }
    let every = places.div_ceil(8).max(1);
    for (place, text) in chart.places.iter().enumerate().step_by(every) {
        label(markup, "tick", "middle", (x(place), BOTTOM + 16.0), text);
    }
    let mut legend = BOTTOM + 38.0;
    for (number_of_line, one) in chart.lines.iter().enumerate() {
        let class = format!("line s{} d{}", number_of_line % 4, (number_of_line / 4) % 2);
        let mut path = String::new();
        let mut pen_down = false;
        for (place, value) in one.values.iter().take(places).enumerate() {
            if let Some(value) = value {
                let command = if pen_down { 'L' } else { 'M' };
                path += &format!("{command}{},{}", number(x(place)), number(y(*value)));
            }
            pen_down = value.is_some();
        }
        markup.shape("path", &[("class", &class), ("d", &path)]);
        let mark = MARKS.get(number_of_line % MARKS.len()).copied().unwrap_or_default();
        let class = format!("mark s{}", number_of_line % 4);
        let put = |markup: &mut Markup, at_x: f64, at_y: f64| {
            let place = format!("translate({},{})", number(at_x), number(at_y));
            markup.shape("path", &[("class", &class), ("d", mark), ("transform", &place)]);
        };
        for (place, value) in one.values.iter().take(places).enumerate() {
            if let Some(value) = value {
                put(markup, x(place), y(*value));
            }
        }
        put(markup, MARGIN + 8.0, legend - 4.0);
        let last = one.values.iter().rev().flatten().next().copied();
        row_head_at(markup, MARGIN + 20.0, legend, &one.label, &shown(last));
        legend += 18.0;
    }
    legend
}

fn row_head_at(markup: &mut Markup, x: f64, y: f64, text: &str, note: &str) {
    let cut: String = if text.chars().count() > 46 {
        text.chars().take(45).chain(['…']).collect()
    } else {
        text.to_owned()
    };
    label(markup, "label", "start", (x, y), &cut);
    label(markup, "note", "end", (WIDTH - MARGIN, y), note);
}

pub(super) fn bars(markup: &mut Markup, chart: &BarChart) -> f64 {
    const ROW: f64 = 34.0;
    let most = chart.bars.iter().map(|bar| bar.share).filter(|share| share.is_finite()).fold(0.0, f64::max);
    let scale = Axis::fitting([0.0, most.max(0.01)].into_iter());
    let bottom = 6.0 + ROW * count(chart.bars.len());
    axis(markup, &scale, 6.0, bottom);
    for (place, bar) in chart.bars.iter().enumerate() {
        let top = 6.0 + ROW * count(place);
        row_head(markup, top + 13.0, &bar.label, &bar.note, "label");
        let share = if bar.share.is_finite() { bar.share } else { 0.0 };
        let (x, width) = (scale.at(0.0), scale.at(share) - scale.at(0.0));
        let [x, y, width] = [x, top + 19.0, width].map(number);
        markup.shape("rect", &[("class", "bar"), ("x", &x), ("y", &y), ("width", &width), ("height", "10")]);
    }
    bottom + 22.0
}
