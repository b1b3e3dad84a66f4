//! ToolBench: the nodes of a search for an answer. A node names a tool, and the next one has the arguments and
//! the result. `ToolEval` converts the answers: a node is a call with its answer, and the next ones are under `next`.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[
        Shape::Object(All(&[
            In("answer_generation", &Has(&["query"])),
            Any(&[Has(&["tree"]), Has(&["trys"]), In("answer_generation", &Is(Kind::List, &["chain"]))]),
        ])),
        Shape::Object(Values(&CONVERTED)),
    ],
    reader: Reader::Object(read),
};

const CONVERTED: Mark = All(&[Has(&["query"]), In("answer", &Is(Kind::List, &["answer_details"]))]);

fn read(members: &Members<'_>, runs: &mut Runs<'_>) {
    if members.has("answer_generation") {
        return search(members, runs);
    }
    for (id, entry) in members.iter() {
        let entry = recorded::members(Some(entry));
        if CONVERTED.fits(&entry) {
            converted(id, &entry, runs);
        } else {
            runs.pass_over("entries without an answer", 1);
        }
    }
}

fn converted(id: &str, entry: &Members<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("toolbench");
    run.metadata.task = Some(id.to_owned());
    run.say(Actor::User, entry.text("query"));
    let mut waiting = entry.object("answer").list("answer_details");
    waiting.reverse();
    while let Some(node) = waiting.pop().map(Members::from) {
        run.turn(None);
        match node.name("role").as_deref() {
            Some("tool") => call(&node, &mut run),
            // The message repeats the query.
            Some("user") => {}
            Some("system") => run.say(Actor::System, node.text("message")),
            Some("assistant") => run.say(Actor::Agent, node.text("message")),
            _ => run.pass_over("nodes of other types", 1),
        }
        waiting.extend(node.list("next").into_iter().rev());
    }
    run.give(runs);
}

fn call<'a>(node: &Members<'a>, run: &mut Recording<'a>) {
    let message = node.object("message");
    if let Some(cut) = node.name("message") {
        // The beginning of Python's `repr` of the call.
        let name = cut.strip_prefix("{'name': '").and_then(|rest| rest.split('\'').next());
        let call = Call::new(0, None, name.unwrap_or_default().to_owned());
        let call = run.add(call.with(Content::NotRecorded));
        return run.answer_without_text(call, Outcome::unknown(UnknownReason::Unspecified, Provenance::None));
    }
    let call = run.call(None, message.name("name"), message.get("arguments"));
    let observed = message.result("response");
    let outcome = Outcome::by_text(observed.as_ref().is_some_and(has_error));
    run.answer_call(call, observed, outcome);
}

/// Returns true if a response is an object with an error.
fn has_error(response: &TextCow<'_>) -> bool {
    json(&response.text().to_str()).is_some_and(|response| Members::from(response).name("error").is_some())
}

/// Returns true if a response has an error, and nothing that was asked for.
fn is_failure(response: &TextCow<'_>) -> bool {
    let text = response.text().to_str();
    let response = json(&text).map(Members::from).unwrap_or_default();
    let is_empty = |value: Raw<'_>| matches!(value.bytes(), b"\"\"" | b"{}" | b"[]" | b"null");
    response.name("error").is_some_and(|error| error != "None")
        && response.get("response").is_none_or(is_empty)
}

fn search(answer: &Members<'_>, runs: &mut Runs<'_>) {
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
            let observed = words::result(observed);
            // 3 and 4 end a run, with an answer or by giving up; neither is a failed call.
            let outcome = match code {
                Some(0) | None if observed.as_ref().is_some_and(is_failure) => Outcome::by_text(true),
                Some(0 | 3 | 4) => Outcome::flag(false),
                Some(_) => Outcome::flag(true),
                None => Outcome::UNMARKED,
            };
            self.run.answer_call(call, observed, outcome);
        }
    }
}
