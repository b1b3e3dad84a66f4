//! A line of a Claude Code session.

use super::prelude::*;

/// The members of a line, whatever its type.
#[derive(Default)]
pub(in crate::read) struct Line<'a> {
    kind: Option<Cow<'a, str>>,
    /// `None` if it is from neither the assistant nor the user.
    pub(in crate::read) is_assistant: Option<bool>,
    pub(in crate::read) has_message: bool,
    pub(in crate::read) session: Option<Cow<'a, str>>,
    pub(in crate::read) uuid: Option<Cow<'a, str>>,
    pub(in crate::read) parent: Option<Cow<'a, str>>,
    pub(in crate::read) agent: Option<Cow<'a, str>>,
    pub(in crate::read) is_sidechain: bool,
    /// True if the program wrote the line for itself.
    pub(in crate::read) is_skipped: bool,
    pub(in crate::read) time: Option<u64>,
    pub(in crate::read) message_id: Option<Cow<'a, str>>,
    pub(in crate::read) model: Option<Cow<'a, str>>,
    pub(in crate::read) stop_reason: Option<Cow<'a, str>>,
    pub(in crate::read) usage: Usage,
    pub(in crate::read) blocks: Vec<Block<'a>>,
    pub(in crate::read) mark: Option<Mark>,
    /// The duration of the call whose result the line holds, in nanoseconds.
    pub(in crate::read) duration: Option<u64>,
}

/// A part of a message.
pub(in crate::read) enum Block<'a> {
    Text(TextCow<'a>),
    Call { id: Option<Cow<'a, str>>, name: Cow<'a, str>, arguments: Content<Arguments<'a>> },
    Result { id: Option<Cow<'a, str>>, content: Option<TextCow<'a>>, is_error: Option<bool> },
}

/// Sign next to a result that the call did not end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::read) enum Mark {
    Running,
    Interrupted,
}

impl Mark {
    pub(in crate::read) fn reason(self) -> UnknownReason {
        match self {
            Self::Running => UnknownReason::Running,
            Self::Interrupted => UnknownReason::Interrupted,
        }
    }
}

/// Types of lines that are skipped by name.
const KINDS: [&str; 14] = [
    "progress",
    "system",
    "summary",
    "file-history-snapshot",
    "queue-operation",
    "attachment",
    "last-prompt",
    "permission-mode",
    "pr-link",
    "ai-title",
    "custom-title",
    "mode",
    "user",
    "assistant",
];

impl<'a> Line<'a> {
    /// Returns the reason for skipping the line by its type.
    pub(in crate::read) fn reason_of_kind(&self) -> Cow<'static, str> {
        match self.kind.as_deref().map(|kind| KINDS.into_iter().find(|known| *known == kind)) {
            Some(Some(kind @ ("user" | "assistant"))) => {
                format!("lines of type {kind} without a message").into()
            }
            Some(Some(kind)) => format!("lines of type {kind}").into(),
            Some(None) => "lines of other types".into(),
            None => "lines without a type".into(),
        }
    }

    /// Returns the text of the message, unless it is blank.
    pub(in crate::read) fn text(&self) -> Option<TextCow<'a>> {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text(words) => Some(words.clone()),
            Block::Call { .. } | Block::Result { .. } => None,
        });
        wire::joined(texts.collect()).filter(|words| !wire::is_blank(words.text()))
    }
}

/// Reads a line. A progress line of a sub-agent contains the sub-agent's line.
pub(in crate::read) fn read_line<'a>(json: &mut Json<'a>) -> Read<Line<'a>> {
    let (mut line, data) = read_outer(json)?;
    let is_progress = line.kind.as_deref() == Some("progress");
    let inner = data.filter(|_| is_progress).and_then(|data| progress_of_agent(data, &mut line));
    Ok(inner.unwrap_or(line))
}

/// Reads a line, with its `data`.
fn read_outer<'a>(json: &mut Json<'a>) -> Read<(Line<'a>, Option<Raw<'a>>)> {
    let mut read = Line::default();
    let (mut skips, mut is_synthetic) = ([false; 4], false);
    let mut data = None;
    json.object(|key, value| {
        match key {
            b"type" => read.kind = wire::name(value)?,
            b"data" => data = Some(value.raw()?),
            b"sessionId" | b"session_id" => read.session = ident(value)?,
            b"parent_tool_use_id" => {
                // A printed line names the call that started its sub-agent.
                read.agent = ident(value)?.or(read.agent.take());
                read.is_sidechain |= read.agent.is_some();
            }
            b"uuid" => read.uuid = ident(value)?,
            b"parentUuid" => read.parent = ident(value)?,
            b"agentId" => read.agent = ident(value)?,
            b"timestamp" => read.time = wire::time(value)?,
            b"isSidechain" => read.is_sidechain = wire::boolean(value)? == Some(true),
            b"isMeta" => skips[0] = wire::boolean(value)? == Some(true),
            b"isCompactSummary" => skips[1] = wire::boolean(value)? == Some(true),
            b"isVisibleInTranscriptOnly" => skips[2] = wire::boolean(value)? == Some(true),
            b"isApiErrorMessage" => skips[3] = wire::boolean(value)? == Some(true),
            b"message" => is_synthetic = message(value, &mut read)?,
            b"toolUseResult" => (read.mark, read.duration) = beside_result(value)?,
            _ => value.skip()?,
        }
        Ok(())
    })?;
    read.is_assistant = read.kind.as_deref().and_then(is_assistant);
    read.is_skipped = is_synthetic || skips.contains(&true);
    Ok((read, data))
}

/// Reads an id. Exporters replace ids by marks such as `<redacted>`, which say nothing.
fn ident<'a>(json: &mut Json<'a>) -> Read<Option<Cow<'a, str>>> {
    Ok(wire::name(json)?.filter(|id| !id.starts_with(['<', '['])))
}

/// Returns the actor of the line, by its type or role.
fn is_assistant(kind: &str) -> Option<bool> {
    match kind {
        "assistant" => Some(true),
        "user" => Some(false),
        _ => None,
    }
}

/// Reads the sub-agent's line in a progress line.
fn progress_of_agent<'a>(data: Raw<'a>, outer: &mut Line<'a>) -> Option<Line<'a>> {
    let agent = data.member("agentId").and_then(common::name)?;
    let message = data.member("message")?;
    let (mut line, _) = read_outer(&mut message.json()).ok().filter(|(line, _)| line.has_message)?;
    let role = || message.member("message")?.member("role")?.string();
    line.is_assistant = line.is_assistant.or_else(|| is_assistant(&role()?));
    line.agent = Some(agent);
    line.session = outer.session.take().or(line.session);
    line.uuid = line.uuid.or(outer.uuid.take());
    line.time = line.time.or(outer.time);
    line.is_sidechain = true;
    Some(line)
}

/// Reads a message. True if the program made it up in place of the model.
fn message<'a>(json: &mut Json<'a>, line: &mut Line<'a>) -> Read<bool> {
    line.blocks.clear();
    (line.message_id, line.model, line.stop_reason, line.usage) = (None, None, None, Usage::default());
    line.has_message = wire::object(json, |key, value| {
        match key {
            b"id" => line.message_id = wire::name(value)?,
            b"model" => line.model = wire::name(value)?,
            b"stop_reason" => line.stop_reason = wire::name(value)?,
            b"usage" => line.usage = usage(value)?,
            b"content" => line.blocks = content(value)?,
            _ => value.skip()?,
        }
        Ok(())
    })?;
    Ok(line.model.as_deref() == Some("<synthetic>"))
}

fn content<'a>(json: &mut Json<'a>) -> Read<Vec<Block<'a>>> {
    let mut blocks = Vec::new();
    if json.kind()? == Kind::String {
        blocks.push(Block::Text(Text::from(json.text()?).into()));
        return Ok(blocks);
    }
    wire::list(json, |part| {
        if part.kind()? == Kind::String {
            blocks.push(Block::Text(Text::from(part.text()?).into()));
        } else {
            blocks.extend(block(part)?);
        }
        Ok(())
    })?;
    Ok(blocks)
}

/// Reads a part of a message. `None` for any other kind.
fn block<'a>(json: &mut Json<'a>) -> Read<Option<Block<'a>>> {
    // A part without a type is a text.
    let mut kind = Some("text".into());
    let (mut text, mut id, mut name, mut result_id) = (None, None, None, None);
    let (mut arguments, mut content, mut is_error) = (Content::Absent, None, None);
    wire::object(json, |key, value| {
        match key {
            b"type" => kind = wire::name(value)?,
            b"text" => text = wire::text(value)?,
            b"id" => id = wire::name(value)?,
            b"name" => name = wire::name(value)?,
            b"input" => arguments = common::read_arguments(value)?,
            b"tool_use_id" => result_id = wire::name(value)?,
            b"content" => content = wire::result(value)?,
            b"is_error" => is_error = wire::boolean(value)?,
            _ => value.skip()?,
        }
        Ok(())
    })?;
    Ok(match kind.as_deref() {
        Some("tool_use") => Some(Block::Call { id, name: name.unwrap_or_default(), arguments }),
        Some("tool_result") => Some(Block::Result { id: result_id, content, is_error }),
        Some("text" | "input_text" | "output_text") => text.map(|text| Block::Text(text.into())),
        _ => None,
    })
}

/// Reads the tokens of a response: input tokens are new, written to the cache, or read from it.
fn usage(json: &mut Json<'_>) -> Read<Usage> {
    let (mut new, mut written, mut cached, mut output) = (None, None, None, None);
    wire::object(json, |key, value| {
        match key {
            b"input_tokens" => new = wire::count(value)?,
            b"cache_creation_input_tokens" => written = wire::count(value)?,
            b"cache_read_input_tokens" => cached = wire::count(value)?,
            b"output_tokens" => output = wire::count(value)?,
            _ => value.skip()?,
        }
        Ok(())
    })?;
    let read = tokens::sum([new, written, cached]);
    Ok(Usage { input_tokens: read, output_tokens: output, cached_tokens: cached, duration_ns: None })
}

/// Reads the facts next to a result: whether the call is running or was interrupted, and its duration.
pub(in crate::read) fn beside_result(json: &mut Json<'_>) -> Read<(Option<Mark>, Option<u64>)> {
    let (mut task, mut is_async, mut is_late, mut is_interrupted) = (false, false, false, false);
    let (mut duration, mut total_duration) = (None, None);
    wire::object(json, |key, value| {
        match key {
            b"backgroundTaskId" => task = wire::name(value)?.is_some(),
            b"isAsync" => is_async = wire::boolean(value)? == Some(true),
            b"retrieval_status" => {
                is_late = matches!(wire::name(value)?.as_deref(), Some("not_ready" | "timeout"));
            }
            b"interrupted" => is_interrupted = wire::boolean(value)? == Some(true),
            b"durationMs" => duration = wire::count(value)?,
            b"totalDurationMs" => total_duration = wire::count(value)?,
            _ => value.skip()?,
        }
        Ok(())
    })?;
    let mark = if task || is_async || is_late {
        Some(Mark::Running)
    } else {
        is_interrupted.then_some(Mark::Interrupted)
    };
    let duration = duration.or(total_duration).and_then(|ms| ms.checked_mul(1_000_000));
    Ok((mark, duration))
}
