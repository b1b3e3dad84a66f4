//! Cuts a file into its runs, so that several threads can read it.

use std::ops::Range;

use super::careful::key;
use super::container::{Layout, Outcome, Pass, RunContext, State};
use super::window::{Value as WindowValue, Window};
use crate::trace::StepSink;

/// A file cut into its runs.
pub(super) struct Cut {
    runs: Vec<WindowValue>,
}

/// Cuts a sound object with a list of runs, or a sound list, into its runs; the layout then knows all that the file
/// says beside them. `None`: the file is of another shape, or something is wrong between its runs.
pub(super) fn cut<L: Layout>(layout: &mut L, bytes: &[u8]) -> Option<Cut> {
    let mut window = Window::over_slice(bytes);
    window.skip_byte_order_mark().ok()?;
    let mut runs = Vec::new();
    if window.peek().ok()? == Some(b'[') {
        cut_list(&mut window, &mut runs)?;
    } else {
        let mut has_runs = false;
        let mut open = b'{';
        while window.peek().ok()? == Some(open) {
            window.advance(1);
            open = b',';
            let key = key(&mut window).ok()?;
            if key == L::RUNS && !has_runs {
                has_runs = true;
                cut_list(&mut window, &mut runs)?;
            } else if !has_runs && (L::RUN_KEYS.contains(&&*key) || L::WEAK_RUN_KEYS.contains(&&*key)) {
                return None;
            } else {
                let value = window.value().ok()?;
                let mut parser = serde_json::Deserializer::from_slice(window.bytes(value));
                layout.header_value(&key, &mut parser).ok()?;
                window.pass(value);
            }
        }
        if window.peek().ok()? != Some(b'}') || !has_runs {
            return None;
        }
        window.advance(1);
    }
    window.peek().ok()?.is_none().then_some(Cut { runs })
}

fn cut_list(window: &mut Window<'_>, runs: &mut Vec<WindowValue>) -> Option<()> {
    let mut open = b'[';
    while window.peek().ok()? == Some(open) {
        window.advance(1);
        open = b',';
        if runs.is_empty() && window.peek().ok()? == Some(b']') {
            break;
        }
        let value = window.value().ok()?;
        runs.push(value);
        window.pass(value);
    }
    (window.peek().ok()? == Some(b']')).then(|| window.advance(1))
}

impl Cut {
    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// Reads the runs at these positions.
    pub(super) fn read<L: Layout>(
        &self,
        positions: Range<usize>,
        layout: &mut L,
        bytes: &[u8],
        sink: &mut dyn StepSink,
    ) -> Outcome {
        let state = State::starting_at(positions.start as u64);
        let mut pass = Pass { layout, sink, context: RunContext::default(), state };
        let mut errors = Vec::new();
        for value in self.runs.get(positions).unwrap_or_default() {
            let number = pass.state.next;
            if let Err(error) = pass.run(value.of(bytes), *value) {
                errors.push(error.in_run(number));
            }
        }
        Outcome { runs: pass.state.runs, errors }
    }
}
