//! OWL (CAMEL) histories: the exchanges of two agents. Each call is recorded with its result.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(TASK), Shape::Items(Any(&[TASK, EXCHANGE]))],
    reader: Reader::Document(read),
};

const EXCHANGE: Mark = All(&[Has(&["user", "assistant"]), Is(Kind::List, &["tool_calls"])]);
const TASK: Mark = Any(&[Holds("chat_history", &EXCHANGE), Holds("history", &EXCHANGE)]);

const LISTS: [&str; 2] = ["chat_history", "history"];

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    match document {
        Document::Object(task) => run(task, runs),
        document if signature::shown(document).iter().any(|item| EXCHANGE.fits(item)) => {
            give(Recording::of_agent("owl"), document.items(), runs);
        }
        document => {
            for task in fitting(&TASK, document.each(), "elements of other types", runs) {
                run(&task, runs);
            }
        }
    }
}

fn run(task: &Members<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("owl");
    run.metadata.task = task.ident("task_id").map(Into::into);
    run.reward =
        task.number("score").or_else(|| task.flag("score").map(|passed| f64::from(u8::from(passed))));
    run.say(Actor::User, task.text("question"));
    let list = LISTS.iter().find_map(|key| task.get(key));
    give(run, &items(list), runs);
}

fn give<'a>(mut run: Recording<'a>, exchanges: &[Raw<'a>], runs: &mut Runs<'_>) {
    for exchange in exchanges {
        let exchange = Members::from(*exchange);
        let is_known = EXCHANGE.fits(&exchange) || exchange.has("user") || exchange.has("assistant");
        run.pass_over("elements of other types", u64::from(!is_known));
        run.turn(None);
        run.say(Actor::User, exchange.text("user"));
        for call in exchange.objects("tool_calls") {
            let name = call.name("tool_name").or_else(|| call.name("func_name"));
            let number = run.call(call.ident("tool_call_id"), name, call.get("args"));
            if let Some(result) = call.get("result") {
                run.answer_call(number, words::result(result), Outcome::UNMARKED);
            }
        }
        run.say(Actor::Agent, exchange.text("assistant"));
    }
    run.give(runs);
}
