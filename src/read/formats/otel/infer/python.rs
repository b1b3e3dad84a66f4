//! Parses Python's `repr`: literals, and calls such as `ToolCall(id='a')`, which become objects.

use super::prelude::*;

const MAX_DEPTH: u32 = 64;

/// Maximum number of opening parentheses in the name of an enum member. A search may begin at each of them and scan
/// the whole name, which would take quadratic time.
const MOST_OPENED: u32 = 64;

pub(crate) fn literal(text: &str) -> Option<Data<'static>> {
    read(text).map(|(value, _)| value)
}

/// Parses a literal of built-in types. Returns `None` if it holds any other object, `nan` or `inf`.
pub(crate) fn plain_literal(text: &str) -> Option<Data<'static>> {
    read(text).filter(|(_, is_plain)| *is_plain).map(|(value, _)| value)
}

fn read(text: &str) -> Option<(Data<'static>, bool)> {
    let mut reader = Reader::new(text.trim_end());
    let value = reader.value(0)?;
    reader.rest.is_empty().then_some((value, reader.is_plain))
}

/// Parses the list after the first mention of a name in a text.
pub(crate) fn list_after(text: &str, name: &str) -> Option<Data<'static>> {
    let rest = text.get(text.find(name)? + name.len()..)?;
    let rest = rest.trim_start_matches(['\'', '"', ':', '=', ' ']);
    if !rest.starts_with('[') {
        return None;
    }
    Reader::new(rest).value(0)
}

/// Finds all calls with this name in a text, each as an object of its arguments. The key of a positional argument is
/// its index among the positional ones.
pub(crate) fn calls(text: &str, name: &str) -> Vec<Members<'static>> {
    let opening = format!("{name}(");
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(&opening)) {
        let start = from + at;
        from = start + opening.len();
        let before = text.get(..start).and_then(|before| before.chars().next_back());
        if before.is_some_and(|before| before.is_alphanumeric() || before == '_') {
            continue;
        }
        let mut reader = Reader::new(text.get(start..).unwrap_or_default());
        if let Some(Data::Object(members)) = reader.value(0) {
            found.push(members);
            from = text.len() - reader.rest.len();
        }
    }
    found
}

struct Reader<'a> {
    rest: &'a str,
    /// False if a value is a call, a `<…>`, `nan` or `inf`, which [`Data`] cannot represent exactly.
    is_plain: bool,
}

impl<'a> Reader<'a> {
    fn new(rest: &'a str) -> Self {
        Self { rest, is_plain: true }
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn peek(&mut self) -> Option<char> {
        self.space();
        self.rest.chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        self.space();
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Reads comma-separated items between two characters.
    fn each(&mut self, ends: [char; 2], mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        let [open, close] = ends;
        self.take(open);
        while !self.take(close) {
            item(self)?;
            if !self.take(',') && self.peek()? != close {
                return None;
            }
        }
        Some(())
    }

    fn value(&mut self, depth: u32) -> Option<Data<'static>> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.peek()? {
            '{' => self.dict(depth + 1),
            '[' => self.items(['[', ']'], depth + 1),
            '(' => self.items(['(', ')'], depth + 1),
            '\'' | '"' => self.string(),
            '<' => self.member_of_enum(depth + 1),
            '-' | '+' | '.' | '0'..='9' => self.number(),
            char if char.is_alphabetic() || char == '_' => self.word(depth + 1),
            _ => None,
        }
    }

    fn dict(&mut self, depth: u32) -> Option<Data<'static>> {
        let (mut members, mut items) = (Vec::new(), Vec::new());
        self.each(['{', '}'], |reader| {
            let key = reader.value(depth)?;
            if reader.take(':') {
                let key = match key {
                    Data::Text(key) => key,
                    other => Cow::Owned(other.to_json()),
                };
                members.push((key, reader.value(depth)?));
            } else {
                items.push(key);
            }
            Some(())
        })?;
        Some(if items.is_empty() { Data::Object(members.into_iter().collect()) } else { Data::List(items) })
    }

    fn items(&mut self, ends: [char; 2], depth: u32) -> Option<Data<'static>> {
        let mut items = Vec::new();
        self.each(ends, |reader| reader.value(depth).map(|item| items.push(item)))?;
        Some(Data::List(items))
    }

    /// Parses an enum member, such as `<Role.TOOL: 'tool'>`, as its value. Any other `<…>` becomes null.
    fn member_of_enum(&mut self, depth: u32) -> Option<Data<'static>> {
        self.is_plain = false;
        let mut opened = 0;
        let colon = self.rest.find(|char: char| {
            opened += u32::from(char == '(');
            matches!(char, ':' | '>') || opened > MOST_OPENED
        })?;
        let found = if self.rest.get(colon..)?.starts_with(':') {
            self.rest = self.rest.get(colon + 1..)?;
            self.value(depth)?
        } else {
            // If there are too many parentheses, the search stopped at one of them, so there is no `>` here.
            self.rest = self.rest.get(colon..)?;
            Data::Null
        };
        self.take('>').then_some(found)
    }

    fn number(&mut self) -> Option<Data<'static>> {
        let end = self
            .rest
            .find(|char: char| !(char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '+' | '_')));
        let (digits, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        let digits = digits.replace('_', "");
        if let Ok(integer) = digits.parse::<i64>() {
            return Some(Data::Number(integer.into()));
        }
        serde_json::Number::from_f64(digits.parse().ok()?).map(Data::Number)
    }

    /// Parses a constant, a string literal with a prefix, or a call.
    fn word(&mut self, depth: u32) -> Option<Data<'static>> {
        let end = self.rest.find(|char: char| !(char.is_alphanumeric() || matches!(char, '_' | '.')));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        match (word, rest.chars().next()) {
            ("True" | "true", _) => Some(Data::Bool(true)),
            ("False" | "false", _) => Some(Data::Bool(false)),
            ("None" | "null", _) => Some(Data::Null),
            ("b" | "u", Some('\'' | '"')) => self.string(),
            (_, Some('(')) => self.call(depth),
            ("nan" | "inf", _) => {
                self.is_plain = false;
                Some(Data::Null)
            }
            _ => None,
        }
    }

    fn call(&mut self, depth: u32) -> Option<Data<'static>> {
        self.is_plain = false;
        let (mut members, mut unnamed) = (Vec::new(), 0);
        self.each(['(', ')'], |reader| {
            reader.space();
            let end = reader.rest.find(|char: char| !(char.is_alphanumeric() || char == '_'));
            let (name, rest) = reader.rest.split_at(end.unwrap_or(0));
            let key = if let Some(value) = rest.strip_prefix('=').filter(|_| !name.is_empty()) {
                reader.rest = value;
                name.to_owned()
            } else {
                unnamed += 1;
                (unnamed - 1).to_string()
            };
            members.push((Cow::Owned(key), reader.value(depth)?));
            Some(())
        })?;
        Some(Data::Object(members.into_iter().collect()))
    }

    /// Parses a string literal as `repr` writes it: between single or double quotation marks, never triple ones.
    fn string(&mut self) -> Option<Data<'static>> {
        let mut chars = self.rest.chars();
        let quote = chars.next()?;
        let mut text = String::new();
        loop {
            match chars.next()? {
                char if char == quote => break,
                '\\' => match chars.next()? {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    '\n' => {}
                    escaped @ ('\\' | '\'' | '"') => text.push(escaped),
                    kind @ ('x' | 'u' | 'U') => {
                        let digits = match kind {
                            'x' => 2,
                            'u' => 4,
                            _ => 8,
                        };
                        let (code, rest) = chars.as_str().split_at_checked(digits)?;
                        let code = u32::from_str_radix(code, 16).ok()?;
                        text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                        chars = rest.chars();
                    }
                    other => text.extend(['\\', other]),
                },
                char => text.push(char),
            }
        }
        self.rest = chars.as_str();
        Some(Data::Text(Cow::Owned(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_read_as_data() {
        for (text, json) in [
            (
                r#"{"it's": ('a', 'b',), 1: [], 'n': -1_000, 'no': None}"#,
                r#"{"1":[],"it's":["a","b"],"n":-1000,"no":null}"#,
            ),
            (r"['tab\t\x41\u00e9\'', '', b'x', '\d']", r#"["tab\tAé'","","x","\\d"]"#),
            (
                "Point(x=1, y=[Inner('a')], role=<Role.TOOL: 'tool'>)",
                r#"{"role":"tool","x":1,"y":[{"0":"a"}]}"#,
            ),
            ("<bound method A.b of A(x=B())>", "null"),
        ] {
            assert_eq!(literal(text).map(|data| data.to_json()).as_deref(), Some(json), "{text}");
        }
        for text in ["", "{", "{'a' 1}", "'open", "hello there", "f(", "[1, 2", "1 2", &"[".repeat(500)] {
            assert_eq!(literal(text), None, "{text}");
        }
    }

    #[test]
    fn parentheses_in_enum_members_are_limited() {
        let long = |opened: usize| format!("f(<{}{}: 1>)", "x".repeat(5000), "g(".repeat(opened));
        assert_eq!([64, 65].map(|opened| literal(&long(opened)).is_some()), [true, false]);
        assert!(calls(&"ToolCall(<".repeat(1000), "ToolCall").is_empty());
        assert!(calls("MyToolCall(id=1) ToolCall(", "ToolCall").is_empty());
    }
}
