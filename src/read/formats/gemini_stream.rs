//! Output of `gemini --output-format stream-json`: message chunks, tool uses and results, one per line.

use super::gemini_cli::has_failed;
use super::prelude::*;
pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Items(Any(&[
        All(&[Says("type", &["init"]), Is(Kind::String, &["session_id", "model", "timestamp"])]),
        All(&[
            Says("type", &["tool_use"]),
            Is(Kind::String, &["tool_name", "tool_id"]),
            Has(&["parameters"]),
        ]),
        All(&[Says("type", &["tool_result"]), Is(Kind::String, &["tool_id", "status"])]),
    ]))],
    reader: Reader::Session(SessionReader { open: |_| Box::new(Open::new()), list: "" }),
};

/// The session that is being read. The next `init` ends it.
#[derive(Default)]
struct Open<'a> {
    run: Recording<'a>,
    /// The model's text since the last flush, joined from chunks.
    said: String,
    /// A message of the user after the end of the session. It is of the next session if an `init` follows.
    asked: Option<Members<'a>>,
    /// True if the last line belonged to the model's response.
    responds: bool,
    /// Ids of shell calls, whose results have exit codes.
    shells: Vec<Cow<'a, str>>,
}

impl<'a> session::Session<'a> for Open<'a> {
    fn add(&mut self, line: &Members<'a>, runs: &mut Runs<'_>) {
        let asked = self.asked.take();
        if line.name("type").as_deref() == Some("init") && self.run.metadata.id.is_some() {
            Box::new(std::mem::replace(self, Self::new())).end(runs);
        }
        if let Some(asked) = asked {
            self.line(&asked);
        }
        if self.run.metadata.termination.is_some() && line.name("role").as_deref() == Some("user") {
            self.asked = Some(line.clone());
        } else {
            self.line(line);
        }
        self.run.hand_on(runs);
    }

    fn end(mut self: Box<Self>, runs: &mut Runs<'_>) {
        if let Some(asked) = self.asked.take() {
            self.line(&asked);
        }
        self.flush();
        self.run.give(runs);
    }
}

impl<'a> Open<'a> {
    fn new() -> Self {
        Self { run: Recording::of_agent("gemini"), ..Self::default() }
    }

    fn flush(&mut self) {
        let said = std::mem::take(&mut self.said);
        self.run.say(Actor::Agent, Some(said.into()));
    }

    /// Begins a turn unless the model continues its response.
    fn turn(&mut self, responds: bool, time: Option<u64>) {
        if !responds || !self.responds {
            self.flush();
            self.run.turn(time);
        }
        self.responds = responds;
    }

    fn line(&mut self, line: &Members<'a>) {
        let time = line.time("timestamp");
        let text = |key: &str| line.present(key).and_then(words::result);
        match line.name("type").as_deref() {
            Some("init") => {
                self.run.metadata.id = line.name("session_id").map(Cow::into_owned);
                self.run.model(line.name("model"));
            }
            Some("message") if line.name("role").as_deref() == Some("user") => {
                self.turn(false, time);
                self.run.say(Actor::User, text("content"));
            }
            Some("message") => {
                self.turn(true, time);
                self.said.push_str(&line.name("content").unwrap_or_default());
            }
            Some("tool_use") => {
                self.turn(true, time);
                self.flush();
                let (id, name) = (line.name("tool_id"), line.name("tool_name"));
                if name.as_deref() == Some("run_shell_command") {
                    self.shells.extend(id.clone());
                }
                self.run.call(id, name, line.get("parameters"));
            }
            Some("tool_result") => {
                self.flush();
                self.responds = false;
                let id = line.name("tool_id");
                let error = line.present("error");
                let observation =
                    text("output").or_else(|| words::result(error?.member("message").or(error)?));
                let is_shell = id.as_ref().is_some_and(|id| self.shells.contains(id));
                let failed = is_shell && observation.as_ref().is_some_and(has_failed);
                let outcome = match line.outcome("status") {
                    Some(Outcome { status: Status::Ok, .. }) if failed => Outcome::exit_code(true),
                    Some(stated) => stated,
                    None => Outcome::of_flag(error.map(|_| true)),
                };
                self.run.answer(id, None, observation, outcome);
            }
            Some("error") => {
                self.turn(false, time);
                self.run.say(Actor::Environment, text("message"));
            }
            Some("result") => {
                self.run.metadata.termination = line.name("status").map(Cow::into_owned);
            }
            _ => self.run.pass_over("lines of other types", 1),
        }
    }
}
