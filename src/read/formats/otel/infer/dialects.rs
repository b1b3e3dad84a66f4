//! The dialects of messages in spans: texts, calls and answers.
//!
//! One walk over the JSON reads every dialect, because instrumentations nest them: a message of one library
//! inside the serialized response of another.

use super::prelude::*;
use crate::read::call_outcome::typed_output;

/// Returns the parts of a conversation, in order.
pub(crate) fn blocks(value: Data<'_>, role: Role) -> Vec<Block<'_>> {
    walk(value, role, Content::NotRecorded)
}

/// Like [`blocks`], for a convention that omits empty arguments.
pub(crate) fn blocks_of_spread(value: Data<'_>, role: Role) -> Vec<Block<'_>> {
    walk(value, role, Content::Present(Cow::Borrowed("{}")))
}

/// Returns the parts of a prompt that is one text. Its lines may begin with roles (`user: …`); otherwise it is the
/// user's.
pub(crate) fn prompt(text: Cow<'_, str>) -> Vec<Block<'_>> {
    if text.trim().is_empty() || is_masked(&text) || begins_object(&text) {
        return Vec::new();
    }
    let spoken = |line: &str| {
        let (role, said) = line.split_once(": ")?;
        let is_role = matches!(role, "system" | "user" | "human" | "assistant");
        is_role.then(|| (Role::of_name(role), said.to_owned()))
    };
    let mut said: Vec<(Role, String)> = Vec::new();
    for line in text.split_inclusive('\n') {
        match (spoken(line), said.last_mut()) {
            (Some(next), _) => said.push(next),
            (None, Some((_, text))) => text.push_str(line),
            (None, None) => return vec![Block::Text(Role::User, text)],
        }
    }
    said.into_iter().map(|(role, text)| Block::Text(role, text.trim_end().to_owned().into())).collect()
}

fn walk<'t>(value: Data<'t>, role: Role, bare_arguments: Content<Cow<'t, str>>) -> Vec<Block<'t>> {
    let mut walk = Walk { blocks: Vec::new(), bare_arguments };
    walk.value(value, role);
    walk.blocks
}

struct Walk<'t> {
    blocks: Vec<Block<'t>>,
    /// The arguments of a call that records none.
    bare_arguments: Content<Cow<'t, str>>,
}

impl<'t> Walk<'t> {
    fn value(&mut self, value: Data<'t>, role: Role) {
        match value {
            Data::List(items) => items.into_iter().for_each(|item| self.value(item, role)),
            Data::Object(mut members) => self.object(&mut members, role),
            Data::Text(text) => self.text(text, role),
            _ => {}
        }
    }

    fn text(&mut self, text: Cow<'t, str>, role: Role) {
        if text.contains("ToolCall") && (text.contains("ToolCall(") || text.contains("ToolCallResult(")) {
            return self.python(&text);
        }
        // Koog writes calls as the text of a message.
        if text.starts_with(r#"[{"function":"#)
            && let Some(calls) = Data::of_cow(&text)
        {
            return objects(calls).for_each(|mut call| self.call(&mut call, None));
        }
        // Monocle writes a call of ADK as `"model": NAME, "args": {…}`, with the `repr` of the arguments.
        if let Some((name, given)) =
            text.strip_prefix("\"model\": ").and_then(|call| call.split_once(", \"args\": "))
        {
            let given = python::literal(given).unwrap_or_else(|| Data::Text(Cow::Owned(given.to_owned())));
            let (name, arguments) = (Cow::Owned(name.to_owned()), arguments_of(given));
            return self.blocks.push(Block::Call(ModelCall { id: None, name, arguments, refused: None }));
        }
        if !text.trim().is_empty() && !is_masked(&text) {
            self.blocks.push(Block::Text(role, text));
        }
    }

    /// Reads calls and answers as Python's `repr` writes them.
    fn python(&mut self, text: &str) {
        let results = python::calls(text, "ToolCallResult");
        if results.is_empty() {
            for mut members in python::calls(text, "ToolCall") {
                self.call(&mut members, None);
            }
        }
        for mut members in results {
            let origin = members.object("origin");
            self.blocks.push(Block::Reply(Reply {
                id: origin.and_then(|origin| name_of(origin, &["id"])),
                is_error: members.flag("error"),
                content: content_of(members.remove("result")),
            }));
        }
    }

    /// Reads an object: a call, an answer, a message, or an object that encloses them.
    fn object(&mut self, members: &mut Members<'t>, outer: Role) {
        // Messages as LangChain serializes them.
        let class = members.get("id").and_then(Data::as_list).and_then(|id| id.last()?.as_text());
        let role = class.map_or(outer, Role::of_name);
        if members.has("lc")
            && let Some(Data::Object(inner)) = members.get_mut("kwargs")
        {
            return self.object(inner, role);
        }
        if let Some(role) = members.text("type").map(Role::of_name)
            && let Some(Data::Object(inner)) = members.get_mut("data")
        {
            return self.object(inner, role);
        }
        let kind = members.text("type").unwrap_or_default();
        let named = ["role", "_role"].iter().find_map(|key| members.text(key));
        let role = match named.map(Role::of_name) {
            Some(role) => {
                if role == Role::Agent {
                    self.blocks.push(Block::Turn);
                }
                role
            }
            None => match Role::of_name(kind) {
                Role::Unknown => outer,
                role => role,
            },
        };
        match kind {
            "tool_call" | "tool_use" | "toolCall" | "tool-call" | "server_tool_use" | "custom_tool_call" => {
                // The whole call may be under the key `tool_call`.
                return match members.get_mut("tool_call") {
                    Some(Data::Object(inner)) => self.call(inner, None),
                    _ => self.call(members, None),
                };
            }
            "function_call" => return self.call(members, None),
            "invalid_tool_call" => return self.invalid_call(members),
            "tool_call_response"
            | "tool_result"
            | "tool-result"
            | "function_call_output"
            | "custom_tool_call_output" => return self.reply(members),
            // Calls of the AI SDK may have no type.
            "" if [&["toolCallId", "toolName"][..], &["call_id", "name", "arguments"], &["tool.name"]]
                .iter()
                .any(|keys| keys.iter().all(|key| members.has(key))) =>
            {
                return self.call(members, None);
            }
            "reasoning" | "thinking" => return,
            _ if members.flag("thought") => return,
            _ => {}
        }
        let is_reply = role == Role::Tool
            && (members.has("tool_call_id") || members.has("id"))
            && members.has("content");
        if is_reply {
            return self.reply(members);
        }
        self.members(members, role);
    }

    fn members(&mut self, members: &mut Members<'t>, role: Role) {
        let before = self.blocks.len();
        for (key, value) in members.iter_mut() {
            match (key, value) {
                ("content" | "text" | "_content" | "replies", Data::Text(text)) => {
                    self.text(std::mem::take(text), role);
                }
                ("message", value @ Data::Text(_)) => self.value(std::mem::take(value).parsed(), role),
                (
                    "content" | "_content" | "parts" | "contents" | "message" | "message_content"
                    | "messages" | "choices" | "candidates" | "generations" | "output" | "outputs" | "update"
                    | "replies" | "response" | "delta" | "input" | "inputs",
                    value @ (Data::List(_) | Data::Object(_)),
                ) => self.value(std::mem::take(value), role),
                _ => {}
            }
        }
        // Calls follow the text, whatever the order of the keys.
        for key in
            ["tool_calls", "additional_kwargs", "function_call", "functionCall", "toolUse", "tool_call"]
        {
            let value = members.remove(key);
            let calls = match key {
                "additional_kwargs" => value.and_then(|more| more.into_object()?.remove("tool_calls")),
                _ => value,
            };
            for mut call in objects(calls.unwrap_or_default()) {
                self.call(&mut call, None);
            }
        }
        for mut call in objects(members.remove("invalid_tool_calls").unwrap_or_default()) {
            self.invalid_call(&mut call);
        }
        for key in ["function_response", "functionResponse", "toolResult", "tool_call_result"] {
            if let Some(Data::Object(reply)) = members.get_mut(key) {
                self.reply(reply);
            }
        }
        self.drop_repeated(before);
    }

    fn invalid_call(&mut self, members: &mut Members<'t>) {
        let why = name_of(members, &["error"]).unwrap_or_default();
        self.call(members, Some(why));
    }

    fn call(&mut self, members: &mut Members<'t>, refused: Option<Cow<'t, str>>) {
        let ids = ["call_id", "toolUseId", "toolCallId", "tool_id", "tool_call_id", "id"];
        let inner_id = members.object("tool_call").and_then(|inner| name_of(inner, &ids));
        let id = inner_id.or_else(|| name_of(members, &ids));
        let (mut inner, mut function);
        let mut members = members;
        if let Some(Data::Object(found)) = members.get_mut("tool_call") {
            inner = std::mem::take(found);
            members = &mut inner;
        }
        if let Some(Data::Object(found)) = members.get_mut("function") {
            function = std::mem::take(found);
            members = &mut function;
        }
        let Some(name) = name_of(members, &["name", "tool_name", "toolName", "tool.name"]) else { return };
        let keys = ["arguments", "args", "input", "tool_kwargs", "kwargs", "tool.args", "tool_arguments"];
        let arguments = match keys.iter().find_map(|key| members.remove(key)) {
            None => self.bare_arguments.clone(),
            Some(value) => arguments_of(value),
        };
        self.blocks.push(Block::Call(ModelCall { id, name, arguments, refused }));
    }

    fn reply(&mut self, members: &mut Members<'t>) {
        let id = match members.object("origin") {
            Some(origin) => name_of(origin, &["id"]),
            None => {
                name_of(members, &["tool_call_id", "tool_use_id", "toolUseId", "toolCallId", "call_id", "id"])
            }
        };
        let mut is_error = members.text("status") == Some("error")
            || ["is_error", "isError", "error"].iter().any(|key| members.flag(key));
        let mut found =
            ["response", "result", "content", "output"].iter().find_map(|key| members.remove(key));
        if let Some(Data::Object(output)) = &mut found
            && let Some((key, is_failed)) = typed_output(output.text("type").unwrap_or_default())
            && output.iter().all(|(name, _)| ["type", "providerOptions", key].contains(&name))
        {
            is_error |= is_failed;
            found = output.remove(key).or(found);
        }
        self.blocks.push(Block::Reply(Reply { id, content: content_of(found), is_error }));
    }

    /// Drops repeated calls, since several keys of one message may hold the same ones. Of the calls with one id,
    /// keeps the first, with the first arguments that are present.
    fn drop_repeated(&mut self, from: usize) {
        let calls = self.blocks.get(from..).unwrap_or_default().iter();
        if calls.filter(|block| matches!(block, Block::Call(_))).count() < 2 {
            return;
        }
        let mut first: HashMap<Cow<'t, str>, usize> = HashMap::new();
        for block in self.blocks.split_off(from) {
            if let Block::Call(ModelCall { id: Some(id), arguments, .. }) = &block {
                let place = *first.entry(id.clone()).or_insert(self.blocks.len());
                if let Some(Block::Call(twin)) = self.blocks.get_mut(place) {
                    if !twin.arguments.is_present() {
                        twin.arguments.clone_from(arguments);
                    }
                    continue;
                }
            }
            self.blocks.push(block);
        }
    }
}

/// Returns the objects of a list, or the object itself.
fn objects(value: Data<'_>) -> impl Iterator<Item = Members<'_>> {
    let items = match value {
        Data::List(items) => items,
        other => vec![other],
    };
    items.into_iter().filter_map(Data::into_object)
}
