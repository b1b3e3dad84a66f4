//! The transcript of a failed trial, which a recovery prompt may hold.

use serde::Serialize;
use serde_json::Value;

use super::trajectory::{Responses, Trajectory};
use crate::error::{Error, Result};
use crate::objects;

/// The bytes that the public code adds to a transcript: an introduction, headings, a stand-in for the task.
const FRAME: u64 = 276;

/// The messages of a failed trial as text, as the public code gives them to the model that goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Transcript {
    /// The messages: each `[ROLE]: text`, with blank lines between them.
    pub text: String,
    /// Number of messages.
    pub messages: u64,
    /// Size of the recovery prompt with this transcript, in UTF-8 bytes, by the estimate of the public code; 0 without
    /// messages.
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
/// If the file is not JSON, or has neither form.
pub fn transcript(file: &[u8]) -> Result<Transcript> {
    let value: Value = objects::from_slice(file)?;
    let messages: Vec<String> = if value.get("responses").is_some() {
        let mut replies: Responses = objects::from_slice(file)?;
        replies.responses.sort_by_key(|reply| reply.episode);
        replies.responses.iter().map(|reply| format!("[ASSISTANT]: {}", reply.text)).collect()
    } else if value.get("steps").is_some() {
        let trajectory: Trajectory = objects::from_slice(file)?;
        let message = |step: &super::trajectory::AtifStep| {
            let role = match step.source.as_deref()? {
                "agent" | "assistant" => "ASSISTANT",
                "user" => "USER",
                "system" => "SYSTEM",
                _ => return None,
            };
            Some(format!("[{role}]: {}", step.message()))
        };
        trajectory.steps.iter().filter_map(message).collect()
    } else {
        return Err(Error::shape("neither a trajectory with `steps` nor replies in `responses`"));
    };
    let text = messages.join("\n\n");
    let prompt_bytes = if messages.is_empty() { 0 } else { text.len() as u64 + FRAME };
    Ok(Transcript { messages: messages.len() as u64, prompt_bytes, text })
}
