//! JUnit XML, for CI.

use std::io::{self, Write};

use super::markup::xml_text;

/// A test suite in JUnit XML.
///
/// ```
/// use wrongturn::report::TestSuite;
///
/// let mut suite = TestSuite::new("runs");
/// suite.case("runs.jsonl", "a", &[]);
/// suite.case("runs.jsonl", "b", &[(Some("loop"), "the same answer 6 times", "steps 0-5")]);
/// suite.error("other.jsonl", "read", "other.jsonl: unknown input format");
/// let mut xml = Vec::new();
/// TestSuite::write("", &[suite], &mut xml)?;
/// assert!(String::from_utf8_lossy(&xml).contains(r#"<testsuite name="runs" tests="3" failures="1" errors="1">"#));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct TestSuite {
    name: String,
    cases: String,
    /// The numbers of cases, and of failed, skipped and erroneous ones.
    counts: [u64; 4],
}

impl TestSuite {
    /// Creates a suite without cases.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds a case with its failures, each with an optional type, a message and a text. A case without
    /// failures has passed.
    pub fn case(&mut self, class: &str, name: &str, failures: &[(Option<&str>, &str, &str)]) {
        let failure = |(kind, message, text): &(Option<&str>, &str, &str)| {
            let kind = kind.map(|kind| format!(" type=\"{}\"", xml_text(kind))).unwrap_or_default();
            let end = if text.is_empty() { "/>" } else { &format!(">{}</failure>", xml_text(text)) };
            format!("<failure{kind} message=\"{}\"{end}", xml_text(message))
        };
        let inside: String = failures.iter().map(failure).collect();
        self.push(class, name, &inside, [1, u64::from(!failures.is_empty()), 0, 0]);
    }

    /// Adds a case that was skipped for this reason.
    pub fn skipped(&mut self, class: &str, name: &str, why: &str) {
        self.push(class, name, &format!("<skipped message=\"{}\"/>", xml_text(why)), [1, 0, 1, 0]);
    }

    /// Adds a case that could not be run for this reason.
    pub fn error(&mut self, class: &str, name: &str, why: &str) {
        self.push(class, name, &format!("<error message=\"{}\"/>", xml_text(why)), [1, 0, 0, 1]);
    }

    fn push(&mut self, class: &str, name: &str, inside: &str, counts: [u64; 4]) {
        let end = if inside.is_empty() { "/>" } else { &format!(">{inside}</testcase>") };
        let (class, name) = (xml_text(class), xml_text(name));
        self.cases += &format!("<testcase classname=\"{class}\" name=\"{name}\"{end}\n");
        self.count(counts);
    }

    /// Adds the cases of another suite.
    pub fn append(&mut self, other: &Self) {
        self.cases += &other.cases;
        self.count(other.counts);
    }

    fn count(&mut self, counts: [u64; 4]) {
        for (sum, count) in self.counts.iter_mut().zip(counts) {
            *sum += count;
        }
    }

    fn attributes(&self) -> String {
        let [tests, failures, skipped, errors] = self.counts;
        let name = if self.name.is_empty() { "" } else { &format!(" name=\"{}\"", xml_text(&self.name)) };
        let [skipped, errors] = [("skipped", skipped), ("errors", errors)]
            .map(|(what, count)| if count > 0 { format!(" {what}=\"{count}\"") } else { String::new() });
        format!("{name} tests=\"{tests}\" failures=\"{failures}\"{errors}{skipped}")
    }

    /// Writes suites as one file. An empty `name` is omitted.
    ///
    /// # Errors
    /// If writing to `out` fails.
    pub fn write(name: &str, suites: &[Self], out: &mut impl Write) -> io::Result<()> {
        let mut all = Self::new(name);
        for suite in suites {
            all.count(suite.counts);
        }
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites{}>", all.attributes())?;
        for suite in suites {
            write!(out, "<testsuite{}>\n{}</testsuite>\n", suite.attributes(), suite.cases)?;
        }
        out.write_all(b"</testsuites>\n")
    }
}
