//! Sends findings as messages for people, in the JSON that Slack and similar services accept.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use wrongturn::export::{EvaluationEvent, EventLabel, EventValue};

use super::{Client, NotSent};
use crate::config::Sink;
use crate::{Failure, routes};

const MINUTE: Duration = Duration::from_secs(60);

/// Maximum number of reported findings that are remembered, to report each only once.
const REMEMBERED: usize = 10_000;

/// The maximum number of findings that a message lists.
const LISTED: usize = 10;

/// A client that posts messages about new findings, at most `per_minute` a minute.
pub(crate) struct Webhook {
    client: Client,
    per_minute: usize,
    /// When the messages of the last minute were sent.
    sent: VecDeque<Instant>,
    /// The number of findings left out of messages because of the rate.
    left_out: usize,
    known: BTreeSet<String>,
    order: VecDeque<String>,
}

impl Webhook {
    pub(crate) fn new(remote: &Sink) -> Result<Self, Failure> {
        Ok(Self {
            client: Client::http(remote, "/")?,
            per_minute: remote.per_minute,
            sent: VecDeque::new(),
            left_out: 0,
            known: BTreeSet::new(),
            order: VecDeque::new(),
        })
    }

    /// Sends a message about new findings, unless the rate is exceeded.
    pub(crate) async fn send(&mut self, events: &[EvaluationEvent]) -> Result<(), NotSent> {
        let mut new: Vec<(String, String)> = Vec::new();
        for event in events {
            if let Some((key, line)) = self.finding(event)
                && new.iter().all(|(other, _)| *other != key)
            {
                new.push((key, line));
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        while self.sent.front().is_some_and(|sent| sent.elapsed() >= MINUTE) {
            self.sent.pop_front();
        }
        if self.sent.len() >= self.per_minute {
            self.left_out += new.len();
        } else {
            let mut lines: Vec<String> = new.iter().take(LISTED).map(|(_, line)| line.clone()).collect();
            let more = self.left_out + new.len() - lines.len();
            if more > 0 {
                lines.push(format!("and {more} more finding{}", if more == 1 { "" } else { "s" }));
            }
            let message = serde_json::json!({"text": lines.join("\n")}).to_string();
            self.client.send(message.into(), Some(routes::JSON)).await?;
            self.sent.push_back(Instant::now());
            self.left_out = 0;
        }
        for (key, _) in new {
            self.known.insert(key.clone());
            self.order.push_back(key);
            if self.order.len() > REMEMBERED
                && let Some(oldest) = self.order.pop_front()
            {
                self.known.remove(&oldest);
            }
        }
        Ok(())
    }

    /// Returns the key and the line of a finding that has not been reported; `None` for any other event.
    fn finding(&self, event: &EvaluationEvent) -> Option<(String, String)> {
        let text = |name: &str| {
            event.attributes.iter().find_map(|(key, value)| match value {
                EventValue::Text(text) if *key == name => Some(text.as_str()),
                _ => None,
            })
        };
        let is_first = matches!(text("wrongturn.update"), None | Some("opened"));
        let (trace, id) = (text("wrongturn.trace")?, text("wrongturn.finding.id")?);
        let key = format!("{trace} {id}");
        if event.label != EventLabel::Fail || !is_first || self.known.contains(&key) {
            return None;
        }
        let service = event.resource.get("service.name").map(String::as_str);
        let who = [service, text("gen_ai.agent.name")].into_iter().flatten().collect::<Vec<_>>().join("/");
        let message = text("gen_ai.evaluation.explanation").unwrap_or_default();
        let who = if who.is_empty() { String::new() } else { format!("{who}: ") };
        Some((key, format!("{who}{message} ({}, trace {trace})", text("wrongturn.mode").unwrap_or_default())))
    }
}
