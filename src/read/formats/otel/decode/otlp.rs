//! The envelope of OTLP/JSON and of Tempo's `batches`: resources, their scopes, and the items in them.

use std::borrow::Cow;

use super::json::{Around, log, objects, row};
use super::model::{Collection, resource};
use super::wire;
use crate::json::{Json, Kind, Raw, Read};
use crate::read::wire::{list, member};

/// Takes the next value, to be read later. Returns `None` and consumes nothing if it is damaged or cut off; callers
/// then read it at once, up to the damage.
fn whole<'a>(json: &mut Json<'a>) -> Option<Raw<'a>> {
    let here = json.mark();
    let whole = json.raw().ok();
    if whole.is_none() {
        json.back_to(here);
    }
    whole
}

/// Reads an object of lists whose items need a head, which may follow them. `list` gets the head and whether the list
/// is named `spans`. Returns false if the object has no lists.
fn lists_with_head<'a, T: Default>(
    json: &mut Json<'a>,
    into: &mut Collection<'a>,
    [heads, lists]: [&[&[u8]]; 2],
    head: impl Fn(&mut Json<'a>, &mut Collection<'a>) -> Read<T>,
    list: impl Fn(&mut Json<'a>, bool, &T, &mut Collection<'a>) -> Read<()>,
) -> Read<bool> {
    let (mut known, mut has_lists) = (None, false);
    let mut waiting: Vec<(bool, Raw<'a>)> = Vec::new();
    json.object(|key, value| {
        let is_spans = key == b"spans";
        if heads.contains(&key) {
            known = Some(head(value, into)?);
        } else if lists.contains(&key) {
            has_lists |= value.kind()? != Kind::Null;
            let later = if known.is_some() { None } else { whole(value) };
            match (later, &known) {
                (Some(items), _) => waiting.push((is_spans, items)),
                (None, Some(known)) => list(value, is_spans, known, into)?,
                (None, None) => list(value, is_spans, &T::default(), into)?,
            }
        }
        Ok(())
    })?;
    let known = known.unwrap_or_default();
    for (is_spans, items) in waiting {
        list(&mut items.json(), is_spans, &known, into)?;
    }
    Ok(has_lists)
}

/// The keys of the sender in a resource, and of its scopes.
const RESOURCE: [&[&[u8]]; 2] = [
    &[b"resource"],
    &[
        b"scopeSpans",
        b"scope_spans",
        b"instrumentationLibrarySpans",
        b"ilSpans",
        b"scopeLogs",
        b"scope_logs",
        b"instrumentationLibraryLogs",
    ],
];

/// The keys of a scope's description, and of its items.
const SCOPE: [&[&[u8]]; 2] = [
    &[b"scope", b"instrumentationLibrary", b"instrumentation_scope"],
    &[b"spans", b"logRecords", b"log_records", b"logs"],
];

/// Reads a list of resources with their spans or log records.
pub(super) fn resources<'a>(json: &mut Json<'a>, into: &mut Collection<'a>) -> Read<()> {
    objects(json, into, |resource, into| {
        into.resource = None;
        let scopes =
            |scopes: &mut Json<'a>, _, (): &(), into: &mut Collection<'a>| objects(scopes, into, scope);
        if !lists_with_head(resource, into, RESOURCE, sender, scopes)? {
            into.pass_over("resources without spans or log records");
        }
        into.resource = None;
        Ok(())
    })
}

/// Reads the attributes of a sender, for the spans that are read next.
fn sender<'a>(json: &mut Json<'a>, into: &mut Collection<'a>) -> Read<()> {
    member(json, b"attributes", |attributes| {
        let read = list(attributes, |item| {
            if item.kind()? == Kind::Object
                && let Some((name, value)) = wire::pair(item)?
            {
                resource::add(&mut into.resource, &name, &value);
            }
            Ok(())
        });
        read.map(|_| ())
    })
}

fn scope<'a>(json: &mut Json<'a>, into: &mut Collection<'a>) -> Read<()> {
    let name = |head: &mut Json<'a>, _: &mut Collection<'a>| wire::name(head).map(Option::unwrap_or_default);
    let items = |items: &mut Json<'a>, spans, scope: &Cow<'a, str>, into: &mut Collection<'a>| {
        objects(items, into, |item, into| {
            if spans {
                row(item, &Around { scope: Some(scope), ..Around::default() }, into)
            } else {
                into.push_log(log(item)?);
                Ok(())
            }
        })
    };
    if !lists_with_head(json, into, SCOPE, name, items)? {
        into.pass_over("scopes without spans or log records");
    }
    Ok(())
}
