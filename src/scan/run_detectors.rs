//! Runs the detectors over the runs of a file, and computes fingerprints and digests.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use super::record::TraceRecord;
use super::scanner::Scanner;
use super::sidecar::Companion;
use crate::detect::Verdict;
use crate::error::{Error, Result};
use crate::fingerprint::FingerprintBuilder;
use crate::live::Monitor;
use crate::read::Format;
use crate::trace::{Digest, Event, RouteStatus, RunSource, RunSummary, Status, Step, StepSink};

/// The number of runs and errors in a full batch. A small batch reuses memory that is still in cache: with 64,
/// scanning runs of 3 KB takes 10% longer.
const MOST_KEPT: usize = 4;

/// Records and errors that are not emitted yet, in order.
pub(super) type Kept = Vec<Result<TraceRecord>>;

/// Runs the detectors over one run after another, and keeps records and errors.
pub(super) struct Sink<'s> {
    scanner: &'s Scanner,
    file: Arc<Path>,
    companion: Option<Arc<Companion>>,
    position: u64,
    actions: u64,
    errors: u64,
    /// Reused for each run in turn.
    monitor: Option<Monitor>,
    fingerprint: Option<FingerprintBuilder>,
    digest: Option<Digest>,
    /// The index of each step and the addresses of its texts in memory, if places are requested.
    addresses: Vec<(u64, [usize; 3])>,
    pub(super) kept: Rc<RefCell<Kept>>,
    /// Emits the kept items when a batch is full; `None` keeps everything. The argument is a lower bound on the
    /// number of positions assigned to runs, readable or not, since the last piece.
    hand_on: Option<&'s dyn Fn(u64)>,
}

impl<'s> Sink<'s> {
    pub(super) fn new(scanner: &'s Scanner, file: &Arc<Path>, companion: Option<&Arc<Companion>>) -> Self {
        Self {
            scanner,
            file: Arc::clone(file),
            companion: companion.cloned(),
            position: 0,
            actions: 0,
            errors: 0,
            monitor: None,
            fingerprint: None,
            digest: None,
            addresses: Vec::new(),
            kept: Rc::default(),
            hand_on: None,
        }
    }

    /// Sets the function that emits full batches.
    pub(super) fn handing_on<'h>(self, hand_on: &'h dyn Fn(u64)) -> Sink<'h>
    where
        's: 'h,
    {
        Sink { hand_on: Some(hand_on), ..self }
    }

    /// Emits the batch if it is full. `positions` is a lower bound, as for `hand_on`.
    fn hand_on_much(&self, positions: u64) {
        let is_much = self.kept.borrow().len() >= MOST_KEPT;
        if is_much && let Some(hand_on) = self.hand_on {
            hand_on(positions);
        }
    }
}

impl StepSink for Sink<'_> {
    fn begin(&mut self, position: u64, routing: &RouteStatus) {
        self.position = position;
        (self.actions, self.errors) = (0, 0);
        self.addresses.clear();
        match &mut self.monitor {
            Some(monitor) => monitor.reopen(routing),
            None => self.monitor = Some(Monitor::open(&self.scanner.detectors, routing)),
        }
        self.fingerprint = self.scanner.options.fingerprints.then(FingerprintBuilder::default);
        self.digest = self.scanner.options.digests.then(Digest::of_nothing);
    }

    fn step(&mut self, step: &Step<'_>) {
        if let Event::Action(action) = step.event() {
            self.actions += 1;
            self.errors += u64::from(action.status == Status::Error);
        }
        if self.scanner.options.read.places {
            self.addresses.push((step.index(), step.addresses()));
        }
        if let Some(monitor) = &mut self.monitor {
            monitor.observe_step(step);
        }
        if let Some(fingerprint) = &mut self.fingerprint {
            fingerprint.observe(step);
        }
        if let Some(digest) = &mut self.digest {
            *digest = digest.with_step(step);
        }
    }

    fn end(&mut self, ending: RunSummary) {
        self.end_of(ending, &RunSource::default());
    }

    fn end_of(&mut self, mut ending: RunSummary, source: &RunSource<'_>) {
        if let Some(companion) = &self.companion {
            companion.complete(&mut ending);
        }
        if let Some(table) = &self.scanner.options.run_table {
            table.complete(&self.file, &mut ending);
        }
        let Some(monitor) = &mut self.monitor else { return };
        let format = source.format().and_then(|name| name.parse::<Format>().ok());
        let judges = self.scanner.judges(&self.file, format, &ending.metadata);
        let verdicts: Vec<_> = judges.iter().filter_map(|place| monitor.verdict_at(*place)).collect();
        let inside = |(id, verdict): &(Cow<'static, str>, Verdict)| match verdict.findings() {
            [] => None,
            findings => Some((id.clone(), monitor.cost_inside(findings))),
        };
        let mut places = BTreeMap::new();
        if let Some(source) = source.places {
            for finding in verdicts.iter().flat_map(|(_, verdict)| verdict.findings()) {
                let step = self.addresses.binary_search_by_key(&finding.last, |(step, _)| *step).ok();
                let addresses = step.and_then(|step| self.addresses.get(step));
                places
                    .extend(addresses.and_then(|(step, addresses)| Some((*step, source.place(*addresses)?))));
            }
        }
        let record = TraceRecord {
            places,
            file: Arc::clone(&self.file),
            format,
            position: self.position,
            metadata: ending.metadata,
            reward: ending.reward,
            unpaired: ending.unpaired,
            actions: self.actions,
            errors: self.errors,
            cost: monitor.total_cost(),
            costs_inside: verdicts.iter().filter_map(inside).collect(),
            verdicts,
            digest: self.digest.take(),
            fingerprint: self.fingerprint.take().map(FingerprintBuilder::finish),
        };
        self.kept.borrow_mut().push(Ok(record));
        self.hand_on_much(self.position + 1);
    }

    fn abandon(&mut self) {
        self.fingerprint = None;
    }

    fn error(&mut self, error: Error) -> Option<Error> {
        self.kept.borrow_mut().push(Err(error));
        self.hand_on_much(0);
        None
    }
}
