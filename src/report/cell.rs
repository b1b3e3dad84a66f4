//! Cells of tables: values and their formatting.

use crate::stats::{Interval, ratio};

const DASH: &str = "–";

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Text(String),
    Count(u64),
    /// A number with this many decimals.
    Real(f64, usize),
    /// A signed number with this many decimals.
    Signed(f64, usize),
    Share(f64),
    /// A difference of shares, shown in percentage points.
    Points(f64),
    P(f64),
    /// An interval of numbers with this many decimals.
    Interval(Interval, usize),
    /// An interval of signed numbers with this many decimals.
    SignedInterval(Interval, usize),
    /// An interval of shares, shown as percentages.
    ShareInterval(Interval),
    /// An interval of differences of shares, shown in percentage points.
    PointsInterval(Interval),
    /// No value: a dash, or an empty field in CSV.
    Missing,
}

impl Cell {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn name(name: Option<&str>) -> Self {
        Self::of(name, Self::text)
    }

    pub(super) fn of<T>(value: Option<T>, cell: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Missing, cell)
    }

    pub(super) fn real(value: Option<f64>, decimals: usize) -> Self {
        Self::of(value, |value| Self::Real(value, decimals))
    }

    pub(super) fn signed(value: Option<f64>, decimals: usize) -> Self {
        Self::of(value, |value| Self::Signed(value, decimals))
    }

    /// Creates a cell with the share of `part` in `whole`, if `whole` is not 0.
    pub(super) fn ratio(part: u64, whole: u64) -> Self {
        Self::of(ratio(part, whole), Self::Share)
    }

    /// Formats the value, rounded. CSV does not use this.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(count) => count.to_string(),
            Self::Real(value, decimals) => format!("{value:.decimals$}"),
            Self::Signed(value, decimals) => format!("{value:+.decimals$}"),
            Self::Share(share) => format!("{:.1}%", 100.0 * share),
            Self::Points(difference) => format!("{:+.1} pp", 100.0 * difference),
            Self::P(p) if *p <= 0.0 => "0".to_owned(),
            Self::P(p) if *p < 1e-4 => format!("{p:.0e}"),
            Self::P(p) => format!("{p:.4}"),
            Self::Interval(i, decimals) => format!("[{:.decimals$}, {:.decimals$}]", i.low, i.high),
            Self::SignedInterval(i, decimals) => format!("[{:+.decimals$},{:+.decimals$}]", i.low, i.high),
            Self::ShareInterval(i) => format!("[{:.1}%, {:.1}%]", 100.0 * i.low, 100.0 * i.high),
            Self::PointsInterval(i) => format!("[{:+.1},{:+.1}]", 100.0 * i.low, 100.0 * i.high),
            Self::Missing => DASH.to_owned(),
        }
    }
}

/// Returns a count with its noun: `1 run`, `2 runs`.
pub(super) fn counted(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

pub(super) fn figure(value: Option<f64>, decimals: usize) -> String {
    Cell::real(value, decimals).shown()
}

pub(super) fn name(value: Option<&str>) -> String {
    value.unwrap_or(DASH).to_owned()
}

pub(super) fn real(value: Option<f64>) -> Cell {
    Cell::real(value, 4)
}

pub(super) fn interval(interval: Option<Interval>) -> Cell {
    Cell::of(interval, |interval| Cell::Interval(interval, 4))
}

pub(super) fn ci(interval: Option<Interval>) -> Cell {
    Cell::of(interval, |interval| Cell::SignedInterval(interval, 3))
}
