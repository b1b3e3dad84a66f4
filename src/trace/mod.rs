//! The normalized trace: what every reader produces and every detector sees.

mod digest;
mod native;
mod route;
mod sink;
mod step;
mod text;
#[expect(clippy::module_inception, reason = "the type that the module is named for")]
mod trace;

pub use digest::Digest;
pub(crate) use digest::{ArgumentsDigest, DigestMap, empty};
pub use native::NATIVE_VERSION;
pub use route::{ExpectedAction, Milestone, ReferenceRoute, Routing, Target};
pub use sink::{Ending, Gate, LabelledFailure, Metadata, StepSink, Unpaired};
pub(crate) use step::fold_name;
pub use step::{Action, Actor, Actors, Arguments, Digests, Event, Provenance, Status, Step, StepInput};
pub use text::Text;
pub(crate) use text::first_chars;
pub use trace::{Trace, TraceBuilder, TraceCollector};
