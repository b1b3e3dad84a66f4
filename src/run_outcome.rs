//! Rules for success and infrastructure errors.

/// A reward within this distance of 1 is a success.
const SUCCESS_TOLERANCE: f64 = 1e-6;

/// Returns true if a run with this reward succeeded. A run without a reward did not.
pub(crate) fn is_success(reward: Option<f64>) -> bool {
    reward.is_some_and(|reward| (reward - 1.0).abs() <= SUCCESS_TOLERANCE)
}

/// Returns true if this termination is an infrastructure error, which does not count against the agent.
pub(crate) fn is_infrastructure_error(termination: Option<&str>) -> bool {
    termination == Some("infrastructure_error")
}
