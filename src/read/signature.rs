//! Signatures: the marks by which a format is recognised, as data. They are checked against a document and
//! the first objects in it. Their `Display` form appears in errors and listings.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use super::document::Document;
use super::members::Members;
use super::words::DECISIVE_ITEMS;
use crate::json::{Kind, Raw};

/// The maximum number of list items that are checked.
pub(super) const SHOWN: usize = 64;

#[derive(Debug)]
pub(super) enum Mark {
    Has(&'static [&'static str]),
    /// One of these keys exists.
    HasOne(&'static [&'static str]),
    /// The value of this key is a list, or is incomplete or invalid.
    MayBeList(&'static str),
    /// The values of all of these keys are of this kind.
    Is(Kind, &'static [&'static str]),
    /// The value of the key is one of these strings. A `*` at one end matches any text.
    Says(&'static str, &'static [&'static str]),
    All(&'static [Mark]),
    Any(&'static [Mark]),
    Not(&'static Mark),
    /// The object under the key meets a condition.
    In(&'static str, &'static Mark),
    /// One of the first objects in the list under the key meets a condition.
    Holds(&'static str, &'static Mark),
    /// The list under the key is not empty, and each of its first items is an object that meets a condition.
    Every(&'static str, &'static Mark),
    /// One of the first values is an object that meets a condition.
    Values(&'static Mark),
    /// A condition that no other variant expresses, with its description.
    Test(&'static str, fn(&Members<'_>) -> bool),
}

use Mark::{All, Any, Every, Has, HasOne, Holds, In, Is, MayBeList, Not, Says, Test, Values};

impl Mark {
    pub(super) fn fits(&self, object: &Members<'_>) -> bool {
        match self {
            Has(keys) => keys.iter().all(|key| object.has(key)),
            HasOne(keys) => keys.iter().any(|key| object.has(key)),
            Is(kind, keys) => keys.iter().all(|key| object.is(key, *kind)),
            MayBeList(key) => object.is(key, Kind::List) || object.has(key) && object.get(key).is_none(),
            Says(key, patterns) => {
                object.name(key).is_some_and(|text| patterns.iter().any(|pattern| matches(&text, pattern)))
            }
            All(marks) => marks.iter().all(|mark| mark.fits(object)),
            Any(marks) => marks.iter().any(|mark| mark.fits(object)),
            Not(mark) => !mark.fits(object),
            In(key, mark) => object.get(key).is_some_and(|value| mark.fits_value(value)),
            Holds(key, mark) => first(object, key, SHOWN).into_iter().any(|item| mark.fits_value(item)),
            Every(key, mark) => {
                let items = first(object, key, DECISIVE_ITEMS);
                !items.is_empty() && items.into_iter().all(|item| mark.fits_value(item))
            }
            Values(mark) => object.iter().take(DECISIVE_ITEMS).any(|(_, value)| mark.fits_value(value)),
            Test(_, fits) => fits(object),
        }
    }

    pub(super) fn fits_value(&self, value: Raw<'_>) -> bool {
        value.kind() == Kind::Object && self.fits(&Members::from(value))
    }
}

fn first<'a>(object: &Members<'a>, key: &str, most: usize) -> Vec<Raw<'a>> {
    object.get(key).map(|list| list.first_items(most)).unwrap_or_default()
}

fn matches(text: &str, pattern: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => text.ends_with(end),
        (_, Some(start)) => text.starts_with(start),
        (None, None) => text == pattern,
    }
}

/// The part of an input that is checked.
#[derive(Debug)]
pub(super) enum Look<'d, 'a> {
    Object(&'d Members<'a>, Lists<'a>),
    /// The objects among the first items of a list.
    List(&'d [Members<'a>]),
    /// Lines that are objects.
    Lines(&'d [Members<'a>]),
}

impl<'d, 'a> Look<'d, 'a> {
    pub(super) fn objects(&self) -> &[Members<'a>] {
        match self {
            Self::Object(object, _) => std::slice::from_ref(object),
            Self::List(objects) | Self::Lines(objects) => objects,
        }
    }

    pub(super) fn of(object: &'d Members<'a>) -> Self {
        Self::Object(object, Lists::default())
    }

    /// Creates a view of a document. `shown` holds its first objects.
    pub(super) fn at(document: &'d Document<'a>, shown: &'d [Members<'a>]) -> Self {
        match document {
            Document::Object(object) => Self::of(object),
            Document::List(_) => Self::List(shown),
            Document::Lines(_) => Self::Lines(shown),
        }
    }
}

/// Caches the first objects in the lists of an object, by key, because many formats check the same lists.
#[derive(Debug, Default)]
pub(super) struct Lists<'a>(RefCell<BTreeMap<&'static str, Objects<'a>>>);

type Objects<'a> = Rc<[Members<'a>]>;

impl<'a> Lists<'a> {
    fn first(&self, object: &Members<'a>, key: &'static str) -> Objects<'a> {
        let look = || {
            let items = first(object, key, SHOWN).into_iter().filter(|item| item.kind() == Kind::Object);
            items.map(Members::from).collect()
        };
        Rc::clone(self.0.borrow_mut().entry(key).or_insert_with(look))
    }
}

#[derive(Debug)]
pub(super) enum Shape {
    /// The input is one object that meets the condition.
    Object(Mark),
    /// One of the items of a list, or one of the lines, meets it.
    Items(Mark),
    /// One of the items of a list meets it.
    List(Mark),
    /// One of the lines meets it.
    Lines(Mark),
    /// The object, one of the items, or one of the lines meets it.
    Each(Mark),
    /// One of the items or lines meets it, or, in an object, an item of the list under the first of these keys
    /// that holds a list.
    Under(&'static [&'static str], Mark),
    /// A condition on all checked objects at once, with its description.
    Together(&'static str, fn(&Look<'_, '_>) -> bool),
    /// A condition on a whole document, with its description.
    Document(&'static str, fn(&Document<'_>) -> bool),
}

impl Shape {
    /// Returns true if an input meets the condition. `document` is the whole input, if all of it has been
    /// read.
    pub(super) fn fits(&self, look: &Look<'_, '_>, document: Option<&Document<'_>>) -> bool {
        match (self, look) {
            (Self::Document(_, fits), _) => document.is_some_and(fits),
            (Self::Together(_, fits), look) => fits(look),
            (Self::Object(mark) | Self::Each(mark), Look::Object(object, _)) => mark.fits(object),
            (Self::Under(keys, mark), Look::Object(object, lists)) => {
                let list = keys.iter().find(|key| object.is(key, Kind::List));
                list.is_some_and(|key| lists.first(object, key).iter().any(|item| mark.fits(item)))
            }
            (
                Self::Items(mark) | Self::Each(mark) | Self::Under(_, mark),
                Look::List(items) | Look::Lines(items),
            )
            | (Self::List(mark), Look::List(items))
            | (Self::Lines(mark), Look::Lines(items)) => items.iter().any(|item| mark.fits(item)),
            _ => false,
        }
    }
}

/// Returns the objects among the first items of a document, or among all of its lines.
pub(super) fn shown<'a>(document: &Document<'a>) -> Vec<Members<'a>> {
    let most = if matches!(document, Document::Lines(_)) { usize::MAX } else { SHOWN };
    let objects = document.items().iter().take(most).filter(|item| item.kind() == Kind::Object);
    objects.map(|item| Members::from(*item)).collect()
}

fn joined<T>(items: &[T], separator: &str, show: impl Fn(&T) -> String) -> String {
    items.iter().map(show).collect::<Vec<_>>().join(separator)
}

fn quoted(key: &&str) -> String {
    format!("`{key}`")
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Has(keys) => f.write_str(&joined(keys, ", ", quoted)),
            HasOne(keys) => write!(f, "({})", joined(keys, " or ", quoted)),
            MayBeList(key) => write!(f, "`{key}` (a list)"),
            Is(kind, keys) => f.write_str(&joined(keys, ", ", |key| format!("`{key}` ({})", kind.name()))),
            Says(key, patterns) => write!(f, "`{key}` {}", patterns.join("|")),
            All(marks) => f.write_str(&joined(marks, ", ", ToString::to_string)),
            Any(marks) => write!(f, "({})", joined(marks, " or ", ToString::to_string)),
            Not(mark) => write!(f, "not {mark}"),
            In(key, mark) => write!(f, "`{key}` with [{mark}]"),
            Holds(key, mark) | Every(key, mark) => write!(f, "a list `{key}` of objects with [{mark}]"),
            Values(mark) => write!(f, "objects with [{mark}]"),
            Test(what, _) => f.write_str(what),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(mark) => write!(f, "an object with {mark}"),
            Self::Items(mark) => write!(f, "a list or lines of objects with {mark}"),
            Self::List(mark) => write!(f, "a list of objects with {mark}"),
            Self::Lines(mark) => write!(f, "lines with {mark}"),
            Self::Each(mark) => write!(f, "objects with {mark}"),
            Self::Under(keys, mark) => {
                write!(f, "objects with {mark}, in a list, in lines, or under {}", joined(keys, ", ", quoted))
            }
            Self::Together(what, _) | Self::Document(what, _) => f.write_str(what),
        }
    }
}
