//! Charts as SVG: intervals in rows, lines over k, bars.
//!
//! Each is 400 units wide, so that its letters can be read on a telephone, and takes its colours from the page, so
//! that it is light or dark with it. Nothing is told by colour alone: points differ in shape, lines in their dashes,
//! and every value stands beside its mark.

use super::markup::Markup;
use crate::stats::Interval;

/// The width of every chart, in its own units.
const WIDTH: f64 = 400.0;

/// What is left free on either side.
const MARGIN: f64 = 8.0;

/// A chart with its title and a sentence that says what it shows.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Chart {
    /// Estimates with their intervals, one per row: a forest plot.
    Intervals(IntervalChart),
    /// Values over 1, 2, 3, ….
    Lines(LineChart),
    /// Shares of a whole.
    Bars(BarChart),
}

/// Estimates with their intervals, one per row.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalChart {
    /// The title.
    pub title: String,
    /// What it shows.
    pub caption: String,
    /// The rows, from top to bottom.
    pub rows: Vec<IntervalRow>,
    /// The ends of the axis; `None` fits them to the rows.
    pub range: Option<(f64, f64)>,
    /// Where a line is drawn through all rows, such as 0.
    pub reference: Option<f64>,
}

/// One row of an [`IntervalChart`].
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalRow {
    /// What it is an estimate of.
    pub label: String,
    /// What stands at the right, such as `n = 12`.
    pub note: String,
    /// The estimate.
    pub estimate: Option<f64>,
    /// Its interval.
    pub interval: Option<Interval>,
    /// A second, thinner interval to hold it against.
    pub other: Option<Interval>,
    /// A value to hold it against, drawn as a tick.
    pub baseline: Option<f64>,
    /// Whether it sums up the rows above, and is drawn as a diamond.
    pub pooled: bool,
}

/// Values over 1, 2, 3, ….
#[derive(Debug, Clone, PartialEq)]
pub struct LineChart {
    /// The title.
    pub title: String,
    /// What it shows.
    pub caption: String,
    /// What stands under the places of the axis, from left to right.
    pub places: Vec<String>,
    /// The lines; at most eight differ in their marks.
    pub lines: Vec<Line>,
}

/// A line of a [`LineChart`], with values in [0, 1].
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its name.
    pub label: String,
    /// Its values, from the first place on.
    pub values: Vec<Option<f64>>,
}

/// Shares of a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct BarChart {
    /// The title.
    pub title: String,
    /// What it shows.
    pub caption: String,
    /// The bars, from top to bottom.
    pub bars: Vec<Bar>,
}

/// A bar of a [`BarChart`].
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What it is a share of.
    pub label: String,
    /// The share, in [0, 1].
    pub share: f64,
    /// What stands at the right.
    pub note: String,
}

impl Chart {
    /// The title.
    #[must_use]
    pub fn title(&self) -> &str {
        match self {
            Self::Intervals(chart) => &chart.title,
            Self::Lines(chart) => &chart.title,
            Self::Bars(chart) => &chart.title,
        }
    }

    /// Whether there is nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Intervals(chart) => chart.rows.is_empty(),
            Self::Lines(chart) => chart.lines.is_empty(),
            Self::Bars(chart) => chart.bars.is_empty(),
        }
    }

    fn caption(&self) -> &str {
        match self {
            Self::Intervals(chart) => &chart.caption,
            Self::Lines(chart) => &chart.caption,
            Self::Bars(chart) => &chart.caption,
        }
    }

    /// The chart as a document of its own, such as a README shows: dark where its reader is.
    #[must_use]
    pub fn svg(&self) -> String {
        let mut markup = Markup::default();
        self.draw(&mut markup, "chart", true);
        markup.finish()
    }

    /// The chart as a figure of a page; `id` is the page's own.
    pub(super) fn figure(&self, markup: &mut Markup, id: &str) {
        markup.element("figure", &[("id", id)], |figure| {
            figure.leaf("h3", &[], self.title());
            self.draw(figure, id, false);
            figure.leaf("figcaption", &[], self.caption());
        });
        markup.line();
    }

    fn draw(&self, markup: &mut Markup, id: &str, alone: bool) {
        let mut inside = Markup::default();
        let height = match self {
            Self::Intervals(chart) => intervals(&mut inside, chart),
            Self::Lines(chart) => lines(&mut inside, chart),
            Self::Bars(chart) => bars(&mut inside, chart),
        };
        let (title_id, text_id) = (format!("{id}-title"), format!("{id}-text"));
        let labels = format!("{title_id} {text_id}");
        let view = format!("0 0 {WIDTH} {}", number(height));
        let mut attributes = vec![
            ("viewBox", view.as_str()),
            ("role", "img"),
            ("aria-labelledby", labels.as_str()),
            ("class", "chart"),
        ];
        if alone {
            attributes.insert(0, ("xmlns", "http://www.w3.org/2000/svg"));
        }
        markup.element("svg", &attributes, |svg| {
            svg.leaf("title", &[("id", &title_id)], self.title());
            svg.leaf("desc", &[("id", &text_id)], &self.described());
            if alone {
                svg.leaf("style", &[], super::page::CHART_STYLE);
                svg.shape("rect", &[("class", "paper"), ("width", "400"), ("height", &number(height))]);
            }
            svg.append(&inside);
        });
    }

    /// The chart in words, for those who do not see it.
    fn described(&self) -> String {
        let mut parts = vec![self.caption().to_owned()];
        match self {
            Self::Intervals(chart) => {
                parts.extend(chart.rows.iter().map(|row| format!("{}: {}.", row.label, row.note)));
            }
            Self::Lines(chart) => parts.extend(chart.lines.iter().map(|line| {
                let values: Vec<String> = line.values.iter().map(|value| shown(*value)).collect();
                format!("{}: {}.", line.label, values.join(", "))
            })),
            Self::Bars(chart) => {
                parts.extend(chart.bars.iter().map(|bar| format!("{}: {}.", bar.label, bar.note)));
            }
        }
        parts.join(" ")
    }
}

fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| "undefined".to_owned(), |value| format!("{value:.2}"))
}

/// A coordinate: two decimals are finer than any screen.
fn number(value: f64) -> String {
    let value = if value.is_finite() { value } else { 0.0 };
    format!("{:.2}", value + 0.0)
}

fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::from(u32::MAX), f64::from)
}

/// A linear axis.
struct Axis {
    from: f64,
    to: f64,
    left: f64,
    right: f64,
}

impl Axis {
    /// An axis that holds all values, with some room, in steps that read well.
    fn fitting(values: impl Iterator<Item = f64>) -> Self {
        let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite()) {
            (from, to) = (from.min(value), to.max(value));
        }
        if from > to {
            (from, to) = (0.0, 1.0);
        }
        if to - from < 1e-9 * from.abs().max(to.abs()).max(1e-9) {
            (from, to) = (from - 0.5, to + 0.5);
        }
        let step = step(from, to);
        Self::between((from / step).floor() * step, (to / step).ceil() * step)
    }

    fn between(from: f64, to: f64) -> Self {
        Self { from, to, left: MARGIN + 6.0, right: WIDTH - MARGIN - 6.0 }
    }

    fn at(&self, value: f64) -> f64 {
        let share = ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        self.left + share * (self.right - self.left)
    }

    fn ticks(&self) -> Vec<f64> {
        let step = step(self.from, self.to);
        let first = (self.from / step - 1e-9).ceil();
        (0..=20_u32)
            .map(|number| (first + f64::from(number)) * step)
            .take_while(|tick| *tick <= self.to + 1e-9 * step)
            .collect()
    }

    fn label(&self, tick: f64) -> String {
        let step = step(self.from, self.to);
        // A tick of 0 comes out of sums as a small number, and must not be "-0.0".
        let tick = if tick.abs() < step * 1e-6 { 0.0 } else { tick };
        let decimals = (0..9).find(|decimals| step * 10_f64.powi(*decimals) > 0.999).unwrap_or(9);
        let decimals = usize::try_from(decimals).unwrap_or(0);
        format!("{tick:.decimals$}")
    }
}

/// A step of 1, 2 or 5 times a power of ten, with four to ten steps between the ends.
fn step(from: f64, to: f64) -> f64 {
    let rough = (to - from) / 5.0;
    if !(rough.is_finite() && rough > 0.0) {
        return 1.0;
    }
    let power = 10_f64.powf(rough.log10().floor());
    let lead = rough / power;
    power
        * if lead < 1.5 {
            1.0
        } else if lead < 3.5 {
            2.0
        } else if lead < 7.5 {
            5.0
        } else {
            10.0
        }
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

fn intervals(markup: &mut Markup, chart: &IntervalChart) -> f64 {
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

fn lines(markup: &mut Markup, chart: &LineChart) -> f64 {
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

fn bars(markup: &mut Markup, chart: &BarChart) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_read_well() {
        for (from, to, expected) in
            [(0.0, 1.0, 0.2), (-1.0, 1.0, 0.5), (0.0, 0.03, 0.005), (0.0, 100.0, 20.0)]
        {
            assert!((step(from, to) - expected).abs() < 1e-12, "{from} {to}: {}", step(from, to));
        }
        let axis = Axis::fitting([-0.23, 0.61].into_iter());
        let labels: Vec<String> = axis.ticks().iter().map(|tick| axis.label(*tick)).collect();
        assert_eq!(labels, ["-0.4", "-0.2", "0.0", "0.2", "0.4", "0.6", "0.8"]);
    }

    #[test]
    fn whatever_the_values_coordinates_are_numbers() {
        let row = |estimate, low, high| IntervalRow {
            label: "a".repeat(200),
            note: "n".to_owned(),
            estimate: Some(estimate),
            interval: Some(Interval { low, high }),
            other: None,
            baseline: Some(f64::NAN),
            pooled: false,
        };
        for rows in [
            vec![],
            vec![row(f64::NAN, f64::NEG_INFINITY, f64::INFINITY)],
            vec![row(1e308, -1e308, 1e308), row(0.0, 0.0, 0.0)],
        ] {
            let chart = IntervalChart {
                title: "t".into(),
                caption: "c".into(),
                rows,
                range: None,
                reference: Some(0.0),
            };
            let svg = Chart::Intervals(chart).svg();
            for bad in ["NaN", "inf"] {
                assert!(!svg.contains(bad), "{svg}");
            }
        }
    }
}
