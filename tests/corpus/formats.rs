//! Tests directories with files of all formats.

use super::reading::fixtures::fixtures;
use super::*;

/// Writes the fixtures of all formats. Returns the name, format and number of runs of each, sorted by name.
fn write_fixtures(folder: &Folder) -> Vec<(String, Format, usize)> {
    let mut written = Vec::new();
    for (format, path, bytes) in fixtures() {
        let name = format!("runs/{format}-{}", path.file_name().unwrap().to_str().unwrap());
        folder.write(&name, &bytes);
        written.push((name, format, read_traces(&bytes, &ReadOptions::default()).0.len()));
    }
    written.sort();
    written
}

/// Writes files of unknown formats, and returns their number.
fn write_foreign(folder: &Folder) -> usize {
    let inputs = fs::read("tests/formats/unrecognised.txt").unwrap();
    let lines = inputs.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let others: [&[u8]; 3] =
        [b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", b"12:00 INFO started\n12:01 INFO ended\n", b""];
    let inputs: Vec<&[u8]> = lines.chain(others).collect();
    for (number, input) in inputs.iter().enumerate() {
        folder.write(&format!("foreign/{number:03}.json"), input);
    }
    inputs.len()
}

#[test]
fn every_file_is_read_by_its_own_format_and_foreign_ones_are_errors() {
    let folder = Folder::new("all-formats");
    let (written, foreign) = (write_fixtures(&folder), write_foreign(&folder));
    let mut expected: Option<String> = None;
    let pieces = ScanOptions { whole_file_limit: 0, piece_bytes: 1, ..threads(2) };
    for options in [threads(1), threads(8), pieces] {
        let files = scanner(options).collect([&folder.0]).unwrap();
        let (others, own) = files.split_at(foreign);
        let found: Vec<_> = own.iter().map(|file| (file.format.unwrap(), file.traces.len())).collect();
        let wanted: Vec<_> = written.iter().map(|(_, format, runs)| (*format, *runs)).collect();
        assert_eq!(names(own, &folder), written.iter().map(|(name, ..)| name.clone()).collect::<Vec<_>>());
        assert_eq!(found, wanted);
        for file in others {
            let path = file.path.display();
            assert!(file.traces.is_empty() && file.format.is_none(), "{path}: {:?}", file.format);
            assert_eq!((file.errors.len(), file.errors[0].path()), (1, Some(&*file.path)), "{path}");
        }
        let dump = dump_without_reasons(&files);
        assert_eq!(*expected.get_or_insert_with(|| dump.clone()), dump);
    }
    let (mut runs, mut foreign_errors) = (0, 0);
    wrongturn::scan::read_files([&folder.0], &ReadOptions::default(), |event| {
        match event {
            ScanEvent::Record(_) => runs += 1,
            ScanEvent::Error(error) => {
                foreign_errors += usize::from(error.path().unwrap().starts_with(folder.path("foreign")));
            }
            _ => {}
        }
        Ok::<(), wrongturn::Error>(())
    })
    .unwrap();
    assert_eq!((runs, foreign_errors), (written.iter().map(|(.., runs)| runs).sum(), foreign));
}
