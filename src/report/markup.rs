//! HTML and SVG that no text can break: every text is escaped.
//!
//! `maud` does the same with a procedural macro, which every build with `statistics` would compile; pages and
//! charts need one function for an element and one for a text.

#[derive(Debug, Default)]
pub(super) struct Markup(String);

impl Markup {
    /// Adds an element with the content that `inside` adds. Tags and attribute names are constants, never
    /// recorded text.
    pub(super) fn element(
        &mut self,
        tag: &'static str,
        attributes: &[(&'static str, &str)],
        inside: impl FnOnce(&mut Self),
    ) {
        self.open(tag, attributes);
        self.0.push('>');
        inside(self);
        self.0.push_str("</");
        self.0.push_str(tag);
        self.0.push('>');
    }

    pub(super) fn leaf(&mut self, tag: &'static str, attributes: &[(&'static str, &str)], text: &str) {
        self.element(tag, attributes, |inside| inside.text(text));
    }

    pub(super) fn shape(&mut self, tag: &'static str, attributes: &[(&'static str, &str)]) {
        self.open(tag, attributes);
        self.0.push_str("/>");
    }

    pub(super) fn void(&mut self, tag: &'static str, attributes: &[(&'static str, &str)]) {
        self.open(tag, attributes);
        self.0.push('>');
    }

    pub(super) fn text(&mut self, text: &str) {
        escape(text, &mut self.0);
    }

    /// Adds constant markup without escaping it.
    pub(super) fn constant(&mut self, markup: &'static str) {
        self.0.push_str(markup);
    }

    pub(super) fn append(&mut self, other: &Self) {
        self.0.push_str(&other.0);
    }

    pub(super) fn line(&mut self) {
        self.0.push('\n');
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn finish(self) -> String {
        self.0
    }

    fn open(&mut self, tag: &'static str, attributes: &[(&'static str, &str)]) {
        self.0.push('<');
        self.0.push_str(tag);
        for (name, value) in attributes {
            self.0.push(' ');
            self.0.push_str(name);
            self.0.push_str("=\"");
            escape(value, &mut self.0);
            self.0.push('"');
        }
    }
}

/// Escapes a text for an attribute or the content of an XML element, with line feeds and tabs as references, since
/// parsers turn them into spaces in attributes.
pub(super) fn xml_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape(text, &mut out);
    out.replace('\n', "&#10;").replace('\t', "&#9;")
}

/// Escapes a text for content or attributes, and replaces unprintable characters.
fn escape(text: &str, out: &mut String) {
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter if is_unprintable(letter) => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
}

/// Returns true for control characters other than line feeds and tabs, for characters that change the
/// direction of text, and for U+FFFE and U+FFFF.
pub(super) fn is_unprintable(letter: char) -> bool {
    letter.is_control() && !matches!(letter, '\n' | '\t')
        || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::super::table::markdown_text;

    #[test]
    fn markdown_holds_neither_links_nor_controls_of_recorded_texts() {
        assert_eq!(
            markdown_text("![a](http://b) \u{1b}[2J\u{202e} c|d"),
            "![a]\\(http://b) \u{fffd}[2J\u{fffd} c\\|d"
        );
    }
}
