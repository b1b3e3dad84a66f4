//! Names of values: one list gives `name`, `Display`, `FromStr` and the list of all.

/// Gives an enum its names. They are those of its serde form, which a test holds them to.
macro_rules! named {
    ($type:ident, $what:literal, $($variant:ident => $name:literal),+ $(,)?) => {
        impl $type {
            /// Every value.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The value's name, as in JSON.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::Error;

            fn from_str(name: &str) -> $crate::Result<Self> {
                Self::ALL.into_iter().find(|value| value.name() == name).ok_or_else(|| {
                    let names: &[&str] = &[$($name),+];
                    $crate::Error::config($what, format!("`{name}` is none of {}", names.join(", ")))
                })
            }
        }
    };
}

pub(super) use named;

#[cfg(test)]
mod tests {
    use super::super::*;

    #[test]
    fn names_are_those_of_the_serde_form() {
        macro_rules! check {
            ($($type:ident),+) => {$(
                for value in $type::ALL {
                    assert_eq!(serde_json::to_value(value).unwrap(), value.name());
                    assert_eq!(value.to_string().parse::<$type>().unwrap(), value);
                }
                let error = "spiral".parse::<$type>().unwrap_err();
                assert_eq!(error.kind(), crate::ErrorKind::Config);
                assert!(error.to_string().contains("`spiral` is none of "), "{error}");
            )+};
        }
        check!(
            Answer,
            Definition,
            EvolutionScorer,
            Exclusion,
            FailureTier,
            Figure,
            InheritanceVerdict,
            LeftOut,
            ModeRules,
            ReplayMode,
            SelectionRule,
            SkippedFile,
            Stage,
            Timing,
            TrialFormat,
            Unrelated,
            Via
        );
    }
}
