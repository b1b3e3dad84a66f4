//! Archives of Inspect: zip files made here, sound and damaged.

#![cfg(feature = "inspect")]

use std::io::Write;

use wrongturn::{ErrorKind, ReadOptions, read::Format, read_traces};

use super::{actions, known, read};

/// The checksum of zip, bit by bit.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 },
        )
    })
}

/// A zip archive of these files, stored (0) or deflated (8).
fn archive(files: &[(&str, &str)], method: u16) -> Vec<u8> {
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

const HEADER: &str = r#"{"version": 2, "eval": {"task": "t", "model": "m"}}"#;
const START: &str = r#"{"version": 2, "eval": {"task": "begun", "model": "m"}}"#;

fn sample(id: &str) -> String {
    format!(
        r#"{{"id": "{id}", "epoch": 1, "scores": {{"a": {{"value": 1}}}}, "messages": [
            {{"role": "assistant", "tool_calls": [{{"id": "c", "function": "f", "arguments": {{}}}}]}},
            {{"role": "tool", "tool_call_id": "c", "content": "x"}}]}}"#
    )
}

#[test]
fn samples_stand_in_the_order_of_the_archive() {
    let (b, a) = (sample("b"), sample("a"));
    let files = [
        ("_journal/start.json", START),
        ("samples/b_epoch_1.json", &*b),
        ("samples/a_epoch_1.json", &*a),
        ("samples/readme.txt", "no sample"),
        ("summaries.json", "[]"),
        ("header.json", HEADER),
    ];
    for method in [0, 8] {
        let bytes = archive(&files, method);
        let (traces, reading) = read(&bytes);
        assert!(reading.errors.is_empty(), "{:?}", reading.errors);
        assert_eq!(reading.format, Some(Format::Inspect));
        let heads: Vec<String> = traces.iter().map(known).collect();
        assert_eq!(heads, ["b_epoch_1 - m - t b 1 -", "a_epoch_1 - m - t a 1 -"]);
        assert_eq!(actions(&traces[0]), ["0 f({}) ok/none #c = x"]);
        // Of a log that was broken off.
        let (traces, _) = read(archive(&files[..2], method));
        assert_eq!(known(&traces[0]), "b_epoch_1 - m - begun b 1 -");
    }
}

#[test]
fn archives_that_are_damaged_or_something_else() {
    let good = sample("a");
    let files = [
        ("header.json", HEADER),
        ("samples/a.json", &*good),
        ("samples/b.json", "{\"id\": 1, "),
        ("samples/c.json", "7"),
    ];
    let (traces, reading) = read(archive(&files, 8));
    assert_eq!((traces.len(), reading.errors.len()), (1, 1));
    assert!(reading.errors[0].to_string().contains("samples/b.json"), "{}", reading.errors[0]);
    assert_eq!((reading.errors[0].kind(), reading.errors[0].run()), (ErrorKind::Truncated, Some(1)));
    assert_eq!(reading.passed_over.get("samples that are no objects"), Some(&1));

    for (files, kind) in [
        (vec![("word/document.xml", "<x/>")], ErrorKind::Format),
        (vec![("header.json", "7")], ErrorKind::Shape),
        (vec![("header.json", "{\"eval\": null}")], ErrorKind::Shape),
    ] {
        let (traces, reading) = read(archive(&files, 0));
        assert_eq!((traces.len(), reading.errors[0].kind()), (0, kind), "{files:?}");
    }
    let (traces, reading) = read(b"PK\x03\x04 no archive");
    assert_eq!((traces.len(), reading.errors[0].kind()), (0, ErrorKind::Syntax));
}

#[test]
fn a_byte_that_has_changed_costs_its_sample() {
    let (a, b) = (sample("a"), sample("b"));
    let mut bytes = archive(&[("header.json", HEADER), ("samples/a.json", &a), ("samples/b.json", &b)], 0);
    let place = bytes.windows(3).position(|part| part == b"\"x\"").unwrap();
    bytes[place + 1] = b'y';
    let (traces, reading) = read(&bytes);
    let heads: Vec<String> = traces.iter().map(known).collect();
    assert_eq!((heads, reading.errors.len()), (vec!["b_epoch_1 - m - t b 1 -".to_owned()], 1));
}

#[test]
fn no_more_is_held_than_may_be() {
    let large = format!("{{\"id\": 1, \"messages\": [], \"x\": \"{}\"}}", " ".repeat(3 << 20));
    let bytes =
        archive(&[("header.json", HEADER), ("samples/a.json", &sample("a")), ("samples/b.json", &large)], 8);
    let options = ReadOptions { most_held: 1 << 20, ..ReadOptions::default() };
    let (traces, reading) = read_traces(&bytes, &options);
    assert_eq!((traces.len(), reading.errors[0].kind()), (1, ErrorKind::TooLarge));
}

#[test]
fn mutated_archives_do_no_harm() {
    let a = sample("a");
    let bytes = archive(&[("header.json", HEADER), ("samples/a.json", &a)], 8);
    for place in 0..bytes.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut bytes = bytes.clone();
            bytes[place] ^= change;
            read(&bytes);
        }
        read(&bytes[..place]);
    }
}

#[test]
fn an_archive_whose_files_overlap_is_damaged() {
    let bytes = archive(&[("header.json", HEADER), ("samples/a.json", &sample("a"))], 8);
    let (rest, end) = bytes.split_at(bytes.len() - 22);
    let entry = rest.windows(4).rposition(|part| part == b"PK\x01\x02").unwrap();
    let mut end = end.to_vec();
    // The directory names the one sample 50 times more.
    end[8..12].copy_from_slice(&[52, 0, 52, 0]);
    let length = u32::from_le_bytes(end[12..16].try_into().unwrap());
    let more = u32::try_from(rest.len() - entry).unwrap() * 50;
    end[12..16].copy_from_slice(&(length + more).to_le_bytes());
    let (traces, reading) = read([rest, &rest[entry..].repeat(50), &end].concat());
    assert!((1..51).contains(&traces.len()), "{}", traces.len());
    assert_eq!(traces.len() + reading.errors.len(), 51);
    let said = reading.errors[0].to_string();
    assert!(said.contains("`samples/a.json`: the zip archive is damaged: its files overlap"), "{said}");
}
