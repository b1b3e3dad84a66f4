//! The settings of the collector, from `--config FILE.toml` and `--set`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use wrongturn::detect::{Preset, with_min_confidence};
use wrongturn::live::AssemblerOptions;
use wrongturn::trace::Actors;
use wrongturn::{Confidence, Detector, Registry, TraceAssembler};

use crate::Failure;

/// All settings. Every table is optional.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) receive: Receive,
    pub(crate) traces: Traces,
    pub(crate) detect: Detect,
    pub(crate) profile: Vec<Profile>,
    pub(crate) state: State,
    pub(crate) sink: Vec<Sink>,
    pub(crate) metrics: MetricsConfig,
    pub(crate) log: Log,
}

/// Where spans are received, and the limits for them.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Receive {
    /// `host:port` of OTLP/HTTP; if empty, it is not served.
    pub(crate) http: String,
    /// `host:port` of OTLP/gRPC; if empty, it is not served.
    pub(crate) grpc: String,
    pub(crate) tls: Option<Tls>,
    /// A file with the token that clients must present.
    pub(crate) token_file: Option<PathBuf>,
    /// The size limit of a body in MiB, both as sent and unpacked.
    pub(crate) max_body_mib: usize,
    /// The limit in MiB for all bodies and spans that have not been judged.
    pub(crate) max_in_flight_mib: usize,
    pub(crate) max_connections: usize,
    /// How long a body may take to arrive.
    pub(crate) body_seconds: u64,
    /// How long the program continues after SIGTERM, to finish requests and send events.
    pub(crate) drain_seconds: u64,
}

/// A certificate with its key, both in PEM.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tls {
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
}

/// How long traces are kept open, and how much memory they may take, as in [`AssemblerOptions`]. `max_spans` is its
/// `max_pieces`, and `max_memory_mib` its `max_bytes`.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Traces {
    /// Whether findings are reported while their traces are open.
    pub(crate) updates: bool,
    pub(crate) settle_ms: u64,
    pub(crate) grace_ms: u64,
    pub(crate) quiet_ms: u64,
    pub(crate) idle_ms: u64,
    pub(crate) expire_ms: u64,
    pub(crate) max_open: usize,
    pub(crate) max_spans: usize,
    pub(crate) max_memory_mib: usize,
}

/// Which detectors run.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Detect {
    /// The ids of the detectors; if empty, those that run by default.
    pub(crate) detectors: Vec<String>,
    /// The configurations of detectors, by id.
    pub(crate) config: BTreeMap<String, Value>,
    pub(crate) min_confidence: Option<Confidence>,
}

/// Other detectors for services with certain attributes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    /// Resource attributes with their required values. All must match.
    pub(crate) when: BTreeMap<String, String>,
    pub(crate) detect: Detect,
}

/// Where the state is saved.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct State {
    pub(crate) dir: Option<PathBuf>,
    pub(crate) every_seconds: u64,
}

/// Where events go.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sink {
    pub(crate) kind: Kind,
    /// The name in metrics and logs; by default the kind.
    pub(crate) name: Option<String>,
    /// The path, for a file.
    pub(crate) path: Option<PathBuf>,
    /// The URL, for all kinds but files and standard output.
    pub(crate) url: Option<String>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// A file with a bearer token.
    pub(crate) token_file: Option<PathBuf>,
    /// A PEM file with certificates that are trusted in addition to the usual ones.
    pub(crate) ca_file: Option<PathBuf>,
    /// The maximum number of webhook messages per minute. Further findings are counted in the next message.
    #[serde(default = "per_minute")]
    pub(crate) per_minute: usize,
    /// The limit in MiB for waiting events.
    #[serde(default = "most_waiting")]
    pub(crate) max_waiting_mib: usize,
}

/// A kind of sink.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Stdout,
    File,
    OtlpHttp,
    OtlpGrpc,
    Webhook,
}

impl Sink {
    /// Returns a sink with the defaults.
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind,
            name: None,
            path: None,
            url: None,
            headers: BTreeMap::new(),
            token_file: None,
            ca_file: None,
            per_minute: per_minute(),
            max_waiting_mib: most_waiting(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct MetricsConfig {
    /// The maximum number of combinations of service, agent and model with series of their own. The others
    /// are summed as `other`.
    pub(crate) max_senders: usize,
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Log {
    /// A level, or a filter of `tracing`.
    pub(crate) level: String,
    pub(crate) json: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            receive: Receive::default(),
            traces: Traces::default(),
            detect: Detect::default(),
            profile: Vec::new(),
            state: State::default(),
            sink: Vec::new(),
            metrics: MetricsConfig { max_senders: 200 },
            log: Log::default(),
        }
    }
}

impl Default for Receive {
    fn default() -> Self {
        Self {
            http: "127.0.0.1:4318".to_owned(),
            grpc: "127.0.0.1:4317".to_owned(),
            tls: None,
            token_file: None,
            max_body_mib: 16,
            max_in_flight_mib: 256,
            max_connections: 1000,
            body_seconds: 10,
            drain_seconds: 10,
        }
    }
}

impl Default for Traces {
    fn default() -> Self {
        let known = AssemblerOptions::default();
        let milliseconds = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Self {
            updates: true,
            settle_ms: milliseconds(known.settle),
            grace_ms: milliseconds(known.grace),
            quiet_ms: milliseconds(known.quiet),
            idle_ms: milliseconds(known.idle),
            expire_ms: milliseconds(known.expire),
            max_open: known.max_open,
            max_spans: known.max_pieces,
            max_memory_mib: known.max_bytes >> 20,
        }
    }
}

impl Default for State {
    fn default() -> Self {
        Self { dir: None, every_seconds: 10 }
    }
}

impl Default for MetricsConfig {
    fn default() -> Self {
        Config::default().metrics
    }
}

impl Default for Log {
    fn default() -> Self {
        Self { level: "info".to_owned(), json: false }
    }
}

fn most_waiting() -> usize {
    64
}

fn per_minute() -> usize {
    10
}

impl Config {
    /// Reads a file, overrides it with settings of the form `table.key=value`, and checks the result.
    pub(crate) fn read(file: Option<&Path>, settings: &[String]) -> Result<Self, Failure> {
        let mut table = match file {
            None => toml::Table::new(),
            Some(path) => {
                let text =
                    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
                text.parse().map_err(|error| format!("{}: {error}", path.display()))?
            }
        };
        for setting in settings {
            let (key, value) =
                setting.split_once('=').ok_or_else(|| format!("{setting}: expected `table.key=value`"))?;
            // A value that is not TOML is a string.
            let parsed = setting.parse::<toml::Table>();
            let parsed = parsed.or_else(|_| format!("{key}={value:?}").parse());
            merge(&mut table, parsed.map_err(|error| format!("{setting}: {error}"))?);
        }
        let place = file.map_or_else(|| "settings".to_owned(), |path| path.display().to_string());
        let config: Self = table.try_into().map_err(|error| format!("{place}: {error}"))?;
        config.assembler().map_err(|error| format!("{place}: {error}"))?;
        Ok(config)
    }

    /// Returns an assembler with the detectors of all profiles.
    pub(crate) fn assembler(&self) -> wrongturn::Result<TraceAssembler> {
        let own = &self.traces;
        let options = AssemblerOptions {
            settle: Duration::from_millis(own.settle_ms),
            grace: Duration::from_millis(own.grace_ms),
            quiet: Duration::from_millis(own.quiet_ms),
            idle: Duration::from_millis(own.idle_ms),
            expire: Duration::from_millis(own.expire_ms),
            min_spans_to_judge: if own.updates { 3 } else { 0 },
            max_open: own.max_open,
            max_pieces: own.max_spans,
            max_bytes: own.max_memory_mib.saturating_mul(1 << 20),
            ..AssemblerOptions::default()
        };
        let mut traces = TraceAssembler::new(self.detect.build()?, options)?;
        for profile in &self.profile {
            let labels = profile.when.iter().map(|(key, value)| (format!("resource.{key}"), value.clone()));
            traces = traces.with_profile(labels.collect(), profile.detect.build()?)?;
        }
        Ok(traces)
    }
}

impl Detect {
    fn build(&self) -> wrongturn::Result<Vec<Arc<dyn Detector>>> {
        let ids: Vec<&str> = self.detectors.iter().map(String::as_str).collect();
        let config = Value::Object(self.config.clone().into_iter().collect());
        let detectors = Registry::default().build(&ids, Preset::Default, Actors::Agent, &config)?;
        Ok(with_min_confidence(detectors, self.min_confidence.unwrap_or(Confidence::Likely)))
    }
}

/// Overrides the keys of one table with those of another, recursively.
fn merge(under: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(toml::Value::Table(known)), toml::Value::Table(new)) => merge(known, new),
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

/// Reads a token from a file, without the white space around it.
pub(crate) fn token(file: &Path) -> Result<String, Failure> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!("{}: expected a token of printable ASCII without spaces", file.display()).into());
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_with_all_settings_has_the_defaults() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("collector.toml");
        let read = Config::read(Some(&file), &[]).map_err(|error| error.to_string());
        assert_eq!(read.map(|read| format!("{read:?}")), Ok(format!("{:?}", Config::default())));
        // The settings in comments are valid as well.
        let text = fs::read_to_string(&file).unwrap_or_default();
        let uncommented: Vec<&str> = text
            .lines()
            .filter(|line| {
                !line.starts_with("# Without") && !line.starts_with("# The") && !line.starts_with("# All")
            })
            .map(|line| line.strip_prefix("# ").unwrap_or(line))
            .map(|line| line.strip_prefix("#").filter(|rest| rest.is_empty()).unwrap_or(line))
            .collect();
        let table = uncommented.join("\n").parse::<toml::Table>().map_err(|error| error.to_string());
        let config = table.and_then(|table| Config::deserialize(table).map_err(|error| error.to_string()));
        let config =
            config.map(|config| (config.sink.len(), config.profile.len(), config.receive.tls.is_some()));
        assert_eq!(config, Ok((3, 1, true)));
    }
}
