//! Detects a request of OTLP as protobuf without its types.

/// Fields of a message: number, and bytes of length-delimited fields.
struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// Returns the next length-delimited field, or `None` at the end or at any other kind of field.
    fn next(&mut self) -> Option<(u64, &'a [u8])> {
        let tag = self.varint()?;
        if tag & 7 != 2 {
            return None;
        }
        let length = usize::try_from(self.varint()?).ok()?;
        let (field, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some((tag >> 3, field))
    }
}

/// Returns true if bytes are a sequence of resources up to the end, the first with a scope.
pub(super) fn looks_like_request(bytes: &[u8]) -> bool {
    let mut fields = Fields { rest: bytes };
    let mut first = None;
    while !fields.rest.is_empty() {
        match fields.next() {
            Some((1, resource)) => {
                first.get_or_insert(resource);
            }
            _ => return false,
        }
    }
    let Some(resource) = first else { return false };
    let mut fields = Fields { rest: resource };
    let mut scopes = 0;
    while !fields.rest.is_empty() {
        match fields.next() {
            Some((2, _)) => scopes += 1,
            Some((1 | 3 | 1000, _)) => {}
            _ => return false,
        }
    }
    scopes > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_look_like_requests() {
        // One resource with an empty resource and one empty scope.
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
