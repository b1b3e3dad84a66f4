//! Writes session files of coding agents.

use super::{arguments, id, indented, lines, quoted, time, written};
use crate::drawn::{Event, Speaker};

pub(super) fn atif(events: &[Event]) -> String {
    let step = |number: usize, rest: &str| {
        format!(r#"{{"step_id":{},"timestamp":"{}",{rest}}}"#, number + 1, time(number))
    };
    let metrics = r#""metrics":{"prompt_tokens":9000,"completion_tokens":120,"cached_tokens":8000}"#;
    let steps = written(
        events,
        |number, by, text| match by {
            Speaker::Agent => {
                step(number, &format!(r#""source":"agent","model_name":"m","message":{text},{metrics}"#))
            }
            Speaker::User => step(number, &format!(r#""source":"user","message":{text}"#)),
        },
        |number, call| {
            vec![step(
                number,
                &format!(
                    r#""source":"agent","model_name":"m","message":"","tool_calls":[{{"tool_call_id":"{id}","function_name":"bash","arguments":{}}}],"observation":{{"results":[{{"source_call_id":"{id}","content":{}}}]}},{metrics}"#,
                    arguments(call),
                    quoted(&call.output),
                    id = call.id,
                ),
            )]
        },
    );
    let head = r#""schema_version":"ATIF-v1.7","session_id":"s","agent":{"name":"codex","version":"1","model_name":"m"}"#;
    indented(&format!("{{{head},\"steps\":[{}]}}", steps.join(",")), 2)
}

pub(super) fn codex_rollout(events: &[Event]) -> String {
    let line = |number: usize, kind: &str, payload: &str| {
        format!(r#"{{"timestamp":"{}","type":"{kind}","payload":{{{payload}}}}}"#, time(number))
    };
    let tokens = r#""input_tokens":40856,"cached_input_tokens":4992,"output_tokens":292,"reasoning_output_tokens":53,"total_tokens":41148"#;
    let counted = format!(
        r#""type":"token_count","info":{{"total_token_usage":{{{tokens}}},"last_token_usage":{{{tokens}}},"model_context_window":258400}},"rate_limits":{{"primary":{{"used_percent":12.0,"window_minutes":300,"resets_at":1782000000}},"secondary":null}}"#
    );
    let meta = r#""id":"s","timestamp":"2026-07-01T00:00:00Z","cwd":"/work","originator":"codex_cli_rs","cli_version":"0.142.0","model_provider":"openai""#;
    let items = written(
        events,
        |number, by, text| {
            let (role, kind, event) = match by {
                Speaker::Agent => ("assistant", "output_text", "agent_message"),
                Speaker::User => ("user", "input_text", "user_message"),
            };
            let item =
                format!(r#""type":"message","role":"{role}","content":[{{"type":"{kind}","text":{text}}}]"#);
            let copy = format!(r#""type":"{event}","message":{text}"#);
            format!("{}\n{}", line(number, "response_item", &item), line(number, "event_msg", &copy))
        },
        |number, call| {
            let reasoning = format!(
                r#""type":"reasoning","id":"rs_{}","summary":[],"content":null,"encrypted_content":"{}""#,
                id(number),
                id(number).repeat(20)
            );
            let item = format!(
                r#""type":"function_call","name":"exec_command","arguments":{},"call_id":"{}""#,
                quoted(&format!(r#"{{"cmd":{}}}"#, quoted(&call.command))),
                call.id
            );
            let output = format!(
                "Chunk ID: {}\nWall time: 0.0512 seconds\nProcess exited with code {}\nOriginal token count: 512\nOutput:\n{}",
                number,
                u8::from(call.failed),
                call.output
            );
            let output = format!(
                r#""type":"function_call_output","call_id":"{}","output":{}"#,
                call.id,
                quoted(&output)
            );
            vec![
                line(number, "response_item", &reasoning),
                line(number, "response_item", &item),
                line(number, "response_item", &output),
                line(number, "event_msg", &counted),
            ]
        },
    );
    lines(&[vec![line(0, "session_meta", meta)], items].concat())
}

pub(super) fn codex_exec(events: &[Event]) -> String {
    let item = |kind: &str, number: usize, rest: &str| {
        format!(r#"{{"type":"item.{kind}","item":{{"id":"item_{number}",{rest}}}}}"#)
    };
    let items = written(
        events,
        |number, _, text| item("completed", number, &format!(r#""type":"agent_message","text":{text}"#)),
        |number, call| {
            let command = format!(
                r#""type":"command_execution","command":{}"#,
                quoted(&format!("bash -lc '{}'", call.command))
            );
            let started =
                format!(r#"{command},"aggregated_output":"","exit_code":null,"status":"in_progress""#);
            let completed = format!(
                r#"{command},"aggregated_output":{},"exit_code":{},"status":"{}""#,
                quoted(&call.output),
                u8::from(call.failed),
                if call.failed { "failed" } else { "completed" }
            );
            vec![item("started", number, &started), item("completed", number, &completed)]
        },
    );
    lines(&[vec![r#"{"type":"thread.started","thread_id":"s"}"#.to_owned()], items].concat())
}

pub(super) fn claude_code(events: &[Event]) -> String {
    let line = |number: usize, part: usize, kind: &str, rest: &str| {
        let place = number * 2 + part;
        let parent = place.checked_sub(1).map_or("null".to_owned(), |before| format!("\"{}\"", id(before)));
        format!(
            r#"{{"parentUuid":{parent},"isSidechain":false,"userType":"external","cwd":"/work","sessionId":"s","version":"2.1.20","gitBranch":"main","type":"{kind}",{rest},"uuid":"{}","timestamp":"{}"}}"#,
            id(place),
            time(number)
        )
    };
    let answer = |number: usize, block: &str| {
        format!(
            r#""message":{{"model":"m","id":"msg_{}","type":"message","role":"assistant","content":[{block}],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":5,"cache_creation_input_tokens":812,"cache_read_input_tokens":31231,"cache_creation":{{"ephemeral_5m_input_tokens":812,"ephemeral_1h_input_tokens":0}},"output_tokens":210,"service_tier":"standard"}}}},"requestId":"req_{}""#,
            id(number),
            id(number)
        )
    };
    let items = written(
        events,
        |number, by, text| match by {
            Speaker::Agent => {
                line(number, 1, "assistant", &answer(number, &format!(r#"{{"type":"text","text":{text}}}"#)))
            }
            Speaker::User => {
                line(number, 1, "user", &format!(r#""message":{{"role":"user","content":{text}}}"#))
            }
        },
        |number, call| {
            let block = format!(
                r#"{{"type":"tool_use","id":"{}","name":"Bash","input":{}}}"#,
                call.id,
                arguments(call)
            );
            let output = quoted(&call.output);
            let result = if call.failed {
                quoted(&format!("Error: {}", call.output))
            } else {
                format!(r#"{{"stdout":{output},"stderr":"","interrupted":false,"isImage":false}}"#)
            };
            let answered = format!(
                r#""message":{{"role":"user","content":[{{"tool_use_id":"{}","type":"tool_result","content":{output},"is_error":{}}}]}},"toolUseResult":{result}"#,
                call.id, call.failed
            );
            vec![line(number, 0, "assistant", &answer(number, &block)), line(number, 1, "user", &answered)]
        },
    );
    lines(&items)
}

pub(super) fn inspect(events: &[Event]) -> String {
    let message = |number: usize, rest: &str| format!(r#"{{"id":"{}",{rest}}}"#, &id(number)[..22]);
    let messages = written(
        events,
        |number, by, text| {
            let who = match by {
                Speaker::Agent => r#""source":"generate","role":"assistant""#,
                Speaker::User => r#""source":"input","role":"user""#,
            };
            message(number, &format!(r#""content":{text},{who}"#))
        },
        |number, call| {
            let asked = format!(
                r#""content":"","source":"generate","role":"assistant","tool_calls":[{{"id":"{}","function":"bash","arguments":{},"type":"function"}}],"model":"m""#,
                call.id,
                arguments(call)
            );
            let error =
                if call.failed { r#","error":{"type":"unknown","message":"exit code 1"}"# } else { "" };
            let answered = format!(
                r#""content":{},"role":"tool","tool_call_id":"{}","function":"bash"{error}"#,
                quoted(&call.output),
                call.id
            );
            vec![message(number * 2, &asked), message(number * 2 + 1, &answered)]
        },
    );
    let head = r#""version":2,"status":"success","eval":{"run_id":"r","created":"2026-07-01T00:00:00+00:00","task":"t","model":"m","dataset":{"samples":1},"config":{}}"#;
    let sample = format!(
        r#"{{"id":1,"epoch":1,"input":"x","target":"y","messages":[{}],"output":{{"model":"m","choices":[]}},"scores":{{}}}}"#,
        messages.join(",")
    );
    indented(&format!("{{{head},\"samples\":[{sample}]}}"), 2)
}

pub(super) fn gemini_cli(events: &[Event]) -> String {
    let message = |number: usize, rest: &str| {
        format!(r#"{{"id":"{}","timestamp":"{}",{rest}}}"#, id(number), time(number))
    };
    let messages = written(
        events,
        |number, by, text| {
            let who = if by == Speaker::Agent { "gemini" } else { "user" };
            message(number, &format!(r#""type":"{who}","content":{text}"#))
        },
        |number, call| {
            let output = quoted(&call.output);
            vec![message(
                number,
                &format!(
                    r#""type":"gemini","content":"","thoughts":[{{"subject":"Planning","description":"I decided on the strategy.","timestamp":"{}"}}],"tokens":{{"input":6341,"output":48,"cached":0,"thoughts":48,"tool":0,"total":6437}},"model":"m","toolCalls":[{{"id":"{id}","name":"run_shell_command","args":{},"result":[{{"functionResponse":{{"id":"{id}","name":"run_shell_command","response":{{"output":{output}}}}}}}],"status":"{}","timestamp":"{}","displayName":"Shell","description":"Runs a command","resultDisplay":{output},"renderOutputAsMarkdown":false}}]"#,
                    time(number),
                    arguments(call),
                    if call.failed { "error" } else { "success" },
                    time(number),
                    id = call.id,
                ),
            )]
        },
    );
    let head = r#""sessionId":"s","projectHash":"p","startTime":"2026-07-01T00:00:00Z","lastUpdated":"2026-07-01T00:00:00Z""#;
    indented(&format!("{{{head},\"messages\":[{}],\"kind\":\"main\"}}", messages.join(",")), 2)
}

pub(super) fn opencode(events: &[Event]) -> String {
    let tokens =
        r#""cost":0.01,"tokens":{"input":31,"output":120,"reasoning":0,"cache":{"read":31000,"write":300}}"#;
    let times = r#""time":{"start":1782000000000,"end":1782000000900}"#;
    let message = |number: usize, role: &str, part: &str| {
        format!(
            r#"{{"info":{{"id":"msg_{id}","sessionID":"ses_s","role":"{role}","time":{{"created":1782000000000}},"modelID":"m","providerID":"p","mode":"build","path":{{"cwd":"/work","root":"/work"}},{tokens}}},"parts":[{{"id":"prt_{id}","sessionID":"ses_s","messageID":"msg_{id}","type":"step-start"}},{{"id":"prt_{id}","sessionID":"ses_s","messageID":"msg_{id}",{part}}},{{"id":"prt_{id}","type":"step-finish","reason":"tool-calls",{tokens}}}]}}"#,
            id = id(number)
        )
    };
    let messages = written(
        events,
        |number, by, text| {
            let role = by.role();
            message(number, role, &format!(r#""type":"text","text":{text},{times}"#))
        },
        |number, call| {
            let output = quoted(&call.output);
            let part = format!(
                r#""type":"tool","callID":"{}","tool":"bash","state":{{"status":"completed","input":{},"output":{output},"title":"Runs","metadata":{{"output":{output},"exit":{},"description":"Runs"}},{times}}}"#,
                call.id,
                arguments(call),
                u8::from(call.failed)
            );
            vec![message(number, "assistant", &part)]
        },
    );
    let head = r#""info":{"id":"ses_s","version":"1.0.2","projectID":"p","directory":"/work","title":"t","time":{"created":1,"updated":2}}"#;
    indented(&format!("{{{head},\"messages\":[{}]}}", messages.join(",")), 2)
}

pub(super) fn swe_agent(events: &[Event]) -> String {
    let steps = written(
        events,
        |_, _, text| {
            format!(
                r#"{{"action":"","observation":"","response":{text},"thought":{text},"state":"{{}}","execution_time":0.0}}"#
            )
        },
        |_, call| {
            let state = quoted(r#"{"open_file": "n/a", "working_dir": "/work"}"#);
            vec![format!(
                r#"{{"action":{},"observation":{},"response":{},"thought":"I will look.","state":{state},"execution_time":0.42}}"#,
                quoted(&call.command),
                quoted(&call.output),
                quoted(&format!("I will look.\n```\n{}\n```", call.command)),
            )]
        },
    );
    let history = written(
        events,
        |_, by, text| {
            let role = by.role();
            format!(r#"{{"role":"{role}","content":{text},"agent":"main"}}"#)
        },
        |_, call| {
            vec![
                format!(
                    r#"{{"role":"assistant","content":{},"agent":"main"}}"#,
                    quoted(&format!("I will look.\n```\n{}\n```", call.command))
                ),
                format!(r#"{{"role":"user","content":{},"agent":"main"}}"#, quoted(&call.output)),
            ]
        },
    );
    let info = r#""info":{"exit_status":"submitted","model_stats":{"tokens_sent":1,"tokens_received":1}}"#;
    let (steps, history) = (steps.join(","), history.join(","));
    indented(
        &format!(r#"{{"environment":"swe_main","trajectory":[{steps}],"history":[{history}],{info}}}"#),
        2,
    )
}

pub(super) fn openhands(events: &[Event]) -> String {
    let event = |place: usize, rest: &str| {
        format!(r#"{{"id":{place},"timestamp":"{}",{rest}}}"#, time(place).trim_end_matches('Z'))
    };
    let items = written(
        events,
        |number, by, text| {
            let who = if by == Speaker::Agent { "agent" } else { "user" };
            event(
                number * 2,
                &format!(
                    r#""source":"{who}","message":{text},"action":"message","args":{{"content":{text},"image_urls":null,"wait_for_response":false,"security_risk":null}}"#
                ),
            )
        },
        |number, call| {
            let command = quoted(&call.command);
            let metadata = format!(
                r#""tool_call_metadata":{{"function_name":"execute_bash","tool_call_id":"{id}","model_response":{{"id":"chatcmpl-{}","created":1782000000,"model":"m","object":"chat.completion","choices":[{{"finish_reason":"tool_calls","index":0,"message":{{"content":"","role":"assistant","tool_calls":[{{"function":{{"arguments":{},"name":"execute_bash"}},"id":"{id}","type":"function"}}]}}}}],"usage":{{"completion_tokens":120,"prompt_tokens":9000,"total_tokens":9120}}}},"total_calls_in_response":1}}"#,
                self::id(number),
                quoted(&arguments(call)),
                id = call.id
            );
            let asked = format!(
                r#""source":"agent","message":{},"action":"run","args":{{"command":{command},"is_input":false,"thought":"","blocking":false,"is_static":false,"cwd":null,"hidden":false,"confirmation_state":"confirmed"}},{metadata}"#,
                quoted(&format!("Running command: {}", call.command))
            );
            let answered = format!(
                r#""source":"agent","message":"Command executed","observation":"run","content":{},"cause":{},"extras":{{"command":{command},"metadata":{{"exit_code":{},"pid":-1,"username":"root","hostname":"h","working_dir":"/work","py_interpreter_path":"/usr/bin/python","prefix":"","suffix":"\n[done]"}},"hidden":false}},"success":{},{metadata}"#,
                quoted(&call.output),
                number * 2,
                u8::from(call.failed),
                !call.failed
            );
            vec![event(number * 2, &asked), event(number * 2 + 1, &answered)]
        },
    );
    format!("[{}]", items.join(", "))
}

pub(super) fn mini_swe_agent(events: &[Event]) -> String {
    let response = |number: usize, text: &str| {
        format!(
            r#""extra":{{"response":{{"id":"chatcmpl-{}","created":1769121767,"model":"m","object":"chat.completion","system_fingerprint":null,"choices":[{{"finish_reason":"stop","index":0,"message":{{"content":{text},"role":"assistant","tool_calls":null,"function_call":null}}}}],"usage":{{"completion_tokens":735,"prompt_tokens":1563,"total_tokens":2298,"completion_tokens_details":{{"accepted_prediction_tokens":0,"audio_tokens":0,"reasoning_tokens":640,"rejected_prediction_tokens":0,"text_tokens":null}},"prompt_tokens_details":{{"audio_tokens":0,"cached_tokens":0,"text_tokens":null,"image_tokens":null}}}},"service_tier":"default"}}}}"#,
            id(number)
        )
    };
    let messages = written(
        events,
        |number, by, text| match by {
            Speaker::Agent => {
                format!(r#"{{"role":"assistant","content":{text},{}}}"#, response(number, text))
            }
            Speaker::User => format!(r#"{{"role":"user","content":{text}}}"#),
        },
        |number, call| {
            let text = quoted(&format!("THOUGHT: I will look.\n\n```bash\n{}\n```", call.command));
            let output = format!(
                "<returncode>{}</returncode>\n<output>\n{}</output>",
                u8::from(call.failed),
                call.output
            );
            vec![
                format!(r#"{{"role":"assistant","content":{text},{}}}"#, response(number, &text)),
                format!(r#"{{"role":"user","content":{}}}"#, quoted(&output)),
            ]
        },
    );
    let info = r#""info":{"exit_status":"Submitted","config":{"model":{"model_name":"m"}}}"#;
    let rest = r#""trajectory_format":"mini-swe-agent-1","instance_id":"i""#;
    indented(&format!("{{{info},\"messages\":[{}],{rest}}}", messages.join(",")), 2)
}
