//! Renders the regressions of the reward.

use super::cell::{Cell, counted};
use super::table::Table;
use crate::replicate::{Relation, RewardModel, RewardRegression};

/// Returns the regressions of the reward as a table: effects of one unit, with intervals and p-values.
pub(super) fn regression_table(found: &RewardRegression) -> Table {
    let mut table = Table::new(
        "regression",
        "Reward by recovery, errors and calls together",
        &["model= | measure=one unit of | effect # | ci95=95% CI ~ | p #"],
    );
    for (name, model) in [("odds ratio", &found.logistic), ("reward", &found.linear)] {
        for one in &model.effects {
            let (effect, interval) = match one.odds_ratio {
                Some((odds, interval)) => (Cell::Real(odds, 3), Cell::Interval(interval, 3)),
                None => (Cell::Signed(one.effect.estimate, 3), Cell::SignedInterval(one.effect.ci95, 3)),
            };
            let measure = match one.measure {
                Relation::Recovery => Cell::text("recovery rate"),
                measure => Cell::text(measure.label()),
            };
            table.row([Cell::text(name), measure, effect, interval, Cell::P(one.effect.p)]);
        }
        table.note(about(name, model, found));
    }
    table.note(
        "Effect of one unit on the odds of success (a reward of at least 1) and on the reward, with the other measures \
         unchanged. Every pair of model and domain has a level of its own.",
    );
    table
}

/// Describes the sample of a regression, or says why it is undefined.
fn about(name: &str, model: &RewardModel, found: &RewardRegression) -> String {
    if let Some(why) = &model.undefined {
        return format!("{name}: undefined, {why}");
    }
    let left_out = match model.left_out {
        0 => String::new(),
        count => format!("; {} left out, as all or none of their pair succeed", counted(count, "run")),
    };
    format!(
        "{name}: {}, {} of model and domain, 95% CI robust to {} clusters ({}){left_out}",
        counted(model.runs, "run"),
        counted(model.groups, "pair"),
        model.clusters,
        found.cluster.name(),
    )
}
