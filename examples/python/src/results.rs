//! Statistics, comparisons and calibration.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use wrongturn::calibrate::{CalibrationOptions, GoldenSet};
use wrongturn::compare::{ComparedRun, Comparison};
use wrongturn::detect::{ALL, ToolErrorRecoveryConfig};
use wrongturn::read::Format;
use wrongturn::replicate::{
    ClusterBy, Coefficient, DefaultRecovery, ReplicationAnalysis, ReplicationOptions, SimulationRow,
};
use wrongturn::report::{
    Detail, Document, ReplicationView, calibration_document, comparison_document, replication_document,
};
use wrongturn::scan::ScanOptions;
use wrongturn::stats::{
    ClusteredPearson, ClusteredWithin, Resampling, StatsError, cluster_bootstrap, pearson, permutation_test,
    random_effects, spearman, within_group,
};
use wrongturn::trace::Actors;
use wrongturn::{Detector, ReadOptions, Scanner, ToolErrorRecovery};

use crate::detector::{Fault, Selection};
use crate::report::Report;
use crate::{from_json, raised, to_json};

/// A result: its figures as JSON, its text, and its HTML page.
type Rendered = (String, String, String);

fn rendered(py: Python<'_>, figures: &impl serde::Serialize, document: &Document) -> PyResult<Rendered> {
    Ok((to_json(py, figures)?, document.text(Detail::Short), document.html()))
}

#[derive(Clone, Copy, Deserialize)]
struct Sampling {
    resamples: usize,
    seed: u64,
    confidence: f64,
}

impl From<Sampling> for Resampling {
    fn from(Sampling { resamples, seed, confidence }: Sampling) -> Self {
        Self { resamples, seed, confidence }
    }
}

/// The detectors of the library as JSON, each with its default configuration.
#[pyfunction]
pub(crate) fn detectors(py: Python<'_>) -> PyResult<String> {
    let detector = |info: &wrongturn::detect::DetectorInfo| {
        json!({
            "id": info.id,
            "mode": info.mode,
            "summary": info.summary,
            "docs": info.docs,
            "opt_in": info.opt_in,
            "config": info.config(wrongturn::detect::Preset::Default, Actors::Agent),
        })
    };
    to_json(py, &ALL.iter().map(detector).collect::<Vec<_>>())
}

/// The replication over tau2 results, as `wrongturn replicate` computes it.
#[pyfunction]
pub(crate) fn replicate(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    cluster: &str,
    min_n: u64,
    sampling: &str,
) -> PyResult<Rendered> {
    let cluster: ClusterBy = cluster.parse().map_err(|error| raised(py, &error))?;
    let resampling = from_json::<Sampling>(py, sampling)?.into();
    let options = ReplicationOptions { cluster, min_n, resampling, ..ReplicationOptions::default() };
    let found = py.detach(|| {
        let rule = ToolErrorRecoveryConfig { actors: Actors::All, ..ToolErrorRecoveryConfig::published() };
        let detectors: Vec<Arc<dyn Detector>> =
            vec![Arc::new(ToolErrorRecovery::new(rule)?), Arc::new(DefaultRecovery::new(Actors::All)?)];
        let read = ReadOptions { format: Some(Format::Tau2), routes: false, ..ReadOptions::default() };
        let scanner = Scanner::new(detectors, ScanOptions { read, digests: true, ..ScanOptions::default() })?;
        let files = scanner.collect(&paths)?;
        let rows: Vec<SimulationRow> =
            files.iter().flat_map(|file| &file.traces).filter_map(SimulationRow::of).collect();
        ReplicationAnalysis::of(&rows, &options)
    });
    let analysis = found.map_err(|error| raised(py, &error))?;
    rendered(py, &analysis, &replication_document(&analysis, &ReplicationView::default()))
}

/// The association of two columns, overall and within groups. Resamples draw whole clusters.
#[pyfunction]
pub(crate) fn associate(
    py: Python<'_>,
    x: Vec<f64>,
    y: Vec<f64>,
    cluster: Vec<usize>,
    group: Option<Vec<usize>>,
    sampling: &str,
) -> PyResult<String> {
    let options: Resampling = from_json::<Sampling>(py, sampling)?.into();
    let found: Result<Value, StatsError> = py.detach(|| {
        let stratum = group.clone().unwrap_or_else(|| vec![0; x.len()]);
        let mut found = json!({
            "n": x.len(),
            "pearson": Coefficient(pearson(&x, &y)),
            "spearman": Coefficient(spearman(&x, &y)),
            "clustered": cluster_bootstrap(&ClusteredPearson::new(&x, &y, &cluster)?, &options)?,
            "permutation": permutation_test(&x, &y, &stratum, &options)?,
        });
        if let (Some(group), Some(found)) = (&group, found.as_object_mut()) {
            let mut groups: BTreeMap<usize, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
            for ((x, y), group) in x.iter().zip(&y).zip(group) {
                let columns = groups.entry(*group).or_default();
                columns.0.push(*x);
                columns.1.push(*y);
            }
            let each = groups.values().filter_map(|(x, y)| pearson(x, y).ok()).map(|one| (one.r, one.n));
            let within = ClusteredWithin::new(&x, &y, group, &cluster)?;
            found.insert("within".to_owned(), json!(Coefficient(within_group(&x, &y, group))));
            found.insert("within_clustered".to_owned(), json!(cluster_bootstrap(&within, &options)?));
            found.insert("pooled".to_owned(), json!(random_effects(&each.collect::<Vec<_>>()).ok()));
        }
        Ok(found)
    });
    to_json(py, &found.map_err(|error| raised(py, &error.into()))?)
}

/// A run of a data frame, for a comparison.
#[derive(Deserialize)]
struct Row {
    task: Option<String>,
    reward: Option<f64>,
    domain: Option<String>,
    trial: Option<u64>,
}

impl From<Row> for ComparedRun {
    fn from(Row { task, reward, domain, trial }: Row) -> Self {
        Self {
            domain,
            task,
            trial,
            reward,
            infrastructure_error: false,
            detected: Vec::new(),
            measures: Vec::new(),
            fingerprint: None,
        }
    }
}

/// Compares two reports.
#[pyfunction]
pub(crate) fn compare_reports(
    py: Python<'_>,
    before: &Report,
    after: &Report,
    labels: (String, String),
    sampling: &str,
) -> PyResult<Rendered> {
    let runs = |report: &Report| report.records().iter().map(ComparedRun::of).collect::<Vec<_>>();
    compared(py, &runs(before), &runs(after), &labels, sampling)
}

/// Compares the rows of two data frames, given as JSON.
#[pyfunction]
pub(crate) fn compare_runs(
    py: Python<'_>,
    before: &str,
    after: &str,
    labels: (String, String),
    sampling: &str,
) -> PyResult<Rendered> {
    let runs = |text| -> PyResult<Vec<ComparedRun>> {
        Ok(from_json::<Vec<Row>>(py, text)?.into_iter().map(ComparedRun::from).collect())
    };
    compared(py, &runs(before)?, &runs(after)?, &labels, sampling)
}

fn compared(
    py: Python<'_>,
    before: &[ComparedRun],
    after: &[ComparedRun],
    labels: &(String, String),
    sampling: &str,
) -> PyResult<Rendered> {
    let options: Resampling = from_json::<Sampling>(py, sampling)?.into();
    let sides = ((labels.0.as_str(), before), (labels.1.as_str(), after));
    let comparison = py.detach(|| Comparison::of(sides.0, sides.1, &options));
    let comparison = comparison.map_err(|error| raised(py, &error))?;
    rendered(py, &comparison, &comparison_document(&comparison))
}

/// Measures detectors on labelled runs.
#[pyfunction]
pub(crate) fn calibrate(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    selection: &str,
    trials: u32,
    seed: u64,
) -> PyResult<Rendered> {
    let detectors = from_json::<Selection>(py, selection)?.build(py, Vec::new(), &Fault::default())?;
    let known: Vec<&str> = ALL.iter().map(|info| info.id).collect();
    let options = CalibrationOptions { trials, seed, ..CalibrationOptions::default() };
    let found = py.detach(|| {
        GoldenSet::load(&paths, &known).map(|set| wrongturn::calibrate::calibrate(&set, &detectors, &options))
    });
    let report = found.map_err(|errors| match errors.first() {
        Some(error) => raised(py, error),
        None => crate::config_error(py, "the golden entries cannot be read"),
    })?;
    rendered(py, &report, &calibration_document(&report, &[]))
}
