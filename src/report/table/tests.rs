//! One table in all its forms.

use super::*;
use crate::stats::Interval;

fn sample() -> Table {
    let mut table = Table::new(
        "sample",
        "A sample of 50% & more",
        &[
            ("model", "model", Kind::Text),
            ("n", "n", Kind::Number),
            ("r", "r", Kind::Number),
            ("ci", "95% interval", Kind::Interval),
            ("p", "p", Kind::Number),
        ],
    );
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
    assert!(latex.contains(r"\caption{A sample of 50\% \& more}"), "{latex}");
    assert!(
        latex.contains(
            r#"a\_b\textbar{}\textless{}c\textgreater{}, "d" & 7 & $+0.3333$ & $[-0.100,+0.250]$ & $2e-7$ \\"#
        ),
        "{latex}"
    );
}

#[test]
fn latex_takes_no_letter_that_pdflatex_does_not() {
    assert!(sample().latex().starts_with("\\begin{table}\n"));
    let shown = latex_text("Q, I², τ²: |r| ≥ 0.5 − x…, 1–2 ± 3");
    let wanted = r"Q, I$^2$, $\tau$$^2$: \textbar{}r\textbar{} $\geq$ 0.5 $-$ x\ldots{}, 1--2 $\pm$ 3";
    assert_eq!(shown, wanted);
    let inference =
        crate::replicate::Inference::of(&[], &crate::replicate::InferenceOptions::default()).unwrap();
    for table in crate::report::replication_tables(&inference) {
        assert!(table.latex().is_ascii(), "{}", table.latex());
    }
}

#[test]
fn a_column_that_says_nothing_is_not_shown() {
    let columns = [("a", "alpha", Kind::Text), ("b", "beta", Kind::Text), ("n", "n", Kind::Number)];
    let mut table = Table::new("sample", "A sample", &columns);
    table.row([Cell::text("x"), Cell::text(""), Cell::Missing]);
    assert_eq!(table.text(80), "A sample\n  alpha  n\n  -----  -\n  x      –\n");
    // Machines get it all the same.
    assert_eq!(table.csv().unwrap(), "a,b,n\nx,,\n");
    table.row([Cell::text("y"), Cell::text("z"), Cell::Missing]);
    assert!(table.text(80).contains("  alpha  beta  n\n"));
}

#[test]
fn long_words_are_broken_and_names_shortened() {
    assert_eq!(wrapped("ab cde fghijkl", 5), ["ab", "cde", "fghij", "kl"]);
    assert_eq!(shortened("abcdefgh", 5), "ab…gh");
    assert_eq!(shortened("äöü", 3), "äöü");
}
