//! Throwaway.
use serde::de::IgnoredAny;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tracelint::{ScanOptions, Scanner, default_detectors};
fn floor(mut bytes: &[u8]) -> bool {
    loop {
        let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
        let sound = values.by_ref().map(std::hint::black_box).all(|value| value.is_ok());
        let rest = bytes.get(values.byte_offset()..).unwrap_or_default();
        match rest.iter().position(|byte| *byte == b'\n') {
            Some(end) if !sound => bytes = rest.get(end + 1..).unwrap_or_default(),
            _ => return sound,
        }
    }
}
fn cpu() -> u64 {
    use std::sync::OnceLock;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mode = args[0].as_str();
    let all = Scanner::new(default_detectors(), ScanOptions::default()).unwrap();
    let none = Scanner::new(Vec::new(), ScanOptions::default()).unwrap();
    if mode == "loop" || mode == "loopnone" || mode == "loopfloor" {
        let n: usize = args[1].parse().unwrap();
        let files: Vec<(PathBuf, Vec<u8>)> =
            args[2..].iter().map(|p| (PathBuf::from(p), std::fs::read(p).unwrap())).collect();
        let start = Instant::now();
        for _ in 0..n {
            for (p, b) in &files {
                match mode {
                    "loop" => {
                        std::hint::black_box(all.scan_slice(p, b));
                    }
                    "loopnone" => {
                        std::hint::black_box(none.scan_slice(p, b));
                    }
                    _ => {
                        std::hint::black_box(floor(b));
                    }
                }
            }
        }
        eprintln!("{:?}", start.elapsed());
        return;
    }
    let rounds: usize = args[1].parse().unwrap();
    for p in &args[2..] {
        let b = std::fs::read(p).unwrap();
        let path = Path::new(p);
        let times = (600_000 / b.len()).max(1);
        let mut best = [u64::MAX; 3];
        for _ in 0..rounds {
            let t0 = cpu();
            for _ in 0..times {
                std::hint::black_box(floor(&b));
            }
            let t1 = cpu();
            for _ in 0..times {
                std::hint::black_box(all.scan_slice(path, &b));
            }
            let t2 = cpu();
            for _ in 0..times {
                std::hint::black_box(none.scan_slice(path, &b));
            }
            let t3 = cpu();
            for (b, t) in best.iter_mut().zip([t1 - t0, t2 - t1, t3 - t2]) {
                *b = (*b).min(t);
            }
        }
        let f = |i: usize| best[i] as f64 / times as f64 / 1000.0;
        println!(
            "{:>9} B floor {:>8.1} us  all {:>8.1} us {:>6.2}  none {:>8.1} us {:>6.2}  {}",
            b.len(),
            f(0),
            f(1),
            f(1) / f(0),
            f(2),
            f(2) / f(0),
            path.file_name().unwrap().to_string_lossy()
        );
    }
}
