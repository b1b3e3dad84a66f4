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

/// Reads a list of resources with their spans or log records.
pub(super) fn resources<'a>(json: &mut Json<'a>, into: &mut Collection<'a>) -> Read<()> {
    objects(json, into, |resource, into| {
        let (mut is_known, mut has_scopes) = (false, false);
        let mut waiting: Vec<Raw<'a>> = Vec::new();
        into.resource = None;
        resource.object(|key, value| {
            match key {
                b"resource" => {
                    is_known = true;
                    sender(value, into)?;
                }
                b"scopeSpans"
                | b"scope_spans"
                | b"instrumentationLibrarySpans"
                | b"ilSpans"
                | b"scopeLogs"
                | b"scope_logs"
                | b"instrumentationLibraryLogs" => {
                    has_scopes |= value.kind()? != Kind::Null;
                    // Spans need the attributes of their sender, which may still follow.
                    let later = if is_known { None } else { whole(value) };
                    match later {
                        Some(scopes) => waiting.push(scopes),
                        None => objects(value, into, scope)?,
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        for scopes in waiting {
            objects(&mut scopes.json(), into, scope)?;
        }
        if !has_scopes {
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
    let (mut name, mut has_items) = (None, false);
    let mut waiting: Vec<Raw<'a>> = Vec::new();
    json.object(|key, value| {
        match key {
            b"scope" | b"instrumentationLibrary" | b"instrumentation_scope" => {
                name = Some(wire::name(value)?.unwrap_or_default());
            }
            b"spans" | b"logRecords" | b"log_records" | b"logs" => {
                has_items |= value.kind()? != Kind::Null;
                // Items need the name of their scope, which may still follow.
                let later = if name.is_some() { None } else { whole(value) };
                match later {
                    Some(list) => waiting.push(list),
                    None => items(value, key == b"spans", name.as_deref().unwrap_or_default(), into)?,
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    if !has_items {
        into.pass_over("scopes without spans or log records");
    }
    let name = name.unwrap_or_default();
    for list in waiting {
        let first = list.first_items(1).first().copied();
        let spans =
            first.is_some_and(|first| first.member("spanId").is_some() && first.member("name").is_some());
        items(&mut list.json(), spans, &name, into)?;
    }
    Ok(())
}

fn items<'a>(json: &mut Json<'a>, spans: bool, scope: &str, into: &mut Collection<'a>) -> Read<()> {
    let name: Cow<'a, str> = Cow::Owned(scope.to_owned());
    objects(json, into, |item, into| {
        if spans {
            row(item, &Around { scope: Some(&name), ..Around::default() }, into)
        } else {
            into.push_log(log(item)?);
            Ok(())
        }
    })
}
