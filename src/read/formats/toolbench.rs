//! ToolBench: the nodes of a search for an answer. A node names a tool, and the next one has the arguments and
//! the result.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(All(&[
        In("answer_generation", &Has(&["query"])),
        Any(&[Has(&["tree"]), Has(&["trys"]), In("answer_generation", &Is(Kind::List, &["chain"]))]),
    ]))],
    reader: Reader::Object(read),
};

fn read(answer: &Members<'_>, runs: &mut Runs<'_>) {
    let generated = answer.object("answer_generation");
    let mut search = Search { run: Recording::of_agent("toolbench"), open: None };
    search.run.metadata.termination = answer.flag("win").map(|win| if win { "win" } else { "lose" }.into());
    search.run.say(Actor::User, generated.text("query"));
    // The winning chain is only one branch of the tree, so prefer the tree.
    let tree = answer
        .get("tree")
        .map(|tree| tree.member("tree").unwrap_or(tree))
        .filter(|tree| tree.kind() == Kind::Object);
    let tries = answer.list("trys");
    if let Some(tree) = tree {
        search.nodes(vec![tree]);
    } else if tries.is_empty() {
        search.nodes(generated.list("chain"));
    } else {
        for attempt in tries {
            search.nodes(items(attempt.member("chain")));
        }
    }
    search.run.give(runs);
}

struct Search<'a> {
    run: Recording<'a>,
    /// The call that waits for its arguments.
    open: Option<CallNumber>,
}

impl<'a> Search<'a> {
    /// Reads nodes and those below them, in the order in which they were tried.
    fn nodes(&mut self, nodes: Vec<Raw<'a>>) {
        let mut waiting: Vec<_> = nodes.into_iter().rev().collect();
        while let Some(node) = waiting.pop() {
            let node = Members::from(node);
            self.node(&node);
            waiting.extend(node.list("children").into_iter().rev());
        }
    }

    fn node(&mut self, node: &Members<'a>) {
        let description = node.get("description");
        match node.name("node_type").as_deref() {
            Some("Thought") => {
                self.run.turn(None);
                self.run.say(Actor::Agent, text(description));
            }
            Some("Action") => {
                self.run.turn(None);
                self.open = Some(self.run.call(None, node.name("description"), None));
                // A call to a nonexistent tool has its answer here, in the node that names the tool.
                self.answer(node);
            }
            Some("Action Input") => {
                if let (Some(call), Some(given)) =
                    (self.open.and_then(|call| self.run.call_mut(call)), description)
                {
                    call.arguments = common::arguments(given);
                }
                self.answer(node);
                self.open = None;
            }
            None if node.has("children") => {}
            _ => self.run.pass_over("nodes of other types", 1),
        }
    }

    fn answer(&mut self, node: &Members<'a>) {
        let observed = node
            .get("observation")
            .filter(|observed| observed.kind() != Kind::Null && observed.bytes() != b"\"\"");
        if let (Some(call), Some(observed)) = (self.open, observed) {
            let code = node.integer("observation_code");
            // 3 and 4 end a run, with an answer or by giving up; neither is a failed call.
            let outcome = match code {
                Some(0 | 3 | 4) => Outcome::flag(false),
                Some(_) => Outcome::flag(true),
                None => Outcome::ok(Provenance::None),
            };
            self.run.answer_call(call, words::result(observed), outcome);
        }
    }
}
