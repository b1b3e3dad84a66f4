//! 128-bit digests, used to compare names, arguments and observations without storing them.
//!
//! XXH3-128 is fast and well distributed, but not cryptographic: texts that are constructed to collide
//! compare as equal. The probability of a chance collision is negligible (below 10^-20 for 10^9 texts).

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use xxhash_rust::xxh3::{xxh3_128, xxh3_128_with_seed};

use super::action::Digests;
use super::canonical;
use super::step::{Event, Step};
use crate::error::{Error, ErrorKind};
use crate::json::{Json, Kind, Number, Read, spelling_of};

/// The digest of a text or a JSON value. Only equality is meaningful: the bits may change between versions of
/// this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Digest(u64, u64);

impl fmt::Display for Digest {
    /// Writes 32 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.0, self.1)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Digest {
    type Err = Error;

    /// Parses 32 hexadecimal digits.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] if the text is anything else.
    fn from_str(text: &str) -> Result<Self, Error> {
        let half = |range| text.get(range).and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match (half(0..16), half(16..32)) {
            (Some(high), Some(low)) if is_hex => Ok(Self(high, low)),
            _ => Err(Error::new(ErrorKind::Shape, "expected a digest of 32 hexadecimal digits")),
        }
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Hash for Digest {
    /// One half suffices as a hash.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0);
    }
}

const STRING: u64 = 1;
const NUMBER: u64 = 2;
const FLOAT: u64 = 3;
const ARRAY: u64 = 4;
const OBJECT: u64 = 5;
const OPAQUE: u64 = 6;
const PAIR: u64 = 7;
const KEY: u64 = 8;
// The discriminant of the actor is added to these two.
const MESSAGE: u64 = 16;
const ACTION: u64 = 32;

impl Digest {
    /// Returns the leading 64 bits, by which digests are sorted first. They are evenly distributed, as
    /// [`estimate`](super::distinct::estimate) requires.
    pub(crate) fn leading_bits(self) -> u64 {
        self.0
    }

    /// The digest of an absent value.
    pub(crate) const NONE: Self = Self(0, 0);

    /// Returns the digest of a plain text.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        Self::from_bits(xxh3_128(text.as_bytes()))
    }

    /// Returns the digest of the bytes of a JSON spelling, without quotes.
    pub(crate) fn of_spelling(inner: &[u8]) -> Self {
        Self::from_bits(xxh3_128(inner))
    }

    /// Returns the digest of the canonical JSON spelling of a text, so decoded and undecoded texts compare
    /// equal.
    pub(crate) fn of_decoded(text: &str) -> Self {
        Self::of_spelling(spelling_of(text).as_bytes())
    }

    /// Returns the digest of a JSON value: the order of keys does not matter at any level, and 1 equals 1.0.
    /// A value nested deeper than 128 levels has the digest of its canonical text as a string.
    #[must_use]
    pub fn of_value(value: &Value) -> Self {
        Self::of_json(&canonical::of_value(value))
    }

    /// Like [`Digest::of_value`], for a string.
    pub(crate) fn of_string(text: &str) -> Self {
        Self::of_json_string(spelling_of(text).as_bytes())
    }

    /// Like [`Digest::of_value`], for a string in canonical spelling. Most strings then need no decoding.
    pub(crate) fn of_json_string(spelling: &[u8]) -> Self {
        Self::tagged(STRING, spelling)
    }

    /// Returns the digest of a decoded key.
    fn of_key(name: &[u8]) -> Self {
        Self::tagged(KEY, name)
    }

    /// Like [`Digest::of_value`], for an object with one member whose value has this digest.
    pub(crate) fn of_sole_member(name: &str, value: Self) -> Self {
        object(&mut [(Self::of_key(name.as_bytes()), value)])
    }

    /// Like [`Digest::of_value`], for a JSON text. A text that is invalid or nested too deeply counts as a
    /// string.
    pub(crate) fn of_json(json: &str) -> Self {
        let mut reader = Json::new(json.as_bytes());
        match Self::read(&mut reader) {
            Ok(digest) if reader.peek_byte().is_none() => digest,
            _ => Self::of_string(json),
        }
    }

    /// Returns the digest of the next value.
    pub(crate) fn read(json: &mut Json<'_>) -> Read<Self> {
        Ok(match json.kind()? {
            Kind::String => {
                let string = json.text()?;
                match string.canonical_spelling() {
                    Some(spelling) => Self::of_json_string(&spelling),
                    None => Self::of_string(&string.decode()),
                }
            }
            Kind::Number => match json.number()? {
                // `serde_json` keeps only 64-bit integers exact; texts must have the digests of their values.
                Number::Integer(integer @ -0x8000_0000_0000_0000..=0xffff_ffff_ffff_ffff) => {
                    Self::tagged(NUMBER, &integer.to_le_bytes())
                }
                #[expect(clippy::cast_precision_loss, reason = "other readers convert it to a double too")]
                Number::Integer(integer) => Self::of_float(integer as f64),
                Number::Large(digits) => Self::of_float(digits.parse().unwrap_or(f64::MAX)),
                Number::Float(value) => Self::of_float(value),
            },
            Kind::Bool => Self::tagged(OPAQUE, if json.boolean()? { b"true" } else { b"false" }),
            Kind::Null => {
                json.null()?;
                Self::tagged(OPAQUE, b"null")
            }
            Kind::List => {
                let mut digest = Self::tagged(ARRAY, b"");
                json.list(|item| {
                    digest = digest.and(Self::read(item)?);
                    Ok(())
                })?;
                digest
            }
            Kind::Object => {
                // Most objects are small and need no allocation.
                let mut few = [(Self::NONE, Self::NONE); 8];
                let mut many = Vec::new();
                let mut count = 0;
                json.object(|key, value| {
                    let pair = (Self::of_key(key), Self::read(value)?);
                    if let Some(slot) = few.get_mut(count) {
                        *slot = pair;
                    } else {
                        if many.is_empty() {
                            many.extend_from_slice(&few);
                        }
                        many.push(pair);
                    }
                    count += 1;
                    Ok(())
                })?;
                object(if many.is_empty() { few.get_mut(..count).unwrap_or_default() } else { &mut many })
            }
        })
    }

    fn of_float(value: f64) -> Self {
        match integer(value) {
            Some(integer) => Self::tagged(NUMBER, &integer.to_le_bytes()),
            None => Self::tagged(FLOAT, &value.to_bits().to_le_bytes()),
        }
    }

    /// Returns the digest of a run without steps.
    pub(crate) fn of_nothing() -> Self {
        Self::tagged(ARRAY, b"")
    }

    /// Returns the digest of the run `self` extended by `step`.
    pub(crate) fn with_step(self, step: &Step<'_>) -> Self {
        let actor = step.actor() as u64;
        match step.event() {
            Event::Message(text) => Self::of_digests(MESSAGE + actor, [self, text.digest()]),
            Event::Action(action) => {
                let Digests { name, arguments, observation, .. } =
                    step.digests.unwrap_or_else(|| Digests::of(action));
                let [arguments, observation] =
                    [arguments, observation.present()].map(|digest| digest.unwrap_or(Self::NONE));
                Self::of_digests(ACTION + actor, [self, name, arguments, observation])
            }
        }
    }

    /// Returns the digest of arguments. Null counts as no arguments.
    pub(crate) fn of_arguments(arguments: &Value) -> Self {
        if arguments.is_null() { Self::of_no_arguments() } else { Self::of_value(arguments) }
    }

    /// Returns the digest of absent arguments, which equals that of an empty object.
    pub(crate) fn of_no_arguments() -> Self {
        Self::tagged(OBJECT, b"")
    }

    /// Combines two digests, in order.
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        Self::of_digests(PAIR, [self, other])
    }

    /// Combines several digests, in order.
    fn of_digests<const COUNT: usize>(tag: u64, digests: [Self; COUNT]) -> Self {
        Self::tagged(tag, digests.map(|digest| digest.bits().to_le_bytes()).as_flattened())
    }

    #[expect(clippy::cast_possible_truncation, reason = "the halves")]
    fn from_bits(bits: u128) -> Self {
        Self((bits >> 64) as u64, bits as u64)
    }

    fn bits(self) -> u128 {
        u128::from(self.0) << 64 | u128::from(self.1)
    }

    fn tagged(tag: u64, bytes: &[u8]) -> Self {
        Self::from_bits(xxh3_128_with_seed(bytes, tag))
    }
}

/// Returns the digest of an object. The order of the entries does not matter.
fn object(pairs: &mut [(Digest, Digest)]) -> Digest {
    // The sort is stable, so the last of duplicate keys wins, as in most JSON readers.
    pairs.sort_by_key(|(key, _)| *key);
    let mut digest = Digest::tagged(OBJECT, b"");
    for (position, (key, value)) in pairs.iter().enumerate() {
        if pairs.get(position + 1).is_none_or(|(next, _)| next != key) {
            digest = digest.and(key.and(*value));
        }
    }
    digest
}

/// Returns the integer that a float equals, if its magnitude is below 2^64.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
fn integer(value: f64) -> Option<i128> {
    const LIMIT: f64 = 18_446_744_073_709_551_616.0;
    (value.fract() == 0.0 && value.abs() < LIMIT).then_some(value as i128)
}

/// The digests of the members of a JSON object, by name.
#[derive(Debug, Default)]
pub(crate) struct Members(Vec<(Digest, Digest)>);

impl Members {
    /// Reads the members of a JSON object. Empty if the text does not begin with a valid object.
    pub(crate) fn of(json: &str) -> Self {
        let mut members = Vec::new();
        let read = Json::new(json.as_bytes()).object(|key, value| {
            members.push((Digest::of_key(key), Digest::read(value)?));
            Ok(())
        });
        if read.is_err() {
            members.clear();
        }
        // The sort is stable, so the last of duplicate keys wins.
        members.sort_by_key(|(key, _)| *key);
        Self(members)
    }

    /// Returns the digest of the object without these members.
    pub(crate) fn without(&self, names: &[&str]) -> Digest {
        let names: Vec<Digest> = names.iter().map(|name| Digest::of_key(name.as_bytes())).collect();
        let mut left: Vec<_> = self.0.iter().filter(|(key, _)| !names.contains(key)).copied().collect();
        object(&mut left)
    }

    /// Returns the digest of one member, or `None` without such a member.
    pub(crate) fn get(&self, name: &str) -> Option<Digest> {
        let wanted = Digest::of_key(name.as_bytes());
        let behind = self.0.partition_point(|(key, _)| *key <= wanted);
        let (key, value) = self.0.get(behind.checked_sub(1)?)?;
        (*key == wanted).then_some(*value)
    }
}

/// Returns the digest of one member of a JSON object, or `None` if it has no such member.
pub(crate) fn member(json: &str, name: &str) -> Option<Digest> {
    Members::of(json).get(name)
}

#[cfg(test)]
mod tests;
