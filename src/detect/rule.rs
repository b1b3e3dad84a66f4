//! The common parts of a rule: id, documentation and configuration. Other crates can use them too.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::explain::explain;
use super::{Counterfactual, Detector, Explanation, FailureClass, FailureMode, Fold};
use crate::error::{Error, ErrorKind, Result};
use crate::names::named;
use crate::objects::in_order;
use crate::trace::{Actors, RouteStatus, Trace};

named! {
    /// The configuration that a detector starts from. Fields that are given explicitly override it.
    #[derive(Default)]
    #[non_exhaustive]
    pub enum Preset: "preset" {
        /// The defaults for tool traces.
        #[default]
        Default = "default",
        /// The published rules, mostly those of the `BenchTrace` benchmark. A detector without a published rule keeps
        /// its defaults.
        BenchTrace = "bench-trace",
    }
}

/// The values over which the main parameter of a rule is swept, with all other parameters at their defaults.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// The field of the configuration.
    pub parameter: &'static str,
    /// Its values, in order.
    pub values: Vec<Value>,
}

/// A detector with a name, documentation and a JSON configuration, for a [`Registry`](crate::Registry). Every rule is a
/// [`Detector`].
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use serde_json::json;
/// use wrongturn::{Detector, Finding, Fold, Registry, Result, Status, Step, Trace, Verdict, detect::{Evidence, DetectorInfo, FailureClass, Judgement, Preset, Configured, Rule}, trace::{Actors, RouteStatus}};
///
/// /// Runs with more actions than the budget allows.
/// #[derive(Debug, Default)]
/// struct TooLong(Config);
///
/// #[derive(Debug, Clone, Serialize, Deserialize)]
/// #[serde(default, deny_unknown_fields)]
/// struct Config {
///     actors: Actors,
///     limit: u64,
/// }
///
/// impl Default for Config {
///     fn default() -> Self {
///         Self { actors: Actors::Agent, limit: 100 }
///     }
/// }
///
/// impl Configured for TooLong {
///     type Config = Config;
///
///     fn from_config(config: Config) -> Result<Self> {
///         Ok(Self(config))
///     }
///
///     fn config(&self) -> &Config {
///         &self.0
///     }
/// }
///
/// impl Rule for TooLong {
///     const ID: &'static str = "too_long";
///     const CLASS: FailureClass = FailureClass::System;
///     const SUMMARY: &'static str = "more actions than allowed";
///
///     fn fold(&self, _routing: &RouteStatus) -> Box<dyn Fold> {
///         Box::new(Count { config: self.0.clone(), actions: 0, last: 0 })
///     }
/// }
///
/// #[derive(Debug)]
/// struct Count {
///     config: Config,
///     actions: u64,
///     last: u64,
/// }
///
/// impl Fold for Count {
///     fn observe(&mut self, step: &Step<'_>) {
///         self.actions += u64::from(step.action_of(self.config.actors).is_some());
///         self.last = step.index();
///     }
///
///     fn verdict(&self) -> Verdict {
///         let detected = self.actions > self.config.limit;
///         let evidence = Evidence::Other(json!({"actions": self.actions}));
///         let finding = Finding::new(TooLong::ID, TooLong::MODE, (0, self.last), "too many actions", evidence);
///         let findings = if detected { vec![finding] } else { Vec::new() };
///         Verdict::Judged(Judgement { detected, findings, ..Judgement::default() })
///     }
/// }
///
/// let mut registry = Registry::default();
/// registry.add(DetectorInfo::of::<TooLong>())?;
/// let short = registry.get("too_long").unwrap().build(Preset::Default, Actors::Agent, &json!({"limit": 1}))?;
/// let mut run = Trace::builder();
/// run.call("look", &json!({}), Status::Ok, "a wall")?;
/// run.call("look", &json!({}), Status::Ok, "a wall")?;
/// assert_eq!(short.detect(&run.build()?).detected(), Some(true));
/// # Ok::<(), wrongturn::Error>(())
/// ```
pub trait Rule: Configured {
    /// The detector's name, in `snake_case`.
    const ID: &'static str;
    /// The class of its failure mode.
    const CLASS: FailureClass;
    /// One line of documentation, without a full stop.
    const SUMMARY: &'static str;
    /// The whole documentation, in Markdown.
    const DOCS: &'static str = Self::SUMMARY;
    /// The failure mode of its findings.
    const MODE: FailureMode = FailureMode::new(Self::CLASS, Self::ID);
    /// True if it runs only when named or configured.
    const OPT_IN: bool = false;

    /// Creates the configuration of the published rule ([`Preset::BenchTrace`]); by default, the default
    /// configuration.
    #[must_use]
    fn bench_trace() -> Self::Config {
        Self::Config::default()
    }

    /// Same as [`Detector::start`].
    fn fold(&self, routing: &RouteStatus) -> Box<dyn Fold>;

    /// Same as [`Detector::reads_argument_texts`]: true by default.
    fn reads_argument_texts(&self) -> bool {
        true
    }

    /// Returns the values over which its main parameter is swept; by default none.
    #[must_use]
    fn grid() -> Option<Grid> {
        None
    }
}

/// A detector type that is created from a configuration.
pub trait Configured: fmt::Debug + Default + Send + Sync + 'static {
    /// The configuration. Its defaults are for tool traces, and in JSON it is an object. A field `actors`, if any, says
    /// whose actions count.
    type Config: Serialize + DeserializeOwned + Default;

    /// Returns the detector with this configuration.
    ///
    /// # Errors
    /// [`ErrorKind::Config`], naming the field, if a value is out of range; see [`Error::config`].
    fn from_config(config: Self::Config) -> Result<Self>;

    /// Returns the configuration. [`Detector::explain`] varies its fields, one at a time.
    fn config(&self) -> &Self::Config;
}

/// Defines the type of a rule of this crate: a checked configuration and, with `ready`, tables for its folds, which are
/// built once.
///
/// The configuration must have a method `check`, which fails if a value is out of range.
macro_rules! rule {
    ($(#[$docs:meta])* $rule:ident($config:ident) $(, ready: $ready:ty = $build:expr)?) => {
        $(#[$docs])*
        #[derive(Debug, Clone)]
        pub struct $rule {
            config: std::sync::Arc<$config>,
            $(ready: std::sync::Arc<$ready>,)?
        }

        impl $rule {
            /// Returns the detector with this configuration.
            ///
            /// # Errors
            /// [`ErrorKind::Config`](crate::ErrorKind::Config), naming the field, if a value is out of range.
            pub fn new(config: $config) -> crate::error::Result<Self> {
                config.check()?;
                Ok(Self::from_checked(config))
            }

            pub(in crate::detect) fn from_checked(config: $config) -> Self {
                Self {
                    $(ready: ($build as fn(&$config) -> $ready)(&config).into(),)?
                    config: config.into(),
                }
            }
        }

        impl Default for $rule {
            fn default() -> Self {
                Self::from_checked($config::default())
            }
        }

        impl crate::detect::rule::Configured for $rule {
            type Config = $config;

            fn from_config(config: $config) -> crate::error::Result<Self> {
                Self::new(config)
            }

            fn config(&self) -> &$config {
                &self.config
            }
        }
    };
}

pub(super) use rule;

/// Checks that a field of a configuration is a count of at least `least`.
pub(super) fn at_least(field: &str, value: u64, least: u64) -> Result<()> {
    if value < least {
        return Err(Error::config(field, format!("expected at least {least}, got {value}")));
    }
    Ok(())
}

/// Checks that a field of a configuration is a finite number above 0.
pub(super) fn positive(field: &str, value: f64) -> Result<()> {
    if !(value > 0.0 && value.is_finite()) {
        return Err(Error::config(field, format!("expected a number above 0, got {value}")));
    }
    Ok(())
}

impl<R: Rule> Detector for R {
    fn id(&self) -> Cow<'static, str> {
        R::ID.into()
    }

    fn mode(&self) -> FailureMode {
        R::MODE
    }

    fn reads_argument_texts(&self) -> bool {
        Rule::reads_argument_texts(self)
    }

    fn start(&self, routing: &RouteStatus) -> Box<dyn Fold> {
        self.fold(routing)
    }

    fn explain(&self, trace: &Trace) -> Explanation {
        let config = match serde_json::to_value(self.config()) {
            Ok(Value::Object(config)) => config,
            _ => Map::new(),
        };
        explain(R::ID.into(), trace, &config, self.fold(trace.routing()), &|change| {
            let Counterfactual::Config(fields) = change else { return Some(self.fold(trace.routing())) };
            let mut changed = config.clone();
            changed.extend(fields.iter().map(|(field, value)| (field.clone(), value.clone())));
            let changed = serde_json::from_value(Value::Object(changed)).ok()?;
            R::from_config(changed).ok().map(|rule| rule.fold(trace.routing()))
        })
    }
}

/// An entry of the registry: a detector before it is built.
///
/// ```
/// use serde_json::json;
/// use wrongturn::{detect::{Preset, detector_info}, trace::Actors};
///
/// let info = detector_info("loop").unwrap();
/// let config = info.config(Preset::Default, Actors::Agent);
/// assert!(config["min_repeats"].is_u64());
/// let detector = info.build(Preset::Default, Actors::Agent, &json!({"min_repeats": 4}))?;
/// assert_eq!(detector.id(), "loop");
/// let error = info.build(Preset::Default, Actors::Agent, &json!({"min_repeats": "many"})).unwrap_err();
/// assert!(error.message().contains("min_repeats"));
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DetectorInfo {
    /// The detector's name.
    pub id: &'static str,
    /// The failure mode of its findings.
    pub mode: FailureMode,
    /// One line of documentation.
    pub summary: &'static str,
    /// The whole documentation, in Markdown.
    pub docs: &'static str,
    /// True if the detector runs only on request and is not one of the [`default_detectors`](crate::default_detectors).
    pub opt_in: bool,
    default: fn() -> Arc<dyn Detector>,
    preset: fn(Preset, Actors) -> Value,
    build: fn(Preset, Actors, &Value) -> Result<Arc<dyn Detector>>,
    grid: fn() -> Option<Grid>,
}

impl DetectorInfo {
    /// Creates the entry of a rule.
    #[must_use]
    pub const fn of<R: Rule>() -> Self {
        Self {
            id: R::ID,
            mode: R::MODE,
            summary: R::SUMMARY,
            docs: R::DOCS,
            opt_in: R::OPT_IN,
            default: || Arc::new(R::default()),
            preset: preset_value::<R>,
            build: build::<R>,
            grid: R::grid,
        }
    }

    /// Returns the detector with its default configuration.
    #[must_use]
    pub fn default_detector(&self) -> Arc<dyn Detector> {
        (self.default)()
    }

    /// Returns the configuration of a preset for these actors, as JSON.
    #[must_use]
    pub fn config(&self, preset: Preset, actors: Actors) -> Value {
        in_order((self.preset)(preset, actors))
    }

    /// Builds the detector with the configuration of a preset, overridden by the fields of a JSON object (or null for
    /// none).
    ///
    /// # Errors
    /// [`ErrorKind::Config`] if a field is unknown, has the wrong type or is out of range (the error names the field),
    /// or if `overrides` is neither an object nor null.
    pub fn build(&self, preset: Preset, actors: Actors, overrides: &Value) -> Result<Arc<dyn Detector>> {
        (self.build)(preset, actors, overrides)
    }

    /// Returns the values over which the main parameter is swept, if any.
    #[must_use]
    pub fn grid(&self) -> Option<Grid> {
        (self.grid)()
    }
}

fn preset_value<R: Rule>(preset: Preset, actors: Actors) -> Value {
    let config = match preset {
        Preset::Default => R::Config::default(),
        Preset::BenchTrace => R::bench_trace(),
    };
    let mut config = serde_json::to_value(config).unwrap_or_default();
    if let Some(field) = config.get_mut("actors") {
        *field = serde_json::to_value(actors).unwrap_or_default();
    }
    config
}

/// Builds the detector with the configuration of a preset, overridden by `overrides` (a JSON object, or null).
fn build<R: Rule>(preset: Preset, actors: Actors, overrides: &Value) -> Result<Arc<dyn Detector>> {
    let mut config = preset_value::<R>(preset, actors);
    match (overrides, config.as_object_mut()) {
        (Value::Null, _) => {}
        (Value::Object(fields), Some(config)) => {
            config.extend(fields.iter().map(|(field, value)| (field.clone(), value.clone())));
        }
        _ => return Err(Error::config(R::ID, "the configuration must be a JSON object")),
    }
    let name = |message: String| Error::new(ErrorKind::Config, format!("{}: {message}", R::ID));
    let config = read_config::<R::Config>(&config).map_err(name)?;
    Ok(Arc::new(R::from_config(config).map_err(|error| name(error.message()))?))
}

/// Parses a configuration. If that fails, parses each field alone, so the error can name the one at fault.
fn read_config<C: DeserializeOwned>(config: &Value) -> std::result::Result<C, String> {
    serde_json::from_value::<C>(config.clone()).map_err(|error| {
        let culprit = config.as_object().and_then(|fields| {
            fields.iter().find(|(field, value)| {
                serde_json::from_value::<C>(serde_json::json!({ *field: value })).is_err()
            })
        });
        let field = culprit.map_or_else(String::new, |(field, _)| format!("{field}: "));
        let plain = error.to_string().replace("expected u64", "expected a whole number");
        field + &plain.replace("expected f64", "expected a number").replace("a sequence", "a list")
    })
}
