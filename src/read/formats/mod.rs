//! One file for each format: its signature, and how an element becomes steps.
//!
//! To add a format, write a file with a constant `FORMAT`, and add its `mod` line and its line in the list below.
//! Errors and listings name formats in the order of the list.

pub(super) mod acp;
pub(super) mod activities;
pub(super) mod adk;
pub(super) mod agent_data;
pub(super) mod agentdojo;
pub(super) mod agentv;
pub(super) mod ai_sdk;
pub(super) mod amazon_q;
pub(super) mod antigravity;
pub(super) mod atif;
pub(super) mod atif_result;
pub(super) mod autogen;
pub(super) mod bedrock;
pub(super) mod bench_trace;
pub(super) mod bfcl;
pub(super) mod browser_use;
pub(super) mod chat;
pub(super) mod chat_call;
mod chat_content;
pub(super) mod chat_element;
pub(super) mod chat_items;
pub(super) mod chat_messages;
pub(super) mod chat_records;
pub(super) mod claude_code;
pub(super) mod claude_code_line;
pub(super) mod claude_managed;
pub(super) mod cline_ui;
pub(super) mod codex;
pub(super) mod codex_exec;
pub(super) mod codex_text;
pub(super) mod continue_dev;
pub(super) mod copilot_chat;
pub(super) mod copilot_chat_log;
pub(super) mod copilot_cli;
pub(super) mod copilot_debug;
pub(super) mod crewai;
pub(super) mod events;
pub(super) mod events_object;
mod events_what;
pub(super) mod gemini_cli;
pub(super) mod gemini_contents;
pub(super) mod gemini_stream;
pub(super) mod goose;
pub(super) mod inspect;
#[cfg(feature = "inspect")]
pub(super) mod inspect_archive;
pub(super) mod inspect_events;
pub(super) mod intercode;
pub(super) mod kimi;
pub(super) mod kiro;
pub(super) mod langchain;
pub(super) mod langfuse;
pub(super) mod langsmith;
pub(super) mod letta;
pub(super) mod llama_index;
pub(super) mod llm_calls;
pub(super) mod llm_code;
mod llm_stream;
pub(super) mod mastra;
pub(super) mod mini_swe_agent;
pub(super) mod mlflow;
pub(super) mod moatless;
pub(super) mod native;
pub(super) mod openai_agents;
pub(super) mod opencode;
pub(super) mod opencode_events;
pub(super) mod openhands;
pub(super) mod openhands_output;
pub(super) mod openhands_sdk;
pub(super) mod osworld;
pub(super) mod otel;
pub(super) mod owl;
pub(super) mod pi;
mod prelude;
pub(super) mod pydantic_ai;
pub(super) mod qwen;
pub(super) mod recorded;
pub(super) mod smolagents;
pub(super) mod swe_agent;
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
    /// Results of tau2-bench.
    Tau2 => tau2, "tau2";
    /// Results of tau-bench, the first version.
    TauBench => tau_bench, "tau-bench";
    /// ATIF trajectories.
    Atif => atif, "atif";
    /// Sessions of Codex.
    CodexRollout => codex, "codex-rollout";
    /// Events of `codex exec --json`.
    CodexExec => codex_exec, "codex-exec";
    /// Sessions of Claude Code.
    ClaudeCode => claude_code, "claude-code";
    /// Logs of Inspect.
    Inspect => inspect, "inspect";
    /// Sessions of the Gemini CLI.
    GeminiCli => gemini_cli, "gemini-cli";
    /// Sessions of Qwen Code.
    QwenCode => qwen, "qwen-code";
    /// Sessions exported by `OpenCode`.
    OpenCode => opencode, "opencode";
    /// Trajectories of SWE-agent.
    SweAgent => swe_agent, "swe-agent";
    /// Event logs of `OpenHands`.
    OpenHands => openhands, "openhands";
    /// Event logs of the `OpenHands` Agent SDK.
    OpenHandsSdk => openhands_sdk, "openhands-sdk";
    /// Output of the evaluations of `OpenHands`.
    OpenHandsOutput => openhands_output, "openhands-output";
    /// Sessions of pi and `OpenClaw`, and events of `pi --mode json`.
    Pi => pi, "pi";
    /// Runs of `AgentDojo`.
    AgentDojo => agentdojo, "agentdojo";
    /// Event logs of the Copilot CLI.
    CopilotCli => copilot_cli, "copilot-cli";
    /// Chats of Copilot in VS Code.
    CopilotChat => copilot_chat, "copilot-chat";
    /// Debug logs of Copilot in VS Code.
    CopilotDebug => copilot_debug, "copilot-debug";
    /// Sessions of the Kimi CLI.
    KimiCli => kimi, "kimi-cli";
    /// Sessions of the Kiro CLI.
    KiroCli => kiro, "kiro-cli";
    /// Output of `gemini --output-format stream-json`.
    GeminiStream => gemini_stream, "gemini-stream";
    /// Sessions and evaluation sets of the Agent Development Kit.
    Adk => adk, "adk";
    /// Contents of the Gemini API.
    GeminiContents => gemini_contents, "gemini-contents";
    /// Trajectories of mini-swe-agent, version 1; later ones are chats.
    MiniSweAgent1 => mini_swe_agent, "mini-swe-agent-1";
    /// Messages of Letta agents, and results of letta-evals.
    Letta => letta, "letta";
    /// Sessions of Goose.
    Goose => goose, "goose";
    /// Messages of the Agent Client Protocol.
    Acp => acp, "acp";
    /// Steps of smolagents.
    Smolagents => smolagents, "smolagents";
    /// Histories of browser-use.
    BrowserUse => browser_use, "browser-use";
    /// Messages, events and states of `AutoGen` since 0.4.
    AutoGen => autogen, "autogen";
    /// Events of `CrewAI`.
    CrewAi => crewai, "crewai";
    /// Messages and events of Pydantic AI.
    PydanticAi => pydantic_ai, "pydantic-ai";
    /// Messages of `LangChain` and `LangGraph`.
    LangChain => langchain, "langchain";
    /// Events of `OpenCode`.
    OpenCodeEvents => opencode_events, "opencode-events";
    /// Trajectories of the agent data protocol.
    AgentData => agent_data, "agent-data";
    /// Logs of `InterCode`.
    InterCode => intercode, "intercode";
    /// Traces of Langfuse.
    Langfuse => langfuse, "langfuse";
    /// Runs of `LangSmith`.
    LangSmith => langsmith, "langsmith";
    /// Trajectories of Vorflux.
    Vorflux => vorflux, "vorflux";
    /// Trajectories of `WebArena`.
    WebArena => webarena, "webarena";
    /// Conversations of the benchmark Who&When and of Magentic-One.
    WhoAndWhen => who_and_when, "who-and-when";
    /// Messages that Cline and Roo Code show.
    ClineUi => cline_ui, "cline-ui";
    /// Steps of Antigravity.
    Antigravity => antigravity, "antigravity";
    /// Transcripts of the Microsoft 365 Agents SDK and the Bot Framework.
    Activities => activities, "activities";
    /// Events of Claude Managed Agents.
    ClaudeManaged => claude_managed, "claude-managed";
    /// Trajectories of `OSWorld`.
    OsWorld => osworld, "osworld";
    /// Chat histories of OWL.
    Owl => owl, "owl";
    /// Trajectories of trae-agent.
    TraeAgent => trae_agent, "trae-agent";
    /// Results and transcripts of `AgentV`.
    AgentV => agentv, "agentv";
    /// Messages of the Vercel AI SDK.
    AiSdk => ai_sdk, "ai-sdk";
    /// Answers of `ToolBench`.
    ToolBench => toolbench, "toolbench";
    /// Results of BFCL.
    Bfcl => bfcl, "bfcl";
    /// Traces of Mastra.
    Mastra => mastra, "mastra";
    /// Traces of the `OpenAI` Agents SDK.
    OpenAiAgents => openai_agents, "openai-agents";
    /// Conversations of the Amazon Q Developer CLI.
    AmazonQ => amazon_q, "amazon-q";
    /// Sessions of Continue.
    Continue => continue_dev, "continue";
    /// Trajectories of Moatless.
    Moatless => moatless, "moatless";
    /// Traces of `MLflow`.
    MlFlow => mlflow, "mlflow";
    /// Traces of Amazon Bedrock agents.
    Bedrock => bedrock, "bedrock";
    /// Events and responses of `LlamaIndex`.
    LlamaIndex => llama_index, "llama-index";
    /// Threads of Zed.
    Zed => zed, "zed";
    /// Logs of requests to models.
    LlmCalls => llm_calls, "llm-calls";
    /// Items of `OpenAI`'s Responses.
    OpenAiResponses => chat::responses, "openai-responses";
    /// Messages of Anthropic's models.
    AnthropicMessages => chat::anthropic, "anthropic-messages";
    /// Messages of `OpenAI`'s chat.
    OpenAiChat => chat::openai, "openai-chat";
    /// Data sets of chats.
    ChatRecords => chat_records, "chat-records";
    /// Events of other agents.
    Events => events, "events";
    /// Episodes of `BenchTrace`.
    BenchTrace => bench_trace, "benchtrace";
    /// This crate's own form.
    Native => native, "native";
    /// Spans and log records of OpenTelemetry.
    OpenTelemetry => otel, "opentelemetry";
}
