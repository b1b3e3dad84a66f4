//! Names for the variants of enums, the same in text and in serde.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserializer, Error, Visitor};

/// Defines an enum whose variants have names, with `VARIANTS`, `name`, `Display`, `FromStr`, `Serialize` and
/// `Deserialize`. Derives `Debug`, `Clone`, `Copy`, `PartialEq`, `Eq` and `Hash`.
///
/// ```text
/// named! {
///     pub enum Status: "status" {
///         Ok = "ok",
///         Error = "error",
///     }
/// }
/// ```
macro_rules! named {
    ($(#[$meta:meta])* $vis:vis enum $type:ident: $what:literal {
        $($(#[$of_variant:meta])* $variant:ident = $name:literal),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        $vis enum $type {
            $($(#[$of_variant])* $variant),+
        }

        impl $type {
            /// All variants, in the order of declaration.
            pub const VARIANTS: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl ::std::str::FromStr for $type {
            type Err = $crate::Error;

            /// Parses a name.
            ///
            /// # Errors
            /// [`ErrorKind::Config`]($crate::ErrorKind::Config) for an unknown name; the message lists the
            /// known names.
            fn from_str(name: &str) -> ::std::result::Result<Self, $crate::Error> {
                match name {
                    $($name => Ok(Self::$variant),)+
                    _ => Err($crate::names::unknown($what, name, Self::VARIANTS)),
                }
            }
        }

        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> ::std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> ::std::result::Result<Self, D::Error> {
                $crate::names::read(deserializer, $what, &[$($name),+])
            }
        }
    };
}
pub(crate) use named;

/// Makes the error for an unknown name. It lists the names that contain this one, or all names if none does.
pub(crate) fn unknown<T: fmt::Display>(what: &str, name: &str, known: &[T]) -> crate::Error {
    let mut names: Vec<String> = known.iter().map(ToString::to_string).collect();
    let is_near = |known: &String| !name.is_empty() && known.contains(name);
    if names.iter().any(is_near) {
        names.retain(is_near);
    }
    crate::Error::new(
        crate::ErrorKind::Config,
        format!("unknown {what} `{name}`; expected one of {}", names.join(", ")),
    )
}

/// Deserializes an enum from its name.
pub(crate) fn read<'de, D: Deserializer<'de>, T: FromStr>(
    deserializer: D,
    what: &'static str,
    known: &'static [&'static str],
) -> Result<T, D::Error> {
    deserializer.deserialize_str(Named { what, known, read: PhantomData })
}

struct Named<T> {
    what: &'static str,
    known: &'static [&'static str],
    read: PhantomData<T>,
}

impl<T: FromStr> Visitor<'_> for Named<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of the names of `{}`", self.what)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<T, E> {
        name.parse().map_err(|_| E::unknown_variant(name, self.known))
    }
}

#[cfg(test)]
mod tests {
    use crate::Status;
    use crate::trace::{Actor, Provenance, UnknownReason};

    #[test]
    fn a_name_is_read_as_it_is_written() {
        for reason in UnknownReason::VARIANTS {
            assert_eq!(reason.to_string().parse::<UnknownReason>().unwrap(), *reason);
            let json = serde_json::to_string(reason).unwrap();
            assert_eq!(json, format!("\"{reason}\""));
            assert_eq!(serde_json::from_str::<UnknownReason>(&json).unwrap(), *reason);
        }
        assert_eq!(Provenance::ExitCode.to_string(), "exit_code");
        assert_eq!(format!("{:>7}|{:<6}|", Actor::Agent, Status::Ok), "  agent|ok    |");
    }

    #[test]
    fn an_unknown_name_is_reported_with_those_there_are() {
        let error = "fine".parse::<Status>().unwrap_err();
        assert_eq!(error.to_string(), "unknown status `fine`; expected one of ok, error, unknown");
        let error = "unk".parse::<Status>().unwrap_err();
        assert_eq!(error.to_string(), "unknown status `unk`; expected one of unknown");
        let error = "".parse::<Status>().unwrap_err();
        assert!(error.to_string().ends_with("expected one of ok, error, unknown"), "{error}");
        let error = serde_json::from_str::<Status>("\"fine\"").unwrap_err();
        assert!(error.to_string().starts_with("unknown variant `fine`, expected one of `ok`"), "{error}");
        assert!(serde_json::from_str::<Status>("7").is_err());
    }
}
