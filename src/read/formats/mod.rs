//! The formats, each in a file with its signature and its reader.
//!
//! To add a format, write a file with a constant `FORMAT`, and add its `mod` line and its line in the list
//! below. Errors and listings name formats in the order of the list.

pub(super) mod acp;
pub(super) mod activities;
pub(super) mod adk;
pub(super) mod ag_ui;
pub(super) mod agent_data;
pub(super) mod agentbench;
pub(super) mod agentdojo;
pub(super) mod agentv;
pub(super) mod agno;
pub(super) mod ai_sdk;
pub(super) mod aide;
pub(super) mod aiopslab;
pub(super) mod amazon_q;
pub(super) mod antigravity;
pub(super) mod antigravity_cli;
pub(super) mod atif;
pub(super) mod atof;
mod auggie;
pub(super) mod autogen;
pub(super) mod bedrock;
pub(super) mod bench_trace;
pub(super) mod bfcl;
pub(super) mod braintrust;
pub(super) mod browser_use;
pub(super) mod chat;
pub(super) mod chat_around;
mod chat_call;
mod chat_content;
pub(super) mod chat_element;
mod chat_end;
pub(super) mod chat_items;
pub(super) mod chat_messages;
pub(super) mod chat_records;
pub(super) mod claude_code;
mod claude_code_ends;
pub(super) mod claude_code_line;
mod claude_code_queue;
pub(super) mod claude_managed;
pub(super) mod cline_ui;
mod codex_events;
pub(super) mod codex_exec;
pub(super) mod codex_rollout;
pub(super) mod codex_text;
mod codex_usage;
pub(super) mod continue_dev;
pub(super) mod copilot_chat;
pub(super) mod copilot_chat_log;
pub(super) mod copilot_cli;
pub(super) mod copilot_debug;
pub(super) mod copilot_thread;
pub(super) mod crewai;
pub(super) mod crush;
pub(super) mod cursor;
pub(super) mod datadog;
pub(super) mod deepeval;
mod dsh;
pub(super) mod dspy;
pub(super) mod events;
mod events_answers;
pub(super) mod events_kind;
mod events_listed;
pub(super) mod events_lists;
pub(super) mod events_object;
mod events_open;
pub(super) mod events_what;
pub(super) mod gemini_cli;
pub(super) mod gemini_contents;
pub(super) mod gemini_stream;
pub(super) mod goose;
pub(super) mod harbor;
pub(super) mod inspect;
#[cfg(feature = "inspect")]
pub(super) mod inspect_archive;
pub(super) mod intercode;
pub(super) mod junie;
pub(super) mod kimi;
pub(super) mod kiro;
pub(super) mod langchain;
pub(super) mod langfuse;
pub(super) mod langsmith;
pub(super) mod letta;
pub(super) mod llama_index;
mod llm_body;
pub(super) mod llm_calls;
pub(super) mod llm_code;
mod llm_conversations;
mod llm_messages;
mod llm_responses;
mod llm_stream;
pub(super) mod mastra;
pub(super) mod mcp_bench;
pub(super) mod mind2web;
pub(super) mod mini_swe_agent;
pub(super) mod minimax;
pub(super) mod mlflow;
pub(super) mod moatless;
pub(super) mod muse;
pub(super) mod native;
pub(super) mod nemo_gym;
pub(super) mod openai_agents;
pub(super) mod openai_assistants;
pub(super) mod opencode;
pub(super) mod opencode_events;
pub(super) mod openhands;
pub(super) mod openhands_output;
pub(super) mod openhands_sdk;
pub(super) mod opik;
pub(super) mod osworld;
pub(super) mod otel;
pub(super) mod owl;
pub(super) mod petri;
pub(super) mod pi;
pub(super) mod pi_branches;
mod prelude;
pub(super) mod pydantic_ai;
pub(super) mod qodo;
pub(super) mod qwen;
pub(super) mod recorded;
pub(super) mod smolagents;
pub(super) mod strands;
pub(super) mod swe_agent;
pub(super) mod tape_agents;
pub(super) mod tau2;
pub(super) mod tau2_messages;
pub(super) mod tau_bench;
pub(super) mod toolbench;
pub(super) mod trae_agent;
pub(super) mod unread;
pub(super) mod vorflux;
pub(super) mod webarena;
pub(super) mod who_and_when;
pub(super) mod zed;

super::format::formats! {
    Tau2 => tau2, "tau2", "tau2-bench results: a file, a list, a run, a run per line, or a directory";
    TauBench => tau_bench, "tau-bench",
        "tau-bench results, the first version: a list, a run, or a run per line";
    Atif => atif, "atif", "ATIF trajectories, 1.0 to 1.8";
    Harbor => harbor, "harbor", "conversations of trials that Harbor exports";
    CodexRollout => codex_rollout, "codex-rollout", "Codex sessions, an item per line";
    CodexExec => codex_exec, "codex-exec", "events of `codex exec --json`";
    ClaudeCode => claude_code, "claude-code",
        "Claude Code sessions, an event per line or under `loglines`";
    Inspect => inspect, "inspect", "Inspect logs: JSON, or archives (.eval)";
    GeminiCli => gemini_cli, "gemini-cli", "Gemini CLI sessions: a document, or a message per line";
    QwenCode => qwen, "qwen-code", "Qwen Code sessions";
    OpenCode => opencode, "opencode", "sessions exported by OpenCode, and rows of its database";
    MiniMax => minimax, "minimax", "MiniMax Agent sessions";
    SweAgent => swe_agent, "swe-agent", "SWE-agent trajectories (.traj)";
    OpenHands => openhands, "openhands",
        "OpenHands event logs: a list, or an object with the list under `trajectory`";
    OpenHandsSdk => openhands_sdk, "openhands-sdk",
        "OpenHands Agent SDK event logs: a list, lines, or one event";
    OpenHandsOutput => openhands_output, "openhands-output", "output of OpenHands evaluations (output.jsonl)";
    Pi => pi, "pi", "sessions of pi, OpenClaw and Command Code, and output of `pi --mode json`";
    AgentDojo => agentdojo, "agentdojo", "AgentDojo runs";
    CopilotCli => copilot_cli, "copilot-cli", "Copilot CLI event logs";
    CopilotChat => copilot_chat, "copilot-chat", "chats of Copilot in VS Code";
    CopilotDebug => copilot_debug, "copilot-debug", "debug logs of Copilot in VS Code";
    CopilotThread => copilot_thread, "copilot-thread", "threads of Copilot on github.com";
    KimiCli => kimi, "kimi-cli", "Kimi CLI and Kimi Code sessions: `wire.jsonl` or `context.jsonl`";
    KiroCli => kiro, "kiro-cli", "Kiro CLI sessions";
    Junie => junie, "junie", "Junie sessions (events.jsonl)";
    Muse => muse, "muse", "Muse Code sessions";
    Auggie => auggie, "auggie", "sessions of Auggie, Augment's CLI";
    Dsh => dsh, "dsh", "sessions of the DeepSeek Harness (dsh)";
    Dspy => dspy, "dspy", "results of DSPy's `ReAct`";
    GeminiStream => gemini_stream, "gemini-stream", "output of `gemini --output-format stream-json`";
    Adk => adk, "adk", "sessions and evaluation sets of the Agent Development Kit, and evaluations of tRPC-Agent";
    GeminiContents => gemini_contents, "gemini-contents",
        "contents of the Gemini API: a list, lines, or under `contents`, `history` or `clientHistory`";
    MiniSweAgent1 => mini_swe_agent, "mini-swe-agent-1", "mini-swe-agent trajectories, version 1";
    Letta => letta, "letta", "messages of Letta agents and results of letta-evals";
    Goose => goose, "goose", "Goose sessions";
    Crush => crush, "crush",
        "Crush and early OpenCode messages: rows of their database, in a list, lines, or under \
         `messages`";
    Acp => acp, "acp", "messages of the Agent Client Protocol (ACP)";
    AgUi => ag_ui, "ag-ui", "events of the Agent User Interaction Protocol (AG-UI)";
    Smolagents => smolagents, "smolagents", "smolagents steps";
    BrowserUse => browser_use, "browser-use", "browser-use histories";
    AutoGen => autogen, "autogen", "messages, events and saved states of AutoGen since 0.4";
    CrewAi => crewai, "crewai", "CrewAI events";
    PydanticAi => pydantic_ai, "pydantic-ai", "messages and streamed events of Pydantic AI";
    LangChain => langchain, "langchain", "messages of LangChain and LangGraph";
    OpenCodeEvents => opencode_events, "opencode-events",
        "OpenCode events: of `opencode run --format json`, its server or its store";
    AgentData => agent_data, "agent-data", "trajectories of the agent data protocol, in its standard form";
    InterCode => intercode, "intercode", "InterCode logs";
    AgentBench => agentbench, "agentbench", "results of AgentBench (runs.jsonl)";
    AiOpsLab => aiopslab, "aiopslab", "sessions of AIOpsLab";
    Langfuse => langfuse, "langfuse", "Langfuse traces: from its API, or exported";
    LangSmith => langsmith, "langsmith", "LangSmith runs: as its SDKs send them, or exported";
    Vorflux => vorflux, "vorflux", "Vorflux trajectories";
    WebArena => webarena, "webarena", "WebArena trajectories";
    WhoAndWhen => who_and_when, "who-and-when",
        "conversations of several agents, of the benchmark Who&When or Magentic-One";
    ClineUi => cline_ui, "cline-ui", "messages that Cline and Roo Code show (ui_messages.json)";
    Cursor => cursor, "cursor", "chats of the Cursor editor: bubbles of a chat, or rows of its database";
    Antigravity => antigravity, "antigravity", "steps of Antigravity conversations";
    AntigravityCli => antigravity_cli, "antigravity-cli", "events that Antigravity's CLI prints";
    Activities => activities, "activities",
        "transcripts of the Microsoft 365 Agents SDK and the Bot Framework";
    ClaudeManaged => claude_managed, "claude-managed", "events of Claude Managed Agents";
    OsWorld => osworld, "osworld", "OSWorld trajectories (traj.jsonl)";
    McpBench => mcp_bench, "mcp-bench", "results of MCP-Bench";
    Mind2Web => mind2web, "mind2web", "results of Online-Mind2Web (result.json)";
    Owl => owl, "owl", "chat histories of OWL (CAMEL)";
    TraeAgent => trae_agent, "trae-agent", "trae-agent trajectories";
    Aide => aide, "aide", "journals of AIDE and The AI Scientist (journal.json)";
    AgentV => agentv, "agentv", "results and transcripts of AgentV";
    AiSdk => ai_sdk, "ai-sdk",
        "messages of the Vercel AI SDK with calls in `parts` or `toolInvocations`: a list, lines, or under \
         `messages`";
    Petri => petri, "petri", "transcripts of Petri and Bloom";
    TapeAgents => tape_agents, "tape-agents", "tapes of TapeAgents: a tape, a list, or a tape per line";
    ToolBench => toolbench, "toolbench", "ToolBench answers";
    Bfcl => bfcl, "bfcl", "results and scores of BFCL, the Berkeley Function Calling Leaderboard";
    Mastra => mastra, "mastra", "Mastra traces: a list of spans, or under `spans`, possibly in a `trace`";
    OpenAiAgents => openai_agents, "openai-agents", "traces of the OpenAI Agents SDK";
    OpenAiAssistants => openai_assistants, "openai-assistants",
        "steps of runs of the OpenAI Assistants API: a list, lines, or under `data` or `steps`, with the messages of \
         the thread under `messages` or `thread_messages`";
    AmazonQ => amazon_q, "amazon-q", "Amazon Q Developer CLI conversations";
    Continue => continue_dev, "continue", "Continue sessions";
    Qodo => qodo, "qodo", "histories of Qodo in editors";
    Agno => agno, "agno", "rows of the sessions table of Agno";
    Strands => strands, "strands", "sessions of Strands Agents";
    Moatless => moatless, "moatless", "Moatless trajectories and search trees";
    MlFlow => mlflow, "mlflow", "MLflow traces";
    Braintrust => braintrust, "braintrust", "Braintrust logs: rows of spans, in a list, lines, or under `events`";
    Atof => atof, "atof", "events of NVIDIA NeMo's Agent Trajectory Observability Format (ATOF)";
    Opik => opik, "opik", "spans of Opik: a list, lines, or under `content`";
    Datadog => datadog, "datadog", "spans of Datadog's LLM Observability, under `data`";
    DeepEval => deepeval, "deepeval", "test runs and traces of DeepEval";
    Bedrock => bedrock, "bedrock",
        "traces of Amazon Bedrock agents: events in a list, one per line, or under `completion`";
    LlamaIndex => llama_index, "llama-index",
        "events of LlamaIndex workflows, alone or in a saved `Context`, and responses with `sources` of tools";
    NemoGym => nemo_gym, "nemo-gym", "rollouts of NVIDIA NeMo Gym";
    Zed => zed, "zed", "threads of Zed's agent";
    LlmCalls => llm_calls, "llm-calls", "logs of requests to a model and its responses, and responses or streams alone";
    OpenAiResponses => chat::responses, "openai-responses",
        "items of OpenAI's Responses: a list, one per line, or under `items`, `messages`, `input` and \
         `output`; events of a stream";
    AnthropicMessages => chat::anthropic, "anthropic-messages",
        "messages of Anthropic's models: a list, one per line, or under `messages`";
    OpenAiChat => chat::openai, "openai-chat",
        "messages of OpenAI's chat: a list, one per line, or under `messages` (mini-swe-agent 1.1), or \
         under `query` and `response` (Azure's evaluations)";
    ChatRecords => chat_records, "chat-records",
        "data sets of chats: objects with `messages`, `conversation` or `conversations`, also as ShareGPT \
         writes them";
    Events => events, "events",
        "events of other agents (Cursor, Factory Droid, Kimi, Grok, LangChain4j): messages, calls, results \
         and steps, one per line, in a list, or in a list of an object; runs with a list of answered calls";
    BenchTrace => bench_trace, "benchtrace",
        "BenchTrace episodes: a snapshot file, a list, an episode, or an episode per line";
    Native => native, "native", "this crate's own form";
    OpenTelemetry => otel, "opentelemetry",
        "spans and log records of OpenTelemetry: OTLP as JSON or protobuf, OpenInference rows, exports \
         of Jaeger, Tempo and Google Cloud Trace";
}
