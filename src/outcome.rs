//! When a run has succeeded, and when it does not count at all.

/// A reward this close to 1 is a success.
const SUCCESS_TOLERANCE: f64 = 1e-6;

/// Whether a run with this reward has succeeded; one without a reward has not.
pub(crate) fn is_success(reward: Option<f64>) -> bool {
    reward.is_some_and(|reward| (reward - 1.0).abs() <= SUCCESS_TOLERANCE)
}

/// Whether a run that was ended for this reason ended in an infrastructure error, which is no failure of the agent's.
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
