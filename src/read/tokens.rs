//! Token counts of model APIs.

use super::members::Members;
use super::wire;
use crate::json::{Json, Raw, Read};
use crate::trace::Usage;

/// Reads the token counts of a response from a `usage` object of `OpenAI`'s chat API (`prompt_tokens`), its
/// Responses API (`input_tokens`, including cached ones), Anthropic's Messages API (excluding cached ones) or
/// Inspect (where the total shows whether they are included). `None` if it has no counts.
pub(super) fn usage(value: Raw<'_>) -> Option<Usage> {
    read(&mut value.json()).ok().flatten()
}

/// Like [`usage`], for the next value.
pub(super) fn read(json: &mut Json<'_>) -> Read<Option<Usage>> {
    let mut found = Counts::default();
    let is_object = wire::object(json, |key, value| found.count(key, value))?;
    Ok(if is_object { found.usage() } else { None })
}

/// The counts as the source records them.
#[derive(Debug, Default)]
struct Counts {
    input: Option<u64>,
    output: Option<u64>,
    total: Option<u64>,
    /// Included in the input.
    cached: Option<u64>,
    /// Not included in the input, or unclear (Inspect).
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    is_inspect: bool,
}

impl Counts {
    fn count(&mut self, key: &[u8], value: &mut Json<'_>) -> Read<()> {
        match key {
            b"input_tokens" | b"prompt_tokens" | b"request_tokens" | b"inputTokens" => {
                self.input = wire::count(value)?.or(self.input);
            }
            b"output_tokens" | b"completion_tokens" | b"response_tokens" | b"outputTokens" => {
                self.output = wire::count(value)?.or(self.output);
            }
            b"total_tokens" => self.total = wire::count(value)?,
            b"input_tokens_details" | b"prompt_tokens_details" => {
                self.cached = None;
                wire::member(value, b"cached_tokens", |value| {
                    self.cached = wire::count(value)?;
                    Ok(())
                })?;
            }
            // As LangChain writes them.
            b"input_token_details" => {
                wire::member(value, b"cache_read", |value| {
                    self.cached = wire::count(value)?.or(self.cached);
                    Ok(())
                })?;
            }
            b"cached_input_tokens" | b"cachedTokens" | b"cache_read_tokens" => {
                self.cached = wire::count(value)?;
            }
            b"cache_read_input_tokens" => self.cache_read = wire::count(value)?,
            b"cache_creation_input_tokens" => self.cache_write = wire::count(value)?,
            b"input_tokens_cache_read" => (self.cache_read, self.is_inspect) = (wire::count(value)?, true),
            b"input_tokens_cache_write" => (self.cache_write, self.is_inspect) = (wire::count(value)?, true),
            _ => {}
        }
        Ok(())
    }

    fn usage(&self) -> Option<Usage> {
        let context = self.cache_read.unwrap_or(0).saturating_add(self.cache_write.unwrap_or(0));
        let input = match (self.input, self.total, self.output) {
            (_, Some(total), Some(output)) if self.is_inspect => total.checked_sub(output).or(self.input),
            (Some(input), ..) if !self.is_inspect => Some(input.saturating_add(context)),
            (input, ..) => input,
        };
        let usage = Usage {
            duration_ns: None,
            input_tokens: input,
            output_tokens: self.output,
            cached_tokens: self.cache_read.or(self.cached),
        };
        (!usage.is_empty()).then_some(usage)
    }
}

/// Sums the counts under these keys of an object, for input, output and cached input. `None` if it has none of
/// them.
pub(super) fn of_keys(
    counts: &Members<'_>,
    input: &[&str],
    output: &[&str],
    cached: &[&str],
) -> Option<Usage> {
    let count = |keys: &[&str]| sum(keys.iter().map(|key| counts.count(key)));
    let usage = Usage {
        duration_ns: None,
        input_tokens: count(input),
        output_tokens: count(output),
        cached_tokens: count(cached),
    };
    (!usage.is_empty()).then_some(usage)
}

/// Adds counts. `None` if all are missing.
pub(super) fn sum(counts: impl IntoIterator<Item = Option<u64>>) -> Option<u64> {
    counts.into_iter().flatten().reduce(u64::saturating_add)
}
