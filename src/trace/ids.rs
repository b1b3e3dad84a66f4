//! Ids of traces and spans.

use std::fmt;
use std::num::{NonZeroU64, NonZeroU128};
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

use crate::error::{Error, Result};

/// The id of a trace in a tracing system: 128 bits, not all zero, written as 32 lower-case hexadecimal
/// digits.
///
/// ```
/// use wrongturn::trace::TraceId;
///
/// let id: TraceId = "0AF7651916CD43DD8448EB211C80319C".parse()?;
/// assert_eq!(id.to_string(), "0af7651916cd43dd8448eb211c80319c");
/// assert!("0".repeat(32).parse::<TraceId>().is_err());
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceId(NonZeroU128);

/// The id of a span: 64 bits, not all zero, written as 16 lower-case hexadecimal digits.
///
/// ```
/// use wrongturn::trace::SpanId;
///
/// let id: SpanId = "b7ad6b7169203331".parse()?;
/// assert_eq!(SpanId::from_bytes(id.to_bytes()), Some(id));
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpanId(NonZeroU64);

macro_rules! id {
    ($id:ident, $number:ident, $inner:ident, $bytes:literal, $what:literal) => {
        impl $id {
            /// Makes an id from big-endian bytes, or `None` if all are zero.
            #[must_use]
            pub fn from_bytes(bytes: [u8; $bytes]) -> Option<Self> {
                $inner::new($number::from_be_bytes(bytes)).map(Self)
            }

            /// Returns the id as big-endian bytes.
            #[must_use]
            pub fn to_bytes(self) -> [u8; $bytes] {
                self.0.get().to_be_bytes()
            }
        }

        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:0width$x}", self.0.get(), width = 2 * $bytes)
            }
        }

        impl FromStr for $id {
            type Err = Error;

            /// Parses hexadecimal digits in either case.
            ///
            /// # Errors
            /// [`ErrorKind::Trace`](crate::ErrorKind::Trace) if the length is wrong, a character is not a
            /// hexadecimal digit, or all digits are zero.
            fn from_str(text: &str) -> Result<Self> {
                let digits = text.len() == 2 * $bytes && text.bytes().all(|byte| byte.is_ascii_hexdigit());
                let number = if digits { $number::from_str_radix(text, 16).ok() } else { None };
                number.and_then($inner::new).map(Self).ok_or_else(|| {
                    Error::trace(format!("`{}` is not the id of a {}", crate::error::echo(text), $what))
                })
            }
        }

        impl Serialize for $id {
            fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $id {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(TraceId, u128, NonZeroU128, 16, "trace");
id!(SpanId, u64, NonZeroU64, 8, "span");
