//! tracelint

mod calibration;
mod corpus;
mod detectors;
mod error;
mod fingerprint;
mod input;
mod replication;
mod report;
pub mod stats;
mod trace;

pub use calibration::*;
pub use corpus::*;
pub use detectors::*;
pub use error::{Error, ErrorKind, Location, Result};
pub use fingerprint::*;
pub use input::*;
pub use replication::*;
pub use report::*;
pub use trace::*;
