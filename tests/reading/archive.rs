//! Writes zip archives.

use std::io::Write;

/// Computes the CRC-32 of a zip archive.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 },
        )
    })
}

/// Packs files into a zip archive, by method 0 (stored) or 8 (deflated).
pub(crate) fn archive(files: &[(&str, &str)], method: u16) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    let short =
        |out: &mut Vec<u8>, values: &[u16]| values.iter().for_each(|value| out.extend(value.to_le_bytes()));
    let long =
        |out: &mut Vec<u8>, values: &[u32]| values.iter().for_each(|value| out.extend(value.to_le_bytes()));
    let size = |length: usize| u32::try_from(length).unwrap();
    for (name, text) in files {
        let data = if method == 8 {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.finish().unwrap()
        } else {
            text.as_bytes().to_vec()
        };
        let at = size(out.len());
        let sizes = [crc(text.as_bytes()), size(data.len()), size(text.len())];
        let length = u16::try_from(name.len()).unwrap();
        out.extend(b"PK\x03\x04");
        short(&mut out, &[20, 0, method, 0, 0]);
        long(&mut out, &sizes);
        short(&mut out, &[length, 0]);
        out.extend(name.as_bytes());
        out.extend(&data);
        directory.extend(b"PK\x01\x02");
        short(&mut directory, &[20, 20, 0, method, 0, 0]);
        long(&mut directory, &sizes);
        short(&mut directory, &[length, 0, 0, 0, 0]);
        long(&mut directory, &[0, at]);
        directory.extend(name.as_bytes());
    }
    let count = u16::try_from(files.len()).unwrap();
    let (start, length) = (size(out.len()), size(directory.len()));
    out.extend(&directory);
    out.extend(b"PK\x05\x06");
    short(&mut out, &[0, 0, count, count]);
    long(&mut out, &[length, start]);
    short(&mut out, &[0]);
    out
}
