//! tracelint

mod corpus;
mod detectors;
mod error;
mod fingerprint;
mod input;
pub mod stats;
mod trace;

pub use corpus::*;
pub use detectors::*;
pub use error::{Error, ErrorKind, Location, Result};
pub use fingerprint::*;
pub use input::*;
pub use trace::*;
