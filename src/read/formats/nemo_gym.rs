//! Rollouts of NVIDIA's `NeMo` Gym: the first request, one response that holds all that the agent did, and the reward.

use super::chat::{self, Form};
use super::chat_messages::Conversation;
use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Each(ROLLOUT)], reader: Reader::Document(read) };

const ROLLOUT: Mark =
    All(&[In("responses_create_params", &Has(&["input"])), In("response", &Is(Kind::List, &["output"]))]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    for rollout in fitting(&ROLLOUT, document.each(), "objects that are not rollouts", runs) {
        let request = rollout.object("responses_create_params");
        let response = rollout.object("response");
        let agent = rollout.object("agent_ref").name("name");
        let place = |key| rollout.ident(key).map(Cow::into_owned);
        let mut metadata = chat::metadata(&rollout);
        metadata.task = metadata.task.or_else(|| place("_ng_task_index"));
        metadata.trial = rollout.count("_ng_rollout_index");
        metadata.model = chat::metadata(&response).model;
        metadata.agent = agent.as_deref().map(Into::into);
        let mut run = Conversation::new(Form::Items, metadata);
        run.reward = chat::reward(&rollout);
        run.is_of_hermes = agent.is_some_and(|agent| agent.contains("hermes"));
        if let Some(text) = request.message("instructions") {
            run.assembler.message(Actor::System, 0, text);
        }
        if let Some(text) = request.string("input") {
            run.assembler.message(Actor::User, 0, text);
        }
        request.list("input").into_iter().for_each(|item| run.take(item));
        run.end_turn();
        response.list("output").into_iter().for_each(|item| run.take(item));
        let last = run.turn();
        run.assembler.set_usage(last, response.usage("usage"));
        run.give(runs);
    }
}
