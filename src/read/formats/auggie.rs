//! Sessions of Auggie, Augment's CLI: exchanges of a request and the response. The results of the calls in a response are
//! in a later request.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(All(&[
        Is(Kind::Object, &["agentState"]),
        Holds(
            "chatHistory",
            &In("exchange", &HasOne(&["request_nodes", "response_nodes", "request_message"])),
        ),
    ]))],
    reader: Reader::Object(read),
};

fn read(session: &Members<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("auggie");
    run.metadata.id = session.name("sessionId").map(Cow::into_owned);
    run.model(session.object("agentState").name("modelId"));
    for entry in session.objects("chatHistory") {
        let exchange = entry.object("exchange");
        let nodes = |key| exchange.objects(key);
        run.turn(nodes("response_nodes").find_map(|node| node.time("timestamp_ms")));
        run.set_usage(nodes("response_nodes").find_map(|node| node.usage("token_usage")));
        for node in nodes("request_nodes") {
            let result = node.object("tool_result_node");
            if result.keys().next().is_some() {
                let observation = result.get("content").and_then(words::result);
                let outcome = Outcome::of_flag(result.flag("is_error"));
                run.answer(result.name("tool_use_id"), None, observation, outcome);
            }
        }
        run.say(Actor::User, exchange.message("request_message"));
        run.say(Actor::Agent, exchange.message("response_text"));
        for node in nodes("response_nodes") {
            let call = node.object("tool_use");
            let name = call.name("tool_name").or_else(|| call.name("mcp_tool_name"));
            if name.is_some() {
                run.call(call.name("tool_use_id"), name, call.first(&["input_json", "input"]));
            }
        }
    }
    run.give(runs);
}
