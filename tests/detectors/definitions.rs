//! Each detector against the naive statement of its definition, on drawn runs.

use proptest::prelude::*;
use wrongturn::{
    Action, Detector, ExpectedAction, FeedbackBlindness, Loop, LoopDefinition, MalformedCall,
    RouteInefficiency, Status, ToolErrorRecovery, Trace, TransientRules, WastedActions,
};

use crate::naive::{self, Expected, draw};
use crate::{config, configs, detect, follow, is_named_as_called, with_other_spelling};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn tool_error_recovery_is_as_defined(run in draw::run(), config in draw::recovery_config()) {
        let expected = naive::tool_error_recovery(&run, &config);
        let verdict = ToolErrorRecovery::new(config).unwrap().detect(&run.trace().unwrap());
        prop_assert_eq!(Expected::from(&verdict), expected);
    }

    #[test]
    fn stuck_is_as_defined(run in draw::run(), config in draw::loop_config(LoopDefinition::Stuck)) {
        let expected = naive::looping(&run, &config);
        let verdict = Loop::new(config).unwrap().detect(&run.trace().unwrap());
        prop_assert_eq!(Expected::from(&verdict), expected);
        prop_assert!(verdict.findings().iter().all(|finding| is_named_as_called(&run, finding)));
    }

    #[test]
    fn repeat_is_as_defined(run in draw::run(), config in draw::loop_config(LoopDefinition::Repeat)) {
        let expected = naive::looping(&run, &config);
        let verdict = Loop::new(config).unwrap().detect(&run.trace().unwrap());
        prop_assert_eq!(Expected::from(&verdict), expected);
        prop_assert!(verdict.findings().iter().all(|finding| is_named_as_called(&run, finding)));
    }

    #[test]
    fn feedback_blindness_is_as_defined(run in draw::run(), config in draw::feedback_config()) {
        let expected = naive::feedback_blindness(&run, &config);
        let verdict = FeedbackBlindness::new(config).unwrap().detect(&run.trace().unwrap());
        prop_assert_eq!(Expected::from(&verdict), expected);
    }

    #[test]
    fn route_inefficiency_is_as_defined(run in draw::run(), config in draw::route_config()) {
        let expected = naive::route_inefficiency(&run, &config);
        let verdict = RouteInefficiency::new(config).unwrap().detect(&run.trace().unwrap());
        prop_assert_eq!(Expected::from(&verdict), expected);
    }

    #[test]
    fn wasted_actions_is_as_defined(run in draw::run(), config in draw::waste_config()) {
        let expected = naive::wasted_actions(&run, &config);
        let verdict = WastedActions::new(&config).unwrap().detect(&run.trace().unwrap());
        prop_assert_eq!(Expected::from(&verdict), expected);
    }

    #[test]
    fn malformed_call_is_as_defined(run in draw::run(), config in draw::malformed_config()) {
        let expected = naive::malformed_call(&run, &config);
        let verdict = MalformedCall::new(config).unwrap().detect(&run.trace().unwrap());
        prop_assert_eq!(Expected::from(&verdict), expected);
    }

    #[test]
    fn expected_action_is_as_defined(run in draw::run(), config in draw::missed_config()) {
        let expected = naive::expected_action(&run, &config);
        let verdict = ExpectedAction::new(config).unwrap().detect(&run.trace().unwrap());
        prop_assert_eq!(Expected::from(&verdict), expected);
    }

    #[test]
    fn transient_failures_are_as_defined(text in "[5.,]{0,3}(503|429|Timed out)[5.,]{0,3}( 500)?", skip in 290..305_usize) {
        for text in [text.clone(), format!("{}{text}", "é".repeat(skip))] {
            let call = naive::error("tool", None, &text).call.unwrap();
            let action = Action::new("tool").answered(Status::Error, &text);
            let rules = TransientRules::default();
            prop_assert_eq!(rules.matches(&action), naive::is_transient(&call, &rules), "{:?}", text);
        }
    }

    #[test]
    fn the_spelling_of_arguments_does_not_matter(run in draw::run(), configs in configs()) {
        let detectors = configs.detectors().unwrap();
        let verdicts = detect(&detectors, &run.trace().unwrap());
        let other = with_other_spelling(&run);
        prop_assert_eq!(&detect(&detectors, &other.trace().unwrap()), &verdicts);
        prop_assert_eq!(follow(&detectors, &other).unwrap().1, verdicts);
    }

    #[test]
    fn native_json_keeps_everything(run in draw::run(), configs in configs()) {
        let detectors = configs.detectors().unwrap();
        let trace = run.trace().unwrap();
        let read: Trace = serde_json::from_str(&serde_json::to_string(&trace).unwrap()).unwrap();
        prop_assert_eq!(&read, &trace);
        prop_assert_eq!(detect(&detectors, &read), detect(&detectors, &trace));
    }
}
