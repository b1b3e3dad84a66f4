//! Charts as SVG: intervals in rows, lines, bars, graphs and heat maps.
//!
//! Each is 400 units wide, legible on a phone and in a column of a paper, and follows the light or dark
//! preference of the reader. Lines differ in marks and dashes, not in colour alone. Each chart has a
//! description for screen readers.
//!
//! Plotting crates draw in fixed colours and without descriptions, so charts are drawn here.

use super::axis::WIDTH;
use super::colours::{self, Colour};
use super::draw::{bars, fill, intervals, lines, number, shown};
use super::graph::{GraphChart, HeatChart, graph, heat};
use super::markup::Markup;
use crate::stats::Interval;

/// A chart with a title and a caption, drawn as SVG. [`Document::charts`](super::Document::charts) returns the
/// charts of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    title: String,
    caption: String,
    plot: Plot,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Plot {
    Intervals(IntervalChart),
    Lines(LineChart),
    Bars(BarChart),
    Graph(GraphChart),
    Heat(HeatChart),
}

/// Estimates with their intervals, one per row: a forest plot.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct IntervalChart {
    pub(super) axis: String,
    /// The legend for estimates with their intervals.
    pub(super) interval: String,
    /// The legend for the second intervals.
    pub(super) other: String,
    /// The legend for the baselines.
    pub(super) baseline: String,
    pub(super) rows: Vec<IntervalRow>,
    /// The ends of the axis; `None` fits them to the rows.
    pub(super) range: Option<(f64, f64)>,
    /// The value of a line through all rows, such as 0.
    pub(super) reference: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct IntervalRow {
    pub(super) label: String,
    /// The text at the right, such as `n = 12`.
    pub(super) note: String,
    pub(super) estimate: Option<f64>,
    pub(super) interval: Option<Interval>,
    /// A second interval for comparison, drawn thinner.
    pub(super) other: Option<Interval>,
    /// A value for comparison, drawn as a tick.
    pub(super) baseline: Option<f64>,
    /// True for the pooled estimate of the rows above, drawn as a diamond.
    pub(super) pooled: bool,
}

/// Lines over the labels of an axis, such as 1, 2, 3, …
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LineChart {
    pub(super) axis: String,
    /// The label of the vertical axis.
    pub(super) measure: String,
    /// The labels along the horizontal axis.
    pub(super) places: Vec<String>,
    /// Marks and dashes distinguish up to eight of them.
    pub(super) lines: Vec<Line>,
}

/// A line of values in [0, 1], starting at the first label.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) label: String,
    pub(super) values: Vec<Option<f64>>,
}

/// Shares of a whole.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BarChart {
    pub(super) axis: String,
    pub(super) bars: Vec<Bar>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) share: f64,
    /// The text at the right.
    pub(super) note: String,
}

impl IntervalRow {
    pub(super) fn new(
        label: impl Into<String>,
        note: String,
        estimate: Option<f64>,
        interval: Option<Interval>,
    ) -> Self {
        Self { label: label.into(), note, estimate, interval, ..Self::default() }
    }
}

impl IntervalChart {
    pub(super) fn shares(
        axis: impl Into<String>,
        interval: impl Into<String>,
        rows: impl IntoIterator<Item = IntervalRow>,
    ) -> Self {
        let (axis, interval, rows) = (axis.into(), interval.into(), rows.into_iter().collect());
        Self { axis, interval, rows, range: Some((0.0, 1.0)), ..Self::default() }
    }

    pub(super) fn differences(
        axis: impl Into<String>,
        interval: impl Into<String>,
        rows: impl IntoIterator<Item = IntervalRow>,
    ) -> Self {
        Self { range: None, reference: Some(0.0), ..Self::shares(axis, interval, rows) }
    }
}

impl LineChart {
    pub(super) fn new(
        axis: &str,
        measure: &str,
        places: impl IntoIterator<Item = String>,
        lines: impl IntoIterator<Item = Line>,
    ) -> Self {
        let (places, lines) = (places.into_iter().collect(), lines.into_iter().collect());
        Self { axis: axis.to_owned(), measure: measure.to_owned(), places, lines }
    }
}

impl Chart {
    pub(super) fn new(title: impl Into<String>, caption: impl Into<String>, plot: Plot) -> Self {
        Self { title: title.into(), caption: caption.into(), plot }
    }

    /// Returns the title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    pub(super) fn shares(
        title: impl Into<String>,
        caption: impl Into<String>,
        axis: &str,
        rows: impl IntoIterator<Item = IntervalRow>,
    ) -> Self {
        let interval = "share with 95% CI, as if runs were independent (Wilson)";
        Self::new(title, caption, Plot::Intervals(IntervalChart::shares(axis, interval, rows)))
    }

    /// Returns true if there is nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match &self.plot {
            Plot::Intervals(chart) => chart.rows.is_empty(),
            Plot::Lines(chart) => chart.lines.is_empty(),
            Plot::Bars(chart) => chart.bars.is_empty(),
            Plot::Graph(chart) => chart.edges.is_empty(),
            Plot::Heat(chart) => chart.names.is_empty(),
        }
    }

    /// Returns the chart as an SVG file. Programs without media queries show the light version.
    #[must_use]
    pub fn svg(&self) -> String {
        let mut markup = Markup::default();
        self.draw(&mut markup, "chart", true);
        markup.finish()
    }

    /// Adds the chart as a figure of a page. `id` must be unique in the page.
    pub(super) fn figure(&self, markup: &mut Markup, id: &str) {
        markup.element("figure", &[("id", id)], |figure| {
            figure.leaf("h3", &[], &self.title);
            self.draw(figure, id, false);
            figure.leaf("figcaption", &[], &self.caption);
        });
        markup.line();
    }

    fn draw(&self, markup: &mut Markup, id: &str, alone: bool) {
        let mut inside = Markup::default();
        let height = match &self.plot {
            Plot::Intervals(chart) => intervals(&mut inside, chart),
            Plot::Lines(chart) => lines(&mut inside, chart),
            Plot::Bars(chart) => bars(&mut inside, chart),
            Plot::Graph(chart) => graph(&mut inside, chart),
            Plot::Heat(chart) => heat(&mut inside, chart),
        };
        let (title_id, text_id) = (format!("{id}-title"), format!("{id}-text"));
        let labels = format!("{title_id} {text_id}");
        let view = format!("0 0 {WIDTH} {}", number(height));
        let (width, height) = (number(WIDTH), number(height));
        let mut attributes = vec![
            ("viewBox", view.as_str()),
            ("width", &width),
            ("height", &height),
            ("font-family", "Helvetica, Arial, sans-serif"),
            ("role", "img"),
            ("aria-labelledby", labels.as_str()),
            ("class", "chart"),
        ];
        if alone {
            attributes.insert(0, ("xmlns", "http://www.w3.org/2000/svg"));
        }
        markup.element("svg", &attributes, |svg| {
            svg.leaf("title", &[("id", &title_id)], &self.title);
            svg.leaf("desc", &[("id", &text_id)], &self.described());
            if alone {
                svg.element("style", &[], |style| style.constant(&colours::OF_CHARTS));
                fill(svg, "rect", Colour::Paper, &[("width", &width), ("height", &height)]);
            }
            svg.append(&inside);
        });
    }

    fn described(&self) -> String {
        let mut parts = vec![self.caption.clone()];
        match &self.plot {
            Plot::Intervals(chart) => {
                parts.extend(chart.rows.iter().map(|row| format!("{}: {}.", row.label, row.note)));
            }
            Plot::Lines(chart) => parts.extend(chart.lines.iter().map(|line| {
                let values: Vec<String> = line.values.iter().map(|value| shown(*value)).collect();
                format!("{}: {}.", line.label, values.join(", "))
            })),
            Plot::Bars(chart) => {
                parts.extend(chart.bars.iter().map(|bar| format!("{}: {}.", bar.label, bar.note)));
            }
            Plot::Graph(chart) => {
                let label = |node: usize| chart.nodes.get(node).map_or("", |node| node.label.as_str());
                parts.extend(chart.edges.iter().map(|edge| {
                    format!("{} to {}: {:.1}%.", label(edge.from), label(edge.to), 100.0 * edge.share)
                }));
            }
            Plot::Heat(chart) => parts.push(format!("Events: {}.", chart.names.join(", "))),
        }
        parts.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_numbers_for_any_value() {
        let row = |estimate, low, high| IntervalRow {
            label: "a".repeat(200),
            note: "n".to_owned(),
            estimate: Some(estimate),
            interval: Some(Interval { low, high }),
            baseline: Some(f64::NAN),
            ..IntervalRow::default()
        };
        for rows in [
            vec![],
            vec![row(f64::NAN, f64::NEG_INFINITY, f64::INFINITY)],
            vec![row(1e308, -1e308, 1e308), row(0.0, 0.0, 0.0)],
        ] {
            let rows = IntervalChart { rows, reference: Some(0.0), ..IntervalChart::default() };
            let svg = Chart::new("t", "", Plot::Intervals(rows)).svg();
            for bad in ["NaN", "inf"] {
                assert!(!svg.contains(bad), "{svg}");
            }
        }
    }
}
