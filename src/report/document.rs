//! Documents: results that render as text, HTML, Markdown and LaTeX.

use super::chart::Chart;
use super::table::{TEXT_WIDTH, Table, latex_paragraph, markdown_text};
use super::wrap::wrapped;
use crate::merge::RunStrip;

/// How much of a [`Document`] its text form shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// The lead and the tables that support it.
    Short,
    /// Everything.
    Full,
}

/// A result that can be rendered as text, HTML, Markdown and LaTeX. Its tables can be written as CSV.
///
/// The HTML is one file without scripts or external requests. It follows the reader's preference for light or dark
/// colours.
///
/// ```
/// use wrongturn::report::{Detail, Document};
///
/// let mut document = Document::new("A report");
/// document.lead("A quarter of all steps.").section("Costs").paragraph("Steps in findings of <loop>.");
/// assert!(document.text(Detail::Short).starts_with("A quarter of all steps.\n"));
/// assert!(document.html().contains("&lt;loop&gt;"));
/// assert!(document.markdown().starts_with("# A report\n"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    pub(super) title: String,
    pub(super) lead: Vec<String>,
    parts: Vec<(Detail, Part)>,
    detail: Detail,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Section(String),
    Paragraph(String),
    Warning(String),
    Table(Table),
    Chart(Chart),
    Strips(Vec<RunStrip>),
}

impl Document {
    /// Creates a document with a title and no content.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), lead: Vec::new(), parts: Vec::new(), detail: Detail::Short }
    }

    pub(super) fn of(
        title: &str,
        charts: impl IntoIterator<Item = Chart>,
        tables: impl IntoIterator<Item = Table>,
    ) -> Self {
        let mut document = Self::new(title);
        document.charts_of(charts).tables_of(tables);
        document
    }

    fn part(&mut self, part: Part) -> &mut Self {
        self.parts.push((self.detail, part));
        self
    }

    /// Adds a sentence to the lead, which comes directly under the title.
    pub fn lead(&mut self, text: impl Into<String>) -> &mut Self {
        self.lead.push(text.into());
        self
    }

    /// Sets the lowest level of detail at which text shows the parts added from now on. Other forms show all parts.
    pub fn detail(&mut self, detail: Detail) -> &mut Self {
        self.detail = detail;
        self
    }

    /// Begins a section. It is not rendered if it stays empty.
    pub fn section(&mut self, title: impl Into<String>) -> &mut Self {
        self.part(Part::Section(title.into()))
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: impl Into<String>) -> &mut Self {
        self.part(Part::Paragraph(text.into()))
    }

    /// Adds a warning.
    pub fn warning(&mut self, text: impl Into<String>) -> &mut Self {
        self.part(Part::Warning(text.into()))
    }

    /// Adds a table. It is not rendered if it has no rows.
    pub fn table(&mut self, table: Table) -> &mut Self {
        self.part(Part::Table(table))
    }

    /// Adds tables.
    pub fn tables_of(&mut self, tables: impl IntoIterator<Item = Table>) -> &mut Self {
        for table in tables {
            self.table(table);
        }
        self
    }

    /// Adds charts.
    pub fn charts_of(&mut self, charts: impl IntoIterator<Item = Chart>) -> &mut Self {
        for chart in charts {
            self.chart(chart);
        }
        self
    }

    /// Adds a chart, unless it is empty.
    pub fn chart(&mut self, chart: Chart) -> &mut Self {
        if chart.is_empty() { self } else { self.part(Part::Chart(chart)) }
    }

    /// Adds strips, each with the steps of one run. Only HTML shows strips, and only those of the 50 worst runs.
    pub fn strips(&mut self, strips: Vec<RunStrip>) -> &mut Self {
        if strips.is_empty() { self } else { self.part(Part::Strips(strips)) }
    }

    /// Returns the tables, including those without rows.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.parts.iter().filter_map(|(_, part)| match part {
            Part::Table(table) => Some(table),
            _ => None,
        })
    }

    /// Returns the charts.
    pub fn charts(&self) -> impl Iterator<Item = &Chart> {
        self.parts.iter().filter_map(|(_, part)| match part {
            Part::Chart(chart) => Some(chart),
            _ => None,
        })
    }

    /// Returns the number of tables that only the full text shows.
    #[must_use]
    pub fn hidden_tables(&self) -> usize {
        let hidden = |(detail, part): &&(Detail, Part)| {
            *detail == Detail::Full && matches!(part, Part::Table(table) if !table.is_empty())
        };
        self.parts.iter().filter(hidden).count()
    }

    /// Returns the parts at this level of detail, without empty tables or sections.
    pub(super) fn shown(&self, detail: Detail) -> Vec<&Part> {
        let mut shown: Vec<&Part> = Vec::new();
        for (of, part) in &self.parts {
            if *of > detail || matches!(part, Part::Table(table) if table.is_empty()) {
                continue;
            }
            if let (Part::Section(_), Some(Part::Section(_))) = (part, shown.last()) {
                shown.pop();
            }
            shown.push(part);
        }
        if let Some(Part::Section(_)) = shown.last() {
            shown.pop();
        }
        shown
    }

    /// Renders text that fits into 80 columns, without the title, charts and strips.
    #[must_use]
    pub fn text(&self, detail: Detail) -> String {
        let paragraph = |text: &str| wrapped(text, TEXT_WIDTH).iter().flat_map(|line| [line, "\n"]).collect();
        let mut blocks: Vec<String> = self.lead.iter().map(|text| paragraph(text)).collect();
        let parts = self.shown(detail);
        let parts = parts.iter().filter(|part| !matches!(part, Part::Chart(_) | Part::Strips(_)));
        let mut heading = None;
        let mut warned = false;
        for part in parts {
            let follows_warning = std::mem::replace(&mut warned, matches!(part, Part::Warning(_)));
            let block = match part {
                Part::Section(title) => {
                    // The short text has no headings.
                    heading = (detail == Detail::Full)
                        .then(|| format!("{title}\n{}\n\n", "=".repeat(title.chars().count())));
                    continue;
                }
                Part::Paragraph(text) => paragraph(text),
                Part::Warning(text) => paragraph(&format!("Warning: {text}")),
                Part::Table(table) if detail == Detail::Short => table.short().text(TEXT_WIDTH),
                Part::Table(table) => table.text(TEXT_WIDTH),
                Part::Chart(_) | Part::Strips(_) => continue,
            };
            let block = heading.take().unwrap_or_default() + &block;
            match blocks.last_mut() {
                Some(last) if warned && follows_warning => *last += &block,
                _ => blocks.push(block),
            }
        }
        blocks.join("\n")
    }

    /// Renders GitHub Flavored Markdown, without charts or strips.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!("# {}\n", markdown_text(&self.title));
        for lead in &self.lead {
            text += &format!("\n**{}**\n", markdown_text(lead));
        }
        for part in self.shown(Detail::Full) {
            text += &match part {
                Part::Section(title) => format!("\n## {}\n", markdown_text(title)),
                Part::Paragraph(paragraph) => format!("\n{}\n", markdown_text(paragraph)),
                Part::Warning(warning) => format!("\n> **Warning:** {}\n", markdown_text(warning)),
                Part::Table(table) => format!("\n{}", table.markdown()),
                Part::Chart(_) | Part::Strips(_) => continue,
            };
        }
        text
    }

    /// Renders LaTeX to be included in a paper, without charts or strips. It needs the packages that its first line
    /// names.
    #[must_use]
    pub fn latex(&self) -> String {
        let mut text =
            "% needs \\usepackage[T1]{fontenc} and \\usepackage{booktabs,longtable,array}\n".to_owned();
        // Lets the gaps between words widen in lines with a long call, which has few places to break.
        text += "\\begingroup\\setlength{\\emergencystretch}{3em}\n";
        text += &format!("\\section*{{\\raggedright {}}}\n", latex_paragraph(&self.title));
        for lead in &self.lead {
            text += &format!("\n{}\n", latex_paragraph(lead));
        }
        for part in self.shown(Detail::Full) {
            text += &match part {
                Part::Section(title) => format!("\n\\subsection*{{{}}}\n", latex_paragraph(title)),
                Part::Paragraph(paragraph) => format!("\n{}\n", latex_paragraph(paragraph)),
                Part::Warning(warning) => format!("\n\\textbf{{Warning:}} {}\n", latex_paragraph(warning)),
                Part::Table(table) => format!("\n{}", table.latex()),
                Part::Chart(_) | Part::Strips(_) => continue,
            };
        }
        text + "\\endgroup\n"
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::Cell;
    use super::*;

    fn table(rows: u64) -> Table {
        let mut table = Table::new("sample", "A sample", &["n #"]);
        for row in 0..rows {
            table.row([Cell::Count(row)]);
        }
        table
    }

    #[test]
    fn the_short_text_leaves_out_details_and_empty_sections() {
        let mut document = Document::new("Title");
        document.lead("Yes.").section("One").table(table(0)).section("Two").warning("few runs");
        document.detail(Detail::Full).section("Three").table(table(1));
        assert_eq!(document.text(Detail::Short), "Yes.\n\nWarning: few runs\n");
        assert_eq!(
            document.text(Detail::Full),
            "Yes.\n\nTwo\n===\n\nWarning: few runs\n\nThree\n=====\n\nA sample\n  n\n  -\n  0\n"
        );
        assert_eq!((document.hidden_tables(), document.tables().count()), (1, 2));
        let markdown = document.markdown();
        assert!(
            markdown.starts_with("# Title\n\n**Yes.**\n\n## Two\n\n> **Warning:** few runs\n\n## Three\n")
        );
        assert!(document.latex().contains("\\subsection*{Three}\n\n\\begin{table}"), "{}", document.latex());
    }
}
