//! The colours of pages and charts, light and dark.

use std::fmt::Write as _;
use std::sync::LazyLock;

/// A colour of pages and charts. Blue and orange stay distinct for readers who cannot distinguish red from
/// green.
#[derive(Debug, Clone, Copy)]
pub(super) enum Colour {
    Paper,
    Ink,
    Soft,
    Rule,
    Blue,
    Orange,
    Violet,
    Green,
}

/// The names of the CSS variables with their light and dark values, in the order of [`Colour`]. The last two
/// are backgrounds of pages.
const VALUES: [(&str, &str, &str); 10] = [
    ("paper", "#ffffff", "#14181d"),
    ("ink", "#1b1f24", "#e6edf3"),
    ("soft", "#57606a", "#9aa7b4"),
    ("rule", "#d0d7de", "#38424d"),
    ("a", "#0b5cad", "#6cb2ff"),
    ("b", "#b54708", "#ffa657"),
    ("c", "#5b3fa8", "#c3a6ff"),
    ("d", "#00695c", "#5fd4c0"),
    ("shade", "#f4f6f8", "#1d242c"),
    ("warn", "#fff4e0", "#3a2a10"),
];

/// CSS for charts on a dark page. Programs without media queries use the SVG attributes, which are light.
pub(super) static OF_CHARTS: LazyLock<String> = LazyLock::new(|| {
    let mut css = String::from("@media(prefers-color-scheme:dark){");
    for (prefix, property) in [('f', "fill"), ('s', "stroke")] {
        for (name, _, dark) in VALUES.iter().take(8) {
            _ = write!(css, ".{prefix}{}{{{property}:{dark}}}", name.get(..1).unwrap_or_default());
        }
    }
    css + "}"
});

pub(super) static OF_PAGES: LazyLock<String> = LazyLock::new(|| {
    let (mut light, mut dark) = (String::new(), String::new());
    for (name, on_light, on_dark) in VALUES {
        _ = write!(light, "--{name}:{on_light};");
        _ = write!(dark, "--{name}:{on_dark};");
    }
    format!("\n:root{{{light}}}\n@media(prefers-color-scheme:dark){{:root{{{dark}}}}}")
});

impl Colour {
    pub(super) const SERIES: [Self; 4] = [Self::Blue, Self::Orange, Self::Violet, Self::Green];

    fn values(self) -> (&'static str, &'static str) {
        VALUES.get(self as usize).map_or(("", "none"), |(name, light, _)| (name, light))
    }

    pub(super) fn light(self) -> &'static str {
        self.values().1
    }

    /// Returns the class for fills (`f`) or strokes (`s`).
    pub(super) fn class(self, prefix: char) -> String {
        let name = self.values().0;
        format!("{prefix}{}", name.get(..1).unwrap_or_default())
    }
}
