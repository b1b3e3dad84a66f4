//! The rules as their sources publish them. Their results must not change.

mod loop_repeat;
mod recovery_rate;
mod refused_before;

pub(super) use loop_repeat::LoopRepeat;
pub(super) use recovery_rate::RecoveryRate;
pub(super) use refused_before::RefusedBefore;
