//! One table in all its forms.

use super::latex::{latex_paragraph, latex_text};
use super::*;
use crate::stats::Interval;

fn sample() -> Table {
    let mut table =
        Table::new("sample", "A sample of 50% & more", &["model | n # | r # | ci=95% interval ~ | p #"]);
    table.row([
        Cell::text("a_b|<c>, \"d\""),
        Cell::Count(7),
        Cell::Signed(1.0 / 3.0, 4),
        Cell::SignedInterval(Interval { low: -0.1, high: 0.25 }, 3),
        Cell::P(1.6e-7),
    ]);
    table.row([Cell::text("x".repeat(60)), Cell::Missing, Cell::Missing, Cell::Missing, Cell::Missing]);
    table.note("A note.");
    table
}

#[test]
fn text_fits_whatever_the_width() {
    for width in [40, 60, 80, 120, usize::MAX] {
        let text = sample().text(width);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}\n{text}");
        assert!(text.lines().all(|line| line == line.trim_end()));
        for part in ["+0.3333", "[-0.100,+0.250]", "2e-7", "A note."] {
            assert!(text.contains(part), "{width}: no {part}\n{text}");
        }
    }
    assert!(sample().text(usize::MAX).contains(&"x".repeat(60)));
    assert!(sample().grouped().text(80).contains("\na_b|<c>, \"d\"\n"));
}

#[test]
fn csv_has_every_digit_and_quotes_what_needs_it() {
    let csv = sample().csv().unwrap();
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("model,n,r,ci_low,ci_high,p"));
    assert_eq!(lines.next(), Some("\"a_b|<c>, \"\"d\"\"\",7,0.3333333333333333,-0.1,0.25,0.00000016"));
    assert_eq!(lines.next().map(|line| line.ends_with("x,,,,,")), Some(true));
}

#[test]
fn markdown_and_latex_escape() {
    let markdown = sample().markdown();
    assert!(
        markdown.contains("| a_b\\|&lt;c>, \"d\" | 7 | +0.3333 | [-0.100,+0.250] | 2e-7 |"),
        "{markdown}"
    );
    let latex = sample().latex();
    assert!(latex.contains(r"\caption{A sample of 50\% \& more}\label{tab:sample}"), "{latex}");
    assert!(
        latex.contains(
            r#"a\_\allowbreak{}b\textbar{}\textless{}c\textgreater{}, "d" & 7 & $+0.3333$ & $[-0.100,+0.250]$ & $2e-7$ \\"#
        ),
        "{latex}"
    );
}

#[test]
fn latex_fits_a_page() {
    assert!(sample().latex().starts_with("\\begin{table}[htbp]\n"));
    let mut long = sample();
    for _ in 0..40 {
        long.row([Cell::text("m"), Cell::Count(1), Cell::Missing, Cell::Missing, Cell::Missing]);
        assert_eq!(latex_paragraph("of a/b"), r"of a/\allowbreak{}b");
    }
    assert!(long.latex().contains("\\begin{longtable}{") && long.latex().contains("\\endhead"));
    let mut wide = Table::new("wide", "Wide", &["number=a number #"; 12]);
    wide.row(vec![Cell::Count(1); 12]);
    assert_eq!(wide.latex().matches("\\begin{table}").count(), 2, "{}", wide.latex());
    assert!(wide.latex().contains("\\label{tab:wide-2}"));
}

#[test]
fn latex_takes_no_letter_that_pdflatex_does_not() {
    let shown = latex_text("Q, I², τ²: |r| ≥ 0.5 − x…, 1–2 ± 3");
    let wanted = r"Q, I$^2$, $\tau$$^2$: \textbar{}r\textbar{} $\geq$ 0.5 $-$ x\ldots{}, 1--2 $\pm$ 3";
    assert_eq!(shown, wanted);
    let options = crate::replicate::ReplicationOptions::default();
    let analysis = crate::replicate::ReplicationAnalysis::of(&[], &options).unwrap();
    let latex =
        crate::report::replication_document(&analysis, &crate::report::ReplicationView::default()).latex();
    assert!(latex.is_ascii(), "{latex}");
}

#[test]
fn percentages_of_intervals_are_escaped() {
    let mut table = Table::new("rates", "Rates", &["rate_ci95=95% CI ~"]);
    table.row([Cell::ShareInterval(Interval { low: 0.103, high: 0.225 })]);
    assert!(table.latex().contains(r"$[10.3\%, 22.5\%]$ \\"), "{}", table.latex());
    assert_eq!(table.csv().unwrap(), "rate_ci95_low,rate_ci95_high\n0.103,0.225\n");
}

#[test]
fn labels_are_cut_if_a_table_fits_then() {
    let mut table = Table::new("models", "Models", &["model | agent | runs #"]);
    let name = "a-model-with-a-name-of-forty-characters-";
    table.row([Cell::text(name), Cell::text(name), Cell::Count(7)]);
    let text = table.text(80);
    assert!(text.lines().all(|line| line.chars().count() <= 80) && text.lines().count() == 4, "{text}");
    assert!(text.ends_with("     7\n"), "{text}");
}

#[test]
fn an_empty_column_is_not_shown() {
    let mut table = Table::new("sample", "A sample", &["a=alpha | b=beta | n #"]);
    table.row([Cell::text("x"), Cell::text(""), Cell::Missing]);
    assert_eq!(table.text(80), "A sample\n  alpha\n  -----\n  x\n");
    // CSV has every column.
    assert_eq!(table.csv().unwrap(), "a,b,n\nx,,\n");
    table.row([Cell::text("y"), Cell::text("z"), Cell::Count(1)]);
    assert_eq!(table.text(80).lines().nth(3), Some("  x            –"));
}
