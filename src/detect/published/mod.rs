//! The rules as their sources publish them, each a small fold of its own next to the default rule. They are kept bit
//! for bit.

mod loop_repeat;
mod recovery_rate;
mod refused_before;

pub(super) use loop_repeat::LoopRepeat;
pub(super) use recovery_rate::RecoveryRate;
pub(super) use refused_before::RefusedBefore;
