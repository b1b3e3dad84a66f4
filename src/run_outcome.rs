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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_reward_is_a_success() {
        for (reward, success) in [(1.0, true), (1.0 - 1e-7, true), (0.999, false), (2.0, false), (0.0, false)]
        {
            assert_eq!(is_success(Some(reward)), success, "{reward}");
        }
        assert!(!is_success(None) && !is_success(Some(f64::NAN)));
    }
}
