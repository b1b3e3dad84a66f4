//! Documents as HTML: one file, without scripts or external requests.
//!
//! No template crate is used: every text passes through one function that escapes it and replaces characters
//! that change the direction of text, which templates let through.

use super::cell::Cell;
use super::colours;
use super::document::{Detail, Document, Part};
use super::markup::Markup;
use super::run_strip::strips;
use super::table::Table;

const POLICY: &str =
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

impl Document {
    /// Renders one HTML file.
    #[must_use]
    pub fn html(&self) -> String {
        let mut page = Markup::default();
        page.constant("<!DOCTYPE html>\n");
        page.element("html", &[("lang", "en")], |html| {
            html.element("head", &[], |head| self.head(head));
            html.line();
            html.element("body", &[], |body| self.body(body));
        });
        page.line();
        page.finish()
    }

    fn head(&self, head: &mut Markup) {
        head.void("meta", &[("charset", "utf-8")]);
        head.void("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")]);
        head.void("meta", &[("http-equiv", "Content-Security-Policy"), ("content", POLICY)]);
        head.void("meta", &[("name", "color-scheme"), ("content", "light dark")]);
        // Without this icon, browsers request one.
        head.void("link", &[("rel", "icon"), ("href", "data:,")]);
        head.leaf("title", &[], &self.title);
        head.constant("<style>");
        head.constant(&colours::OF_PAGES);
        head.constant(PAGE_STYLE);
        head.constant(&colours::OF_CHARTS);
        head.constant("</style>");
    }

    fn body(&self, body: &mut Markup) {
        let parts = self.shown(Detail::Full);
        let sections: Vec<&str> = parts
            .iter()
            .filter_map(|part| if let Part::Section(title) = part { Some(title.as_str()) } else { None })
            .collect();
        body.element("header", &[], |header| {
            header.leaf("h1", &[], &self.title);
            for sentence in &self.lead {
                header.leaf("p", &[("class", "lead")], sentence);
            }
            if sections.len() > 1 {
                header.element("nav", &[("aria-label", "Sections")], |nav| {
                    for (number, title) in sections.iter().enumerate() {
                        nav.leaf("a", &[("href", &format!("#section-{number}"))], title);
                        nav.text(" ");
                    }
                });
            }
        });
        body.line();
        body.element("main", &[], |main| {
            let (mut section, mut figure) = (0, 0);
            for parts in parts.chunk_by(|one, next| matches!((one, next), (Part::Chart(_), Part::Chart(_)))) {
                match parts {
                    [Part::Section(title)] => {
                        main.leaf("h2", &[("id", &format!("section-{section}"))], title);
                        section += 1;
                    }
                    [Part::Paragraph(text)] => main.leaf("p", &[], text),
                    [Part::Warning(text)] => {
                        let warning = format!("Warning: {text}");
                        main.leaf("p", &[("class", "warning"), ("role", "note")], &warning);
                    }
                    [Part::Table(table)] => html_table(main, table),
                    [Part::Strips(runs)] => strips(main, runs),
                    charts => main.element("div", &[("class", "charts")], |figures| {
                        for part in charts {
                            if let Part::Chart(chart) = part {
                                chart.figure(figures, &format!("figure-{figure}"));
                                figure += 1;
                            }
                        }
                    }),
                }
                main.line();
            }
        });
        body.line();
        body.leaf("footer", &[], concat!("Made by wrongturn ", env!("CARGO_PKG_VERSION"), "."));
    }
}

/// Adds a table that scrolls, with a caption and column headings. `true` marks the heading of a column of
/// numbers.
pub(super) fn scrolled_table<'h>(
    markup: &mut Markup,
    (title, caption): (&str, &str),
    id: &[(&'static str, &str)],
    headings: impl Iterator<Item = (&'h str, bool)>,
    rows: impl FnOnce(&mut Markup),
) {
    let region = [("class", "scroll"), ("role", "region"), ("tabindex", "0"), ("aria-label", title)];
    markup.element("div", &region, |region| {
        region.element("table", id, |table| {
            table.leaf("caption", &[], caption);
            table.element("thead", &[], |head| {
                head.element("tr", &[], |row| {
                    for (heading, number) in headings {
                        let class = if number { "number" } else { "text" };
                        row.leaf("th", &[("scope", "col"), ("class", class)], heading);
                    }
                });
            });
            table.element("tbody", &[], rows);
        });
    });
}

fn html_table(markup: &mut Markup, table: &Table) {
    // A new value in the first column of a grouped table gets a row of its own, as in text.
    let skip = usize::from(table.grouped);
    let seen: Vec<usize> =
        (skip..table.headings().count()).filter(|column| !table.is_blank(*column)).collect();
    let columns = seen.len().to_string();
    let headings = table.headings().enumerate().filter(|(column, _)| seen.contains(column));
    let titles = (table.title(), table.title());
    scrolled_table(markup, titles, &[], headings.map(|(_, heading)| heading), |rows| {
        let mut group = None;
        for cells in &table.rows {
            if skip > 0 && group != cells.first() {
                group = cells.first();
                let name = group.map(Cell::shown).unwrap_or_default();
                let heading = [("scope", "rowgroup"), ("colspan", columns.as_str()), ("class", "group")];
                rows.element("tr", &[], |row| row.leaf("th", &heading, &name));
            }
            rows.element("tr", &[], |row| {
                for (place, cell) in seen.iter().filter_map(|column| cells.get(*column)).enumerate() {
                    html_cell(row, place, cell);
                }
            });
        }
    });
    for note in &table.notes {
        markup.leaf("p", &[("class", "note")], note);
    }
}

fn html_cell(row: &mut Markup, place: usize, cell: &Cell) {
    let shown = cell.shown();
    let class = text_class(&shown);
    match cell {
        Cell::Text(_) if place == 0 => row.leaf("th", &[("scope", "row"), ("class", class)], &shown),
        Cell::Text(_) => row.leaf("td", &[("class", class)], &shown),
        _ => row.leaf("td", &[("class", "number")], &shown),
    }
}

/// Returns the class of a text cell. Long texts get a minimum width.
pub(super) fn text_class(text: &str) -> &'static str {
    if text.chars().count() > 40 { "text long" } else { "text" }
}

const PAGE_STYLE: &str = "
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:70rem;background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.6rem;line-height:1.2;margin:.5rem 0}h2{font-size:1.25rem;margin:2.5rem 0 .75rem;border-bottom:1px solid var(--rule)}h3{font-size:1rem;margin:0 0 .5rem}
a{color:var(--a)}nav a{display:inline-block;padding:.2rem .4rem .2rem 0}
.lead{font-size:1.1rem}.note,figcaption,footer{color:var(--soft);font-size:.875rem}.note{margin:.25rem 0}footer{margin-top:3rem}
.warning{background:var(--warn);border-left:4px solid var(--b);padding:.6rem .8rem}
.scroll{overflow-x:auto;margin:1rem 0 .25rem}
table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:.25rem 0;min-width:min(20rem,80vw)}
th,td{padding:.25rem .6rem;border-bottom:1px solid var(--rule);text-align:left;vertical-align:top;font-weight:400;overflow-wrap:normal}
thead th{font-weight:600;background:var(--shade)}.number{text-align:right;white-space:nowrap}tbody th{max-width:22rem;overflow-wrap:break-word;min-width:9rem}td.text{max-width:min(24rem,60vw);overflow-wrap:break-word}tbody .long{min-width:min(18rem,65vw)}#runs tbody th{max-width:min(56rem,70vw);font-weight:400}#runs tbody a{font-weight:600}tbody .group{max-width:none;font-weight:600;padding-top:.6rem}
svg.chart{width:100%;height:auto}
figure{margin:0;min-width:0;max-width:36rem}.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:1.5rem 2rem;margin:1.25rem 0}
article{border-top:1px solid var(--rule);padding:.75rem 0}
.strip{list-style:none;margin:.5rem 0;padding:0;display:flex;flex-wrap:wrap;gap:3px}
.strip li{max-width:100%}.strip li:has(details[open]){flex-basis:100%}
.strip summary{list-style:none;cursor:pointer;width:1.7rem;height:1.9rem;display:flex;align-items:center;justify-content:center;border:2px solid var(--soft);border-radius:4px;background:var(--shade);font:600 .8rem/1 ui-monospace,monospace}
.strip summary::-webkit-details-marker{display:none}.strip summary:focus-visible{outline:3px solid var(--a)}
.strip .user summary{border-radius:50%}.strip .other summary{border-style:dotted}
.strip .error summary{background:var(--b);color:var(--paper);border-color:var(--b)}.strip .unknown summary{border-style:dashed}
.strip li:not(:has(details[open])){width:1.7rem}
.strip li:has(details[open]) .lanes{display:none}
.lanes i{display:block;height:.72rem;margin:1px -3px 0 0;font:600 .62rem/.72rem ui-monospace,monospace;color:var(--paper);padding-left:2px}
.lanes .lane0{background:var(--a)}.lanes .lane1{background:var(--c)}.lanes .lane2{background:var(--d)}
pre{background:var(--shade);padding:.5rem;margin:.25rem 0;overflow-x:auto;white-space:pre-wrap;font-size:.8rem;max-height:24rem}
@media print{body{max-width:none;font-size:10pt}.scroll{overflow:visible}nav{display:none}figure,tr,article{break-inside:avoid}pre{max-height:none}}
";
