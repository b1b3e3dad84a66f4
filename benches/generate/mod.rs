//! Generates seeded data for the benchmarks.

#![allow(missing_docs, reason = "for the benches beside it alone")]

use serde_json::{Value, json};
use wrongturn::{
    Status, Trace,
    trace::{Actor, Milestone, ReferenceAction, ReferenceRoute},
};

/// `SplitMix64` (Steele, Lea and Flood 2014).
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.draw() % bound
    }

    fn pick<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        let index = self.below(texts.len() as u64);
        usize::try_from(index).ok().and_then(|index| texts.get(index).copied()).unwrap_or_default()
    }

    fn prose(&mut self, words: u64) -> String {
        const WORDS: [&str; 12] = [
            "the",
            "order",
            "could",
            "you",
            "please",
            "check",
            "reservation",
            "don\u{2019}t",
            "number",
            "thank",
            "is",
            "\n",
        ];
        let picked: Vec<&str> = (0..words).map(|_| self.pick(&WORDS)).collect();
        picked.join(" ")
    }
}

/// Returns a tau2 result file with long messages, escaped JSON in tool results, parallel calls, and raw data
/// that readers skip.
#[must_use]
pub fn tau2_file(seed: u64, runs: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let tasks: Vec<Value> = (0..runs)
        .map(|task| {
            json!({"id": task.to_string(), "user_scenario": random.prose(120), "evaluation_criteria": {"actions": [
                {"action_id": "0", "requestor": "assistant", "name": "get_order", "arguments": {"order_id": "#W1"}, "compare_args": null},
                {"action_id": "1", "requestor": "assistant", "name": "cancel_order", "arguments": {"order_id": "#W1", "reason": "no longer needed"}, "compare_args": ["order_id"]}
            ]}})
        })
        .collect();
    let simulations: Vec<Value> = (0..runs).map(|run| simulation(&mut random, run)).collect();
    let file = json!({"timestamp": "2026-01-01T00:00:00", "info": {"agent_info": {"llm": "generated"},
        "environment_info": {"domain_name": "bench", "policy": random.prose(2000)}},
        "tasks": tasks, "simulations": simulations});
    serde_json::to_vec_pretty(&file).unwrap_or_default()
}

fn simulation(random: &mut Random, run: u64) -> Value {
    const TOOLS: [&str; 4] = ["get_order", "get_user", "search", "cancel_order"];
    let mut messages = Vec::new();
    for turn in 0..12 {
        let raw =
            json!({"choices": [{"message": {"content": random.prose(40)}}], "usage": {"prompt_tokens": 900}});
        messages.push(
            json!({"role": "user", "content": random.prose(30), "tool_calls": null, "turn_idx": turn * 3,
            "timestamp": "2026-01-01T00:00:00", "cost": 0.001, "usage": null, "raw_data": raw}),
        );
        let calls: Vec<Value> = (0..=random.below(2))
            .map(|call| {
                let tool = random.pick(&TOOLS);
                json!({"id": format!("call_{turn}_{call}"), "name": tool, "requestor": "assistant",
                    "arguments": {"order_id": format!("#W{}", random.below(5)), "limit": 10}})
            })
            .collect();
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": calls, "turn_idx": turn * 3 + 1,
            "timestamp": "2026-01-01T00:00:00", "cost": 0.002, "usage": {"completion_tokens": 40}, "raw_data": null}));
        for call in &calls {
            let failed = random.below(8) == 0;
            let content = if failed {
                "Error: order not found".to_owned()
            } else {
                json!({"status": "pending", "items": [{"name": random.prose(3), "price": 12.5}, {"name": random.prose(3)}]}).to_string()
            };
            messages
                .push(json!({"role": "tool", "id": call["id"], "content": content, "requestor": "assistant",
                "error": failed, "turn_idx": turn * 3 + 2, "timestamp": "2026-01-01T00:00:00"}));
        }
    }
    json!({"id": format!("run-{run}"), "task_id": run.to_string(), "termination_reason": "user_stop",
        "reward_info": {"reward": 1.0, "db_check": {"db_match": true}}, "messages": messages, "trial": 0, "seed": 1})
}

/// Returns a trace that repeats a cycle of three calls. One of them fails.
#[must_use]
pub fn cycle(steps: u64) -> Trace {
    let never = vec![expected(1, "cancel_order", &json!({}))];
    trace(steps, never, |step| {
        (json!({"n": step % 3}), if step % 3 == 0 { Status::Error } else { Status::Ok })
    })
}

/// Returns a trace whose calls all differ. Every tenth is on the route.
#[must_use]
pub fn distinct(steps: u64) -> Trace {
    let tenth = (1..).zip((0..steps).step_by(10));
    let route = tenth.map(|(position, step)| expected(position, "get_order", &json!({"n": step}))).collect();
    trace(steps, route, |step| (json!({"n": step}), Status::Ok))
}

fn expected(position: u64, name: &str, arguments: &Value) -> Milestone {
    Milestone::action(position, ReferenceAction::new(Actor::Agent, name, arguments, None))
}

fn trace(steps: u64, milestones: Vec<Milestone>, call: impl Fn(u64) -> (Value, Status)) -> Trace {
    let mut builder = Trace::builder();
    for step in 0..steps {
        let (arguments, status) = call(step);
        let observation = format!("answer to {arguments}");
        // A call after the last one is always valid.
        builder.call("get_order", &arguments, status, &observation).ok();
    }
    let builder = match ReferenceRoute::new(milestones) {
        Ok(route) => builder.route(route),
        Err(_) => builder,
    };
    builder.build().unwrap_or_else(|_| {
        Trace::builder().build().unwrap_or_else(|_| unreachable!("an empty trace is valid"))
    })
}
