//! The transcript of a failed trial for a recovery prompt.

use serde::Serialize;

use super::trajectory::{AtifStep, Recorded};
use crate::error::Result;

/// The bytes that the public code adds to a transcript: an introduction, headings, a task placeholder.
const FRAME: u64 = 276;

/// The messages of a failed trial as text, as the public code gives them to the recovering model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Transcript {
    /// The messages: each `[ROLE]: text`, with blank lines between them.
    pub text: String,
    /// Number of messages.
    pub messages: u64,
    /// Size of the recovery prompt with this transcript, in UTF-8 bytes, by the estimate of the public code;
    /// 0 without messages.
    pub prompt_bytes: u64,
}

/// Returns the messages of a trial as text: those of user, assistant and system, without calls and answers.
///
/// The file is an ATIF trajectory, or the replies of Terminus v1 (`{"responses": [{"episode", "text"}]}`).
///
/// ```
/// use wrongturn::benchmarks::transcript;
///
/// let trial = transcript(br#"{"steps": [{"source": "user", "message": "Mend it."},
///     {"source": "agent", "message": "Done."}]}"#)?;
/// assert_eq!(trial.text, "[USER]: Mend it.\n\n[ASSISTANT]: Done.");
/// # Ok::<(), wrongturn::Error>(())
/// ```
///
/// # Errors
/// If the file is not JSON, has neither form, or has a field of the wrong type.
pub fn transcript(file: &[u8]) -> Result<Transcript> {
    let messages: Vec<String> = match Recorded::read(file)? {
        Recorded::Replies(replies) => {
            replies.iter().map(|reply| format!("[ASSISTANT]: {}", reply.text)).collect()
        }
        Recorded::Trajectory(trajectory) => trajectory.steps.iter().filter_map(said).collect(),
    };
    let text = messages.join("\n\n");
    let prompt_bytes = if messages.is_empty() { 0 } else { text.len() as u64 + FRAME };
    Ok(Transcript { messages: messages.len() as u64, prompt_bytes, text })
}

fn said(step: &AtifStep) -> Option<String> {
    let role = match step.source.as_deref()? {
        "agent" | "assistant" => "ASSISTANT",
        "user" => "USER",
        "system" => "SYSTEM",
        _ => return None,
    };
    Some(format!("[{role}]: {}", step.message()))
}
