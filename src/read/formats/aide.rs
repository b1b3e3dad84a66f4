//! AIDE and The AI Scientist: the journal of a search, whose nodes are programs with their plan and their output.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(All(&[Is(Kind::Object, &["node2parent"]), Holds("nodes", &NODE)]))],
    reader: Reader::Object(read),
};

const NODE: Mark = All(&[Is(Kind::String, &["code", "plan"]), Has(&["_term_out", "exc_type", "is_buggy"])]);

fn read(journal: &Members<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("aide");
    let nodes = journal.objects("nodes");
    for node in fitting(&NODE, nodes, "nodes of other types", runs) {
        // The AI Scientist also has programs that draw plots and extract metrics.
        let others = ["plot_code", "parse_metrics_code"].iter().filter(|key| node.name(key).is_some());
        run.pass_over("programs for plots and metrics", others.count() as u64);
        self::node(&node, &mut run);
    }
    run.give(runs);
}

/// Adds a node: the plan of the agent, its program with the output, and what the agent says about it.
fn node<'a>(node: &Members<'a>, run: &mut Recording<'a>) {
    run.turn(node.get("ctime").and_then(time::of_seconds));
    run.say(Actor::Agent, node.text("plan"));
    let code = node.name("code").unwrap_or_default();
    let call = run.call_text("python", "code", &code);
    if let Some(duration) = node.get("exec_time").and_then(time::of_seconds)
        && let Some(call) = run.call_mut(call)
    {
        call.usage.get_or_insert_default().duration_ns = Some(duration);
    }
    let lines = node.list("_term_out").into_iter().filter_map(Raw::string).collect::<Vec<_>>();
    let failed = node.name("exc_type").is_some();
    if let Some(printed) = node.string("_term_out") {
        run.answer_call(call, Some(printed), Outcome::flag(failed));
    } else if node.is("_term_out", Kind::List) {
        run.answer_call(call, Some(lines.concat().into()), Outcome::flag(failed));
    } else if failed {
        run.answer_without_text(call, Outcome::flag(true));
    }
    run.say(Actor::Agent, node.text("analysis"));
}
