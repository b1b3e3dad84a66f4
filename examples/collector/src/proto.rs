//! The few protobuf messages that the collector writes itself.

use crate::intake::Taken;

/// Returns the response to an export, which is empty if all was accepted. Responses to spans and to log
/// records have the same fields: the partial success has number 1; in it, the count has number 1 and the
/// message number 2.
pub(crate) fn response(taken: &Taken) -> Vec<u8> {
    if taken.rejected == 0 {
        return Vec::new();
    }
    let mut partial = vec![0x08];
    varint(taken.rejected, &mut partial);
    field(0x12, taken.message.as_bytes(), &mut partial);
    let mut response = Vec::new();
    field(0x0a, &partial, &mut response);
    response
}

/// Returns a `google.rpc.Status` with this message.
pub(crate) fn status(message: &str) -> Vec<u8> {
    let mut status = Vec::new();
    field(0x12, message.as_bytes(), &mut status);
    status
}

/// Writes a field of bytes: its key, its length, and the bytes.
fn field(key: u8, bytes: &[u8], into: &mut Vec<u8>) {
    into.push(key);
    varint(bytes.len() as u64, into);
    into.extend_from_slice(bytes);
}

fn varint(mut number: u64, into: &mut Vec<u8>) {
    while number >= 0x80 {
        into.push(u8::try_from(number & 0x7f).unwrap_or_default() | 0x80);
        number >>= 7;
    }
    into.push(u8::try_from(number).unwrap_or_default());
}
