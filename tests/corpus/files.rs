//! Tests compressed files, other encodings, links and pipes.

use std::io::Write as _;

use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::*;

pub(super) fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    compress_to_vec(text, CompressionLevel::Fastest)
}

fn lines(ids: std::ops::Range<usize>) -> Vec<u8> {
    ids.map(|id| run(&format!("{id:0>200}")) + "\n").collect::<String>().into_bytes()
}

#[test]
fn compressed_files_are_read_like_plain_ones() {
    let folder = Folder::new("compressed");
    let (first, second) = (lines(0..300), lines(300..400));
    let plain = scan(&[folder.write("plain.jsonl", [first.clone(), second.clone()].concat())]);
    assert_eq!(plain[0].traces.len(), 400);
    folder.write("packed/one.jsonl.gz", gzip(&[first.clone(), second.clone()].concat()));
    folder.write("packed/two.jsonl.gz", [gzip(&first), gzip(&second)].concat());
    folder.write("packed/three.ndjson.zst", zstd(&[first.clone(), second.clone()].concat()));
    folder.write("packed/two.traj.zst", [zstd(&first), zstd(&second)].concat());
    for count in [1, 3] {
        let packed = scanner(threads(count)).collect(&[folder.path("packed")]).unwrap();
        assert_eq!(packed.len(), 4);
        for file in &packed {
            assert_eq!(ids(std::slice::from_ref(file)), ids(&plain), "{}", file.path.display());
            assert!(file.errors.is_empty(), "{:?}", file.errors);
        }
    }
}

#[test]
fn a_truncated_compressed_file_keeps_the_runs_before_the_cut() {
    let folder = Folder::new("cut");
    let (first, second) = (lines(0..3000), lines(3000..3100));
    for (name, whole) in [
        ("cut.jsonl.gz", [gzip(&first), gzip(&second)].concat()),
        ("cut.jsonl.zst", [zstd(&first), zstd(&second)].concat()),
    ] {
        let file = &scan(&[folder.write(name, &whole[..whole.len() - 9])])[0];
        assert!(file.traces.len() >= 3000, "{name}: {}", file.traces.len());
        // There may be an error for the run at the cut, and there is always one for the file.
        let last = file.errors.last().unwrap();
        assert!(file.errors.len() <= 2, "{name}: {:?}", file.errors);
        assert_eq!((last.kind(), last.path()), (ErrorKind::Io, Some(&*file.path)), "{name}: {last}");
        assert!(last.location().is_some_and(|at| at.line > 3000), "{name}: {last}");
    }
}

#[test]
fn files_that_are_not_utf8_text_are_errors_that_name_the_encoding() {
    let folder = Folder::new("no-text");
    let utf16: Vec<u8> = run("a").encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (name, content, said) in [
        ("gzip.json", gzip(run("a").as_bytes()), "name it `.gz`"),
        ("zstd.json", zstd(run("a").as_bytes()), "name it `.zst`"),
        ("crush.json", [b"SQLite format 3\0\x10\0\x01".to_vec(), vec![0; 100]].concat(), "SQLite"),
        ("unmarked.json", utf16.clone(), "UTF-16"),
        ("a.tar.json", [vec![b'a'; 257], b"ustar".to_vec(), run("a").into_bytes()].concat(), "tar archive"),
        ("zeros.json", b"\0\n[ok] started".to_vec(), "not text"),
        ("plain.json.gz", run("a").into_bytes(), "gzip"),
        ("plain.json.zst", run("a").into_bytes(), "zstd"),
    ] {
        let file = &scan(&[folder.write(name, content)])[0];
        assert_eq!((file.traces.len(), file.errors.len()), (0, 1), "{name}: {:?}", file.errors);
        assert!(file.errors[0].to_string().contains(said), "{name}: {}", file.errors[0]);
    }
    let marked = folder.write("utf8.json", ["\u{feff}".as_bytes(), run("a").as_bytes()].concat());
    let little = folder.write("little.json", [vec![0xff, 0xfe], utf16].concat());
    let big = run("b").encode_utf16().flat_map(u16::to_be_bytes).collect();
    let big = folder.write("big.json", [vec![0xfe, 0xff], big].concat());
    assert_eq!(ids(&scan(&[big, little, marked])), ["b", "a", "a"]);
}

#[test]
fn a_directory_is_read_without_copies_and_resource_forks() {
    let folder = Folder::new("copies");
    folder.write("a.json", run("a"));
    // macOS stores metadata of a file next to it, under a name that begins with `._`.
    folder.write("._a.json", [0, 5, 22, 7]);
    // OpenClaw renames a session on reset, which is still read, and records a trajectory, which is a copy.
    folder.write("b.jsonl.reset.2026-03-09T07-41-35.557Z", run("b"));
    folder.write("c.jsonl", run("c"));
    folder.write("c.trajectory.jsonl", r#"{"traceSchema": "openclaw-trajectory", "type": "session.ended"}"#);
    // A file with such a name is skipped only if its content is that of OpenClaw.
    folder.write("d.jsonl", run("d"));
    folder.write("d.trajectory.jsonl", run("e"));
    // A checkpoint of OpenClaw that begins another is a copy, and so is the log of a session that Hermes saved whole.
    folder.write("f.checkpoint.1.jsonl", run("f") + "\n");
    folder.write("f.checkpoint.2.jsonl", run("f") + "\n" + &run("g"));
    folder.write("h.jsonl", "{\"role\": \"session_meta\"}\n{\"role\": \"user\", \"content\": \"\"}");
    folder.write("session_h.json", run("h").replacen('{', r#"{"message_count": 1, "#, 1));
    // Harbor copies a session of OpenClaw and converts it.
    let session = r#"{"type":"session","id":"i"}
{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"1","name":"t","arguments":{}}]}}"#;
    folder.write("t/openclaw-session.jsonl", session);
    folder.write("t/openclaw-sessions/i.jsonl", session);
    folder.write("t/trajectory.json", r#"{"session_id": "i"}"#);
    folder.write("session_index.jsonl", r#"{"id": "", "thread_name": "", "updated_at": ""}"#);
    let files = scan(&[folder.path("")]);
    assert_eq!(ids(&files), ["a", "b", "c", "d", "e", "f", "g", "h", "i"]);
    assert!(files.iter().all(|file| file.errors.is_empty()));
}

#[cfg(unix)]
#[test]
fn a_file_is_read_once_and_a_pipe_only_if_it_is_named() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("spellings");
    let file = folder.write("runs/a.json", run("a"));
    symlink(&file, folder.path("runs/linked.json")).unwrap();
    symlink(folder.path("runs"), folder.path("runs/again")).unwrap();
    let spelled = folder.path("runs/../runs/./a.json");
    let files = scan(&[file, spelled, folder.path("runs")]);
    assert_eq!(ids(&files), ["a"]);
    assert!(files.iter().all(|file| file.errors.is_empty()));
    let pipe = folder.path("runs/pipe.json");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let files = scan(&[folder.path("runs")]);
    assert_eq!(ids(&files), ["a"]);
    let errors = files.iter().flat_map(|file| &file.errors).map(|error| (error.kind(), error.path()));
    assert_eq!(errors.collect::<Vec<_>>(), [(ErrorKind::Io, Some(&*pipe))]);
    let path = pipe.clone();
    let writer = std::thread::spawn(move || fs::write(path, run("piped")).unwrap());
    assert_eq!(ids(&scan(&[pipe])), ["piped"]);
    writer.join().unwrap();
}
