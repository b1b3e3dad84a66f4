//! ATOF, the Agent Trajectory Observability Format: events at the start and at the end of agents, requests and tools.

use super::otel::observed::{self, Observed};
use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Items(EVENT)], reader: Reader::Fallible(read) };

const EVENT: Mark = Has(&["atof_version", "kind", "uuid"]);
const SCOPE: Mark = All(&[Says("scope_category", &["start", "end"]), Has(&["category"])]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let mut scopes: Ordered<_, [Members<'_>; 2]> = Ordered::default();
    let (mut parents, mut roots) = (TextMap::default(), TextMap::default());
    for event in fitting(&SCOPE, document.each(), "events of other kinds", runs) {
        let id = event.ident("uuid").unwrap_or_default();
        parents.extend(event.ident("parent_uuid").map(|parent| (id.clone(), parent)));
        let [start, end] = scopes.get(id, |_| Default::default());
        let is_end = event.name("scope_category").as_deref() == Some("end");
        *(if is_end { end } else { start }) = event;
    }
    let mut spans = Vec::new();
    for [start, end] in scopes.into_values() {
        let either = |key| start.present(key).or_else(|| end.present(key));
        let id = ident(either("uuid")).unwrap_or_default();
        let trace = root(&id, &parents, &mut roots);
        let mut span = Observed::new(trace, id, ident(either("parent_uuid")));
        span.name(ident(either("name")).unwrap_or_default());
        span.set_times(start.time("timestamp"), end.time("timestamp"));
        span.kind(ident(either("category")));
        let [asked, given] = [start.get("data"), end.get("data")];
        let (asked, given) = match either("category").and_then(common::name).as_deref() {
            Some("tool") => (asked, given.map(|given| observed::sole(given, "result").unwrap_or(given))),
            Some("llm") => {
                let listed = asked.into_iter().flat_map(|asked| members(Some(asked)).list("messages"));
                let others = listed.filter(|item| item.kind() != Kind::Object).count();
                runs.pass_over("items of inputs that are not messages", others as u64);
                (asked, given)
            }
            _ => (asked.map(observed::sole_text), given.map(observed::sole_text)),
        };
        span.value("input.value", asked)?;
        span.value("output.value", given)?;
        let profile = members(either("category_profile"));
        span.text("llm.model_name", profile.name("model_name"));
        span.text("gen_ai.tool.call.id", profile.name("tool_call_id"));
        spans.push(span);
    }
    observed::give(spans.into_iter().map(Ok), runs)
}

/// Returns the outermost known ancestor of an event, and notes it for the events between them.
fn root<'a>(
    id: &Cow<'a, str>,
    parents: &TextMap<Cow<'a, str>, Cow<'a, str>>,
    roots: &mut TextMap<Cow<'a, str>, Cow<'a, str>>,
) -> Cow<'a, str> {
    let (mut top, mut path) = (id, Vec::new());
    // Parents may form a circle, so each event is noted at once.
    while !roots.contains_key(top)
        && let Some(parent) = parents.get(top)
    {
        roots.insert(top.clone(), top.clone());
        path.push(top);
        top = parent;
    }
    let root = roots.get(top).unwrap_or(top).clone();
    roots.extend(path.into_iter().map(|id| (id.clone(), root.clone())));
    root
}
