//! The trace model, which every reader produces and every detector reads.
//!
//! [`Trace::builder`] builds a trace call by call. [`NATIVE_VERSION`] describes the JSON form.

mod action;
mod assembler;
mod canonical;
mod content;
mod digest;
mod distinct;
mod edits;
mod ids;
mod maps;
mod native;
mod native_step;
mod pieces;
mod record;
mod route;
mod route_index;
mod sink;
mod step;
mod text;
mod text_cow;
#[expect(clippy::module_inception, reason = "the type that the module is named for")]
mod trace;
mod turn_tokens;
mod usage;

pub(crate) use action::fold_name;
pub use action::{Action, Arguments, Digests, Provenance, Status, UnknownReason};
pub(crate) use assembler::{Assembler, CallNumber, Entry};
pub(crate) use canonical::{of_text as canonical_text, of_value as canonical_value};
pub use content::Content;
pub use digest::Digest;
pub(crate) use digest::Members;
pub use distinct::DistinctCount;
#[cfg(feature = "statistics")]
pub(crate) use distinct::{Distinct, estimate};
pub use ids::{SpanId, TraceId};
pub(crate) use maps::{DigestMap, DigestSet, TextMap, TextSet, empty, lean_push, map_bytes};
pub use native::NATIVE_VERSION;
pub(crate) use native_step::WireStep;
pub(crate) use pieces::{Answer, Call};
pub use route::{Milestone, ReferenceAction, ReferenceRoute, RouteStatus, Target};
pub(crate) use route_index::RouteIndex;
pub(crate) use sink::Places;
pub use sink::{
    LabelledFailure, Metadata, RunSource, RunSummary, SourcePlace, StepSink, StepValidator, Unpaired,
};
pub use step::{Actor, Actors, Event, Step, StepInput};
pub use text::Text;
pub(crate) use text::{KeptText, first_chars};
pub(crate) use text_cow::TextCow;
pub use trace::{Trace, TraceBuilder, TraceCollector};
pub use usage::Usage;
