//! Derives facts from the name of a tool.

use std::cell::RefCell;
use std::sync::Arc;

use super::{Check, Does, Meaning, words};
use crate::trace::{Digest, DigestMap, fold_name};

/// The facts that follow from the name of a tool. Each thread caches them by name.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    /// The name, trimmed.
    pub(crate) name: Arc<str>,
    /// The name, trimmed and lower-cased.
    pub(super) folded: Arc<str>,
    pub(super) does: Does,
    pub(super) check: Option<Check>,
    /// Whether its name is that of a shell: `bash`, `run_command`.
    pub(super) is_shell: bool,
    /// The interpreter of the code that it is given: `python`, `execute_code`.
    pub(super) interpreter: Option<&'static str>,
    /// Whether it hands over to a human: `transfer_to_human_agents`, `escalate`.
    pub(crate) hands_over: bool,
}

thread_local! {
    static TOOLS: RefCell<DigestMap<Tool>> = RefCell::default();
}

impl Tool {
    /// Maximum number of names cached per thread.
    const MOST: usize = 256;

    pub(crate) fn of(name: &str, digest: Digest) -> Self {
        TOOLS.with_borrow_mut(|tools| {
            if let Some(known) = tools.get(&digest) {
                return known.clone();
            }
            // Marks of the model's own format, such as `<|channel|>`, are not part of the name.
            let folded = fold_name(name.split("<|").next().unwrap_or_default());
            let tool = Self {
                name: name.trim().into(),
                does: Does::of_tool(name),
                check: Check::of_tool(name),
                is_shell: is_shell(name),
                interpreter: interpreter(name),
                hands_over: hands_over(name),
                folded: folded.into(),
            };
            if tools.len() >= Self::MOST {
                tools.clear();
            }
            tools.insert(digest, tool.clone());
            tool
        })
    }
}

/// Returns true if a name consists of words such as `bash`, `run` and `command`: either a shell is among them, or both
/// a word for running and a word for a command line (`run_command`).
fn is_shell(name: &str) -> bool {
    let mut all = Meaning::of_words(name);
    let any = Meaning::of_any(words(name));
    all.all(|word| word.is(Meaning::SHELL.or(Meaning::RUN).or(Meaning::LINE)))
        && (any.is(Meaning::SHELL) || any.is(Meaning::RUN) && any.is(Meaning::LINE))
}

/// Returns the interpreter that a tool runs, if its name says that it runs code. Python is the usual language if the name
/// does not say one.
fn interpreter(name: &str) -> Option<&'static str> {
    let any = Meaning::of_any(words(name));
    if any.is(Meaning::LOOKS.or(Meaning::CHANGES).or(Meaning::CHECK)) {
        None
    } else if any.is(Meaning::PYTHON) {
        Some("python")
    } else if any.is(Meaning::JAVASCRIPT) {
        Some("node")
    } else {
        (any.is(Meaning::CODE) && any.is(Meaning::RUN)).then_some("python")
    }
}

fn hands_over(name: &str) -> bool {
    let any = Meaning::of_any(words(name));
    any.is(Meaning::HANDOVER) || any.is(Meaning::TRANSFER) && any.is(Meaning::HUMAN)
}
