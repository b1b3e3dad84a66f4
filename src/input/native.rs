//! Files of native traces: `{"traces": […]}`, a bare list, one trace, or one per line.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};

use super::container::{Layout, RunContext};
use crate::trace::{StepSink, Trace};

/// The native layout.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Native;

impl Layout for Native {
    const RUNS: &'static str = "traces";
    const RUN_KEYS: &'static [&'static str] = &["version", "steps"];
    const NAME: &'static str = "native trace";
    type Scratch<'de> = ();

    fn header_value<'de, D: Deserializer<'de>>(&mut self, _key: &str, value: D) -> Result<bool, D::Error> {
        IgnoredAny::deserialize(value).map(|_| false)
    }

    fn run<'de, D: Deserializer<'de>>(
        &mut self,
        run: D,
        (): &mut (),
        context: &mut RunContext,
        sink: &mut dyn StepSink,
    ) -> Result<(), D::Error> {
        Trace::deserialize(run)?.replay(context.position(), sink);
        Ok(())
    }
}
