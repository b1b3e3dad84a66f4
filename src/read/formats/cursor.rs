//! Chats of the Cursor editor, from its database: a bubble for each message or call. An export holds the
//! bubbles of one chat, or the rows of the table `cursorDiskKV`.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[
        Shape::Object(Any(&[
            In("bubbles", &Values(&BUBBLE)),
            Every("bubbles", &BUBBLE),
            All(&[Has(&["composerId"]), Every("conversation", &BUBBLE)]),
        ])),
        Shape::Items(Any(&[BUBBLE, ROW])),
    ],
    reader: Reader::Document(read),
};

const BUBBLE: Mark = All(&[
    Is(Kind::Number, &["type"]),
    Any(&[Is(Kind::String, &["bubbleId"]), Is(Kind::Object, &["toolFormerData"])]),
]);
const ROW: Mark = All(&[Says("key", &["bubbleId:*", "composerData:*"]), Has(&["value"])]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    if let Document::Object(object) = document {
        let mut chat = Chat { data: object.object("composerData"), ..Chat::default() };
        if chat.data.keys().next().is_none() {
            chat.data = object.clone();
        }
        let listed = object.objects("bubbles").chain(object.objects("conversation"));
        chat.bubbles.extend(listed.map(|bubble| (bubble.name("bubbleId").unwrap_or_default(), bubble)));
        let by_id = object.object("bubbles");
        let keyed = by_id.iter().map(|(id, bubble)| (Cow::Owned(id.to_owned()), bubble.into()));
        chat.bubbles.extend(keyed);
        return chat.give(runs);
    }
    let objects: Vec<Members<'_>> = document.each().collect();
    // The value of a row may be JSON in a string, from which the chats borrow.
    let texts: Vec<_> = objects.iter().map(|row| row.get("value").and_then(Raw::string)).collect();
    let mut chats: Ordered<String, Chat<'_>> = Ordered::default();
    for (object, text) in objects.iter().zip(&texts) {
        let key = object.name("key").unwrap_or_default();
        let mut key = key.split(':');
        let (what, chat, id) = (key.next(), key.next().unwrap_or_default(), key.next().unwrap_or_default());
        let value = || members(text.as_deref().and_then(json).or(object.get("value")));
        match what {
            Some("composerData") => chats.get(chat.to_owned(), |id| Chat::of_id(id)).data = value(),
            Some("bubbleId") => {
                chats
                    .get(chat.to_owned(), |id| Chat::of_id(id))
                    .bubbles
                    .push((id.to_owned().into(), value()));
            }
            _ if BUBBLE.fits(object) => {
                let id = object.name("bubbleId").unwrap_or_default();
                chats.get(String::new(), |id| Chat::of_id(id)).bubbles.push((id, object.clone()));
            }
            _ => runs.pass_over("rows with other keys", 1),
        }
    }
    chats.into_values().filter(|chat| !chat.bubbles.is_empty()).for_each(|chat| chat.give(runs));
}

/// The data of a chat, and its bubbles with their ids.
#[derive(Default)]
struct Chat<'a> {
    id: String,
    data: Members<'a>,
    bubbles: Vec<(Cow<'a, str>, Members<'a>)>,
}

impl Chat<'_> {
    fn of_id(id: &str) -> Self {
        Self { id: id.to_owned(), ..Self::default() }
    }

    fn give(mut self, runs: &mut Runs<'_>) {
        let ids: Vec<_> =
            self.data.objects("fullConversationHeadersOnly").map(|header| header.name("bubbleId")).collect();
        let place = |id: &str| ids.iter().position(|header| header.as_deref() == Some(id));
        self.bubbles
            .sort_by_cached_key(|(id, bubble)| (place(id).unwrap_or(ids.len()), bubble.time("createdAt")));
        let mut run = Recording::of_agent("cursor");
        let id = self.data.name("composerId").map(Cow::into_owned);
        run.metadata.id = id.or(Some(self.id).filter(|id| !id.is_empty()));
        run.model(self.data.object("modelConfig").name("modelName"));
        for (_, bubble) in &self.bubbles {
            run.turn(
                bubble.time("createdAt").or_else(|| bubble.get("createdAt").and_then(time::of_milliseconds)),
            );
            let actor = match bubble.integer("type") {
                Some(1) => Actor::User,
                Some(2) => Actor::Agent,
                _ => {
                    run.pass_over("bubbles of other types", 1);
                    continue;
                }
            };
            run.say(actor, bubble.text("text"));
            if bubble.is("toolFormerData", Kind::Object) {
                call(&bubble.object("toolFormerData"), &mut run);
            }
        }
        run.give(runs);
    }
}

fn call<'a>(call: &Members<'a>, run: &mut Recording<'a>) {
    let Some(name) = call.name("name") else { return };
    // The arguments as the model wrote them, or else as Cursor parsed them.
    let raw = call.get("rawArgs").filter(|_| call.name("rawArgs").is_some_and(|text| text.starts_with('{')));
    let number = run.call(call.ident("toolCallId"), Some(name), raw.or_else(|| call.get("params")));
    let told = |key: &str, parts: &[&str]| {
        let text = call.get(key)?.string()?;
        let inner = members(json(&text).filter(|value| value.kind() == Kind::Object));
        let part = parts.iter().find_map(|part| inner.get(part).and_then(Raw::string));
        let part = part.map(|part| TextCow::from(part.into_owned()));
        Some((part.unwrap_or_else(|| TextCow::from(text.clone().into_owned())), outcome(&inner)))
    };
    let result = told("result", &["output", "contents"]);
    let error = told("error", &["modelVisibleErrorMessage", "clientVisibleErrorMessage"]);
    let stated = call.outcome("status");
    let refused = (call.name("userDecision").as_deref() == Some("rejected")).then_some(Outcome::REFUSED);
    let failed = error.is_some().then_some(Outcome::flag(true));
    let inner = result.as_ref().and_then(|(_, outcome)| *outcome);
    let outcome = refused.or(inner).or(failed).or(stated);
    if outcome.is_some() || result.is_some() {
        let observed = result.or(error).map(|(text, _)| text);
        run.answer_call(number, observed, outcome.unwrap_or(Outcome::UNMARKED));
    }
}

/// Returns the outcome that the result of a command states.
fn outcome(result: &Members<'_>) -> Option<Outcome> {
    if result.flag("rejected") == Some(true) {
        return Some(Outcome::REFUSED);
    }
    let code = result.first(&["exitCodeV2", "exitCode"]).and_then(is_failure_code);
    code.map(Outcome::exit_code)
}
