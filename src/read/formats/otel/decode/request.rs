//! Recognises OTLP in protobuf, even in builds that cannot read it.

use super::model::Collection;
use crate::error::Result;
#[cfg(not(feature = "otlp"))]
use crate::error::{Error, ErrorKind};

/// Adds the spans or log records in the body of an export request, or returns `None` if the bytes are not one.
#[cfg_attr(not(feature = "otlp"), expect(unused_variables, reason = "the feature takes it"))]
pub(crate) fn take(bytes: &[u8], into: &mut Collection<'_>) -> Option<Result<()>> {
    if !looks_like_request(bytes) {
        return None;
    }
    #[cfg(feature = "otlp")]
    return Some(super::proto::take(bytes, into));
    #[cfg(not(feature = "otlp"))]
    Some(Err(Error::new(
        ErrorKind::Format,
        "the input is OTLP as protobuf, which this build cannot read: enable the feature `otlp`",
    )))
}

/// Returns the number and bytes of the next field, or `None` if it is not length-delimited.
fn field<'a>(rest: &mut &'a [u8]) -> Option<(u64, &'a [u8])> {
    let tag = varint(rest)?;
    let length = usize::try_from(varint(rest).filter(|_| tag & 7 == 2)?).ok()?;
    let field;
    (field, *rest) = rest.split_at_checked(length)?;
    Some((tag >> 3, field))
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = rest.split_off_first()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Returns true if the bytes are nothing but a sequence of resources, and the first has a scope.
fn looks_like_request(mut bytes: &[u8]) -> bool {
    let mut first = None;
    while !bytes.is_empty() {
        let Some((1, resource)) = field(&mut bytes) else { return false };
        first.get_or_insert(resource);
    }
    let mut resource = first.unwrap_or_default();
    let mut has_scope = false;
    while !resource.is_empty() {
        match field(&mut resource) {
            Some((2, _)) => has_scope = true,
            Some((1 | 3 | 1000, _)) => {}
            _ => return false,
        }
    }
    has_scope
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_look_like_requests() {
        // A `ResourceSpans` with an empty `resource` and an empty scope.
        assert!(looks_like_request(&[0x0a, 4, 0x0a, 0, 0x12, 0]));
        for other in [
            &b"\n{\"a\": 1}"[..],
            b"\n\n\n{}",
            b"",
            b"{}",
            &[0x0a, 4, 0x0a, 0, 0x12],
            &[0x0a, 2, 0x0a, 0],
            &[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        ] {
            assert!(!looks_like_request(other), "{other:?}");
        }
    }
}
