//! Subcommands that describe the program: formats, detectors, settings, completions and manual pages.

use std::path::PathBuf;

use clap_complete::Shell;
use serde::Serialize;
use serde_json::json;
use wrongturn::{
    detect::{ALL, Preset},
    read::Format,
    trace::Actors,
};

use crate::common::{self, Failure, config, output};

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

/// Prints a script that completes the command line in a shell.
#[derive(clap::Args)]
#[command(after_help = common::notes("none.", "the script on standard output.", "wrongturn completions bash"))]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

/// Writes the manual pages into a directory.
#[derive(clap::Args)]
#[command(after_help = common::notes("none.", "a page for each subcommand, such as wrongturn-check.1; the directory on standard output.", "wrongturn man target/man"))]
pub(crate) struct Man {
    /// The directory
    directory: PathBuf,
}

/// Prints the JSON Schema of wrongturn.toml, for editors.
#[derive(clap::Args)]
#[command(after_help = common::notes("none.", "the schema on standard output.", "wrongturn schema"))]
pub(crate) struct Schema {}

pub(crate) fn completions(arguments: &Completions, mut program: clap::Command) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, "wrongturn", &mut script);
    common::print_raw(&String::from_utf8(script)?)?;
    Ok(0)
}

pub(crate) fn man(arguments: &Man, program: clap::Command) -> Result<u8, Failure> {
    let Man { directory } = arguments;
    output::create_folder(directory)?;
    clap_mangen::generate_to(program, directory).map_err(output::at(directory))?;
    common::print(&format!("{}\n", directory.display()))?;
    Ok(0)
}

pub(crate) fn schema() -> Result<u8, Failure> {
    print_json(&config::schema())?;
    Ok(0)
}

pub(crate) fn formats(arguments: &Formats) -> Result<u8, Failure> {
    if arguments.json {
        let format = |format: &Format| json!({"name": format.name(), "about": format.about(), "signature": format.signature()});
        print_json(&Format::VARIANTS.iter().map(format).collect::<Vec<_>>())?;
    } else {
        let rows = Format::VARIANTS.iter().map(|format| (format.name(), format.about()));
        common::print(&table(rows))?;
    }
    Ok(0)
}

pub(crate) fn detectors(arguments: &Detectors) -> Result<u8, Failure> {
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
        print_json(&ALL.iter().map(detector).collect::<Vec<_>>())?;
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

/// Renders names and texts in two columns, in lines of at most 80 characters.
fn table<'t>(rows: impl Iterator<Item = (&'t str, &'t str)> + Clone) -> String {
    let width = rows.clone().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line =
        |(name, text): (&str, &str)| common::wrapped(&format!("{name:width$}  {text}"), 80, width + 2) + "\n";
    rows.map(line).collect()
}

fn print_json(values: &impl Serialize) -> Result<(), Failure> {
    common::print(&common::json_text(values)?)
}
