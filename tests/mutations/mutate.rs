//! Mutates JSON text, sound or damaged, along its structure.

use std::ops::Range;
use std::sync::LazyLock;

/// A random number generator (`SplitMix64`). A seed gives the same mutations on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64, case: u64) -> Self {
        let mut random = Self(seed);
        let first = random.next();
        Self(first ^ case.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Returns a number below `bound`, or 0 if `bound` is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { usize::try_from(self.next() % bound as u64).unwrap() }
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }
}

/// A value in a text.
#[derive(Debug, Clone)]
struct Node {
    value: Range<usize>,
    key: Option<Range<usize>>,
    /// The index of the object or list that contains it.
    parent: Option<usize>,
}

impl Node {
    /// Returns the range of the key and the value.
    fn element(&self) -> Range<usize> {
        self.key.as_ref().map_or(self.value.start, |key| key.start)..self.value.end
    }
}

/// Finds the values of a text, which may be damaged.
fn nodes(text: &[u8]) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut key = None;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'}' | b']' => {
                if let Some(closed) = open.pop() {
                    nodes[closed].value.end = at;
                }
                key = None;
                continue;
            }
            b':' => {
                // A string before a colon was a key.
                if nodes.last().is_some_and(|last| text[last.value.start] == b'"' && last.key.is_none()) {
                    key = nodes.pop().map(|last| last.value);
                }
                continue;
            }
            b',' | b' ' | b'\t' | b'\r' | b'\n' => continue,
            b'"' => {
                while at < text.len() && text[at] != b'"' {
                    at += 1 + usize::from(text[at] == b'\\');
                }
                at = (at + 1).min(text.len());
            }
            b'{' | b'[' => {}
            _ => {
                let ends = |byte: &&u8| b",:{}[]\" \t\r\n".contains(byte);
                at = text[at..].iter().position(|byte| ends(&byte)).map_or(text.len(), |end| at + end);
            }
        }
        let is_open = matches!(byte, b'{' | b'[');
        let end = if is_open { text.len() } else { at };
        nodes.push(Node { value: start..end, key: key.take(), parent: open.last().copied() });
        if is_open {
            open.push(nodes.len() - 1);
        }
    }
    nodes
}

/// Returns the keys of texts, with their quotes.
pub(crate) fn keys<'a>(texts: impl Iterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let of =
        |text: &'a [u8]| nodes(text).into_iter().filter_map(|node| node.key).map(|key| text[key].to_vec());
    let mut keys: Vec<_> = texts.flat_map(of).collect();
    keys.sort();
    keys.dedup();
    keys
}

/// For each object that is an item of a list under these keys, or of the top-level list, returns a text in
/// which a number replaces the object.
pub(crate) fn with_items_replaced(text: &[u8], keys: &[&str]) -> Vec<Vec<u8>> {
    let nodes = nodes(text);
    let is_named = |list: &Node| match &list.key {
        Some(key) => keys.iter().any(|name| text[key.clone()] == *format!("\"{name}\"").as_bytes()),
        None => list.parent.is_none(),
    };
    let is_item = |node: &&Node| {
        let list = node.parent.map(|list| &nodes[list]);
        text[node.value.start] == b'{'
            && list.is_some_and(|list| text[list.value.start] == b'[' && is_named(list))
    };
    let replaced = |node: &Node| [&text[..node.value.start], b"7", &text[node.value.end..]].concat();
    nodes.iter().filter(is_item).map(replaced).collect()
}

/// Values of every kind, including extreme and broken ones.
static VALUES: LazyLock<Vec<String>> =
    LazyLock::new(|| serde_json::from_str(include_str!("values.json")).unwrap());

/// Bytes that affect a parser if they are in the wrong place.
const LITTER: [&[u8]; 24] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\\",
    b"\n",
    b"\r\n",
    b"\n\n",
    b" ",
    b"\0",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"null",
    b"7",
    b"//x\n",
    b"noise\n",
    b"]\n[",
    b"}\n{",
    b"PK\x03\x04",
];

/// Mutates a text once. `other` is another document, and `keys` are the keys of all documents.
pub(crate) fn mutate(text: &mut Vec<u8>, other: &[u8], keys: &[Vec<u8>], random: &mut Random) {
    let nodes = nodes(text);
    let at = random.below(text.len() + 1);
    if nodes.is_empty() {
        return insert(text, at, LITTER[random.below(LITTER.len())]);
    }
    let node = &nodes[random.below(nodes.len())];
    match random.below(32) {
        0..=3 => delete(text, node),
        4..=6 => {
            let copy = [b", ", &text[node.element()]].concat();
            insert(text, node.value.end, &copy);
        }
        7..=9 => {
            let like: Vec<_> = nodes.iter().filter(|other| other.parent == node.parent).collect();
            swap(text, node.element(), like[random.below(like.len())].element());
        }
        10..=14 => replace(text, node.value.clone(), VALUES[random.below(VALUES.len())].as_bytes()),
        15 | 16 => {
            let copy = text[nodes[random.below(nodes.len())].value.clone()].to_vec();
            replace(text, node.value.clone(), &copy);
        }
        17..=19 => {
            let named: Vec<_> = nodes.iter().filter_map(|node| node.key.clone()).collect();
            if !named.is_empty() {
                let key = named[random.below(named.len())].clone();
                let new = spelled(&keys[random.below(keys.len())], &text[key.clone()], random);
                replace(text, key, &new);
            }
        }
        20 => {
            let member = [
                b", ",
                &*keys[random.below(keys.len())],
                b": ",
                VALUES[random.below(VALUES.len())].as_bytes(),
            ];
            insert(text, node.value.end, &member.concat());
        }
        21 => wrap(text, node.value.clone(), random),
        22 => {
            let inner = String::from_utf8_lossy(&text[node.value.clone()]).into_owned();
            replace(text, node.value.clone(), &serde_json::to_vec(&inner).unwrap());
        }
        23 => text.truncate(at),
        24 => drop(text.drain(..at.min(random.below(200)))),
        25 | 26 => insert(text, at, LITTER[random.below(LITTER.len())]),
        27 => {
            let end = (at + random.below(20)).min(text.len());
            text.drain(at..end);
        }
        28 => break_lines(text, node, random),
        29 => join(text, other, random),
        30 => insert(text, 0, LITTER[random.below(LITTER.len())]),
        _ => inflate(text, node, random),
    }
}

fn insert(text: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    text.splice(at..at, bytes.iter().copied());
}

fn replace(text: &mut Vec<u8>, place: Range<usize>, by: &[u8]) {
    text.splice(place, by.iter().copied());
}

/// Removes an element and the comma after or before it.
fn delete(text: &mut Vec<u8>, node: &Node) {
    let Range { mut start, mut end } = node.element();
    let blank = |byte: &u8| byte.is_ascii_whitespace();
    let behind = end + text[end..].iter().take_while(|byte| blank(byte)).count();
    let before = start - text[..start].iter().rev().take_while(|byte| blank(byte)).count();
    if text.get(behind) == Some(&b',') {
        end = behind + 1;
    } else if before > 0 && text[before - 1] == b',' {
        start = before - 1;
    }
    text.drain(start..end);
}

fn swap(text: &mut Vec<u8>, one: Range<usize>, other: Range<usize>) {
    let (first, second) = if one.start <= other.start { (one, other) } else { (other, one) };
    if first.end <= second.start {
        let moved = [&text[second.clone()], &text[first.end..second.start], &text[first.clone()]].concat();
        replace(text, first.start..second.end, &moved);
    }
}

/// Returns another key, or the same key with an escape.
fn spelled(new: &[u8], old: &[u8], random: &mut Random) -> Vec<u8> {
    let escaped = |key: &[u8]| match key.get(1) {
        Some(byte @ b'a'..=b'z') => [format!("\"\\u{byte:04x}").as_bytes(), &key[2..]].concat(),
        _ => b"\"\"".to_vec(),
    };
    match random.below(6) {
        0 => escaped(old),
        1 => b"\"\"".to_vec(),
        2 => b"\"\\ud800\"".to_vec(),
        _ => new.to_vec(),
    }
}

fn wrap(text: &mut Vec<u8>, place: Range<usize>, random: &mut Random) {
    let depth = [1, 1, 1, 2, 120, 126, 127, 128, 129, 4000, 100_000][random.below(11)];
    let (open, close) = if random.below(2) == 0 { ("[", "]") } else { ("{\"a\":", "}") };
    // The brackets replace the value or enclose it.
    let inner = if random.below(4) == 0 { Vec::new() } else { text[place.clone()].to_vec() };
    let closed = if random.below(6) == 0 { 0 } else { depth };
    replace(text, place, &[open.repeat(depth).as_bytes(), &inner, close.repeat(closed).as_bytes()].concat());
}

/// Changes, adds or removes line ends.
fn break_lines(text: &mut Vec<u8>, node: &Node, random: &mut Random) {
    match random.below(4) {
        0 => text.retain(|byte| *byte != b'\n'),
        1 => insert(text, node.value.end, b"\n"),
        2 => insert(text, node.element().start, b"\n"),
        _ => {
            let line = random.pick::<[u8]>(&[b"\r\n", b"\r", b"\n\n", b"\n \t"]);
            *text = text.split(|byte| *byte == b'\n').collect::<Vec<_>>().join(line);
        }
    }
}

/// Joins two documents into one.
fn join(text: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let between = random.pick::<[u8]>(&[b"", b" ", b"\n", b",", b"\n\n", b"\0"]);
    match random.below(4) {
        0 => *text = [text, between, other].concat(),
        1 => *text = [other, between, text].concat(),
        2 => *text = [b"[", &**text, b",", other, b"]"].concat(),
        _ => {
            let mut others = other.split(|byte| *byte == b'\n');
            let mut lines = Vec::new();
            for line in text.split(|byte| *byte == b'\n') {
                lines.push(line);
                lines.extend(others.next());
            }
            lines.extend(others);
            *text = lines.join(&b'\n');
        }
    }
}

/// Makes the text longer than a sample or a read buffer.
fn inflate(text: &mut Vec<u8>, node: &Node, random: &mut Random) {
    let size = (64 << 10) - 200 + random.below(400);
    match random.below(4) {
        0 => insert(text, node.element().start, &b" ".repeat(size)),
        1 => insert(text, node.element().start, &b"\n".repeat(size)),
        2 => replace(text, node.value.clone(), format!("\"{}\"", "long \\n".repeat(size / 7)).as_bytes()),
        _ => {
            let element = [b", ", &text[node.element()]].concat();
            insert(text, node.value.end, &element.repeat(size / element.len()));
        }
    }
}

/// Returns smaller texts that may show the same fault.
pub(crate) fn smaller(text: &[u8]) -> Vec<Vec<u8>> {
    let mut texts = Vec::new();
    let mut part = text.len() / 2;
    while part > 0 && (texts.len() < 600 || text.len() < 2000) {
        for start in (0..text.len()).step_by(part) {
            texts.push([&text[..start], &text[(start + part).min(text.len())..]].concat());
        }
        part /= 2;
    }
    for node in nodes(text).iter().take(300) {
        let mut without = text.to_vec();
        delete(&mut without, node);
        texts.push(without);
        for by in ["0", "[]", "\"\""] {
            if node.value.len() > 2 {
                let mut simpler = text.to_vec();
                replace(&mut simpler, node.value.clone(), by.as_bytes());
                texts.push(simpler);
            }
        }
    }
    texts.retain(|smaller| smaller.len() < text.len());
    texts
}
