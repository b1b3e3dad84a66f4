//! A naive statement of `tool_error_recovery` with the `rate` definition, by tool and not by program: the
//! published rate.

use wrongturn::detect::{Evidence, ToolError, ToolErrorRecoveryConfig, ToolErrorRecoveryEvidence};

use super::Expected;
use super::run::{Run, same_json};

#[expect(clippy::cast_precision_loss, reason = "runs are short")]
pub(crate) fn tool_error_recovery(run: &Run, config: &ToolErrorRecoveryConfig) -> Expected {
    let actions = run.actions(config.actors);
    let mut errors = Vec::new();
    for (position, failed) in actions.iter().enumerate().filter(|(_, action)| action.is_error()) {
        let later: Vec<_> =
            actions.iter().skip(position + 1).filter(|a| a.call.name == failed.call.name).collect();
        let recovering = later.iter().position(|action| action.is_ok());
        errors.push(ToolError {
            step: failed.step(),
            tool: failed.call.name.to_owned(),
            recovered_by: recovering.map(|at| later[at].step()),
            attempts: recovering.map_or(later.len(), |at| at + 1) as u64,
            changed_arguments: recovering
                .filter(|&at| !later[at].call.left_out.0 && !failed.call.left_out.0)
                .map(|at| !same_json(&later[at].arguments, &failed.arguments)),
            abandoned: later.is_empty(),
        });
    }
    let unrecovered: Vec<u64> = errors.iter().filter(|e| e.recovered_by.is_none()).map(|e| e.step).collect();
    let rate =
        if errors.is_empty() { 1.0 } else { (errors.len() - unrecovered.len()) as f64 / errors.len() as f64 };
    let detected = !errors.is_empty() && rate < config.threshold;
    let evidence = Evidence::ToolErrorRecovery(ToolErrorRecoveryEvidence { errors, ..Default::default() });
    let findings = match (unrecovered.first(), unrecovered.last()) {
        (Some(&first), Some(&last)) if detected => vec![(first, last, evidence)],
        _ => Vec::new(),
    };
    Expected::Judged { detected, score: Some(rate), findings }
}
