//! `wrongturn formats` and `wrongturn detectors`: the registries.

use serde_json::{Value, json};
use wrongturn::{
    detect::{ALL, Preset},
    read::Format,
    trace::Actors,
};

use crate::common;

/// Lists the formats that can be read.
#[derive(clap::Args)]
pub(crate) struct Formats {
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Lists the detectors.
#[derive(clap::Args)]
pub(crate) struct Detectors {
    /// As JSON, with the configuration of each
    #[arg(long)]
    json: bool,
    /// Defaults that the configurations start from (default, bench-trace)
    #[arg(long, default_value = "default")]
    preset: Preset,
    /// Actors whose actions count (agent, user, all)
    #[arg(long, default_value = "agent")]
    actors: Actors,
}

pub(crate) fn formats(arguments: &Formats) -> Result<u8, common::Failure> {
    if arguments.json {
        let format = |format: &Format| json!({"name": format.name(), "about": format.about(), "signature": format.signature()});
        print_json(&Format::VARIANTS.iter().map(format).collect())?;
    } else {
        let rows = Format::VARIANTS.iter().map(|format| (format.name(), format.about()));
        common::print(&table(rows))?;
    }
    Ok(0)
}

pub(crate) fn detectors(arguments: &Detectors) -> Result<u8, common::Failure> {
    if arguments.json {
        let detector = |info: &wrongturn::detect::DetectorInfo| {
            json!({
                "id": info.id,
                "mode": info.mode,
                "summary": info.summary,
                "opt_in": info.opt_in,
                "config": info.config(arguments.preset, arguments.actors),
            })
        };
        print_json(&ALL.iter().map(detector).collect())?;
    } else {
        let opt_in =
            |info: &wrongturn::detect::DetectorInfo| if info.opt_in { " (runs only if named)" } else { "" };
        let summaries: Vec<String> =
            ALL.iter().map(|info| format!("{}{}", info.summary, opt_in(info))).collect();
        let rows = ALL.iter().zip(&summaries).map(|(info, summary)| (info.id, summary.as_str()));
        common::print(&table(rows))?;
    }
    Ok(0)
}

/// Names and texts in two columns of 80 characters together.
fn table<'t>(rows: impl Iterator<Item = (&'t str, &'t str)> + Clone) -> String {
    let width = rows.clone().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line =
        |(name, text): (&str, &str)| common::wrapped(&format!("{name:width$}  {text}"), 80, width + 2) + "\n";
    rows.map(line).collect()
}

fn print_json(values: &Vec<Value>) -> Result<(), common::Failure> {
    common::print(&format!("{}\n", serde_json::to_string_pretty(values)?))
}
