//! Subcommands that describe the program: formats, detectors, settings, completions and manual pages.

use std::path::PathBuf;

use clap_complete::Shell;
use serde::Serialize;
use serde_json::json;
use wrongturn::{
    detect::{ALL, DetectorInfo, Preset, detector_info},
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

/// Lists the detectors, or explains one.
#[derive(clap::Args)]
pub(crate) struct Detectors {
    /// The detector to explain: its rule, limits, source and settings
    id: Option<String>,
    /// As JSON, with each detector's configuration
    #[arg(long)]
    json: bool,
    /// Defaults that the configurations start from (default, bench-trace)
    #[arg(long, default_value = "default", hide_short_help = true)]
    preset: Preset,
    /// Actors whose actions count (agent, user, all)
    #[arg(long, default_value = "agent", hide_short_help = true)]
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
    let asked = arguments.id.as_deref().map(detector_info).transpose()?;
    let listed = asked.map_or(ALL, std::slice::from_ref);
    if arguments.json {
        let detector = |info: &DetectorInfo| {
            json!({
                "id": info.id,
                "mode": info.mode,
                "summary": info.summary,
                "opt_in": info.opt_in,
                "config": info.config(arguments.preset, arguments.actors),
            })
        };
        print_json(&listed.iter().map(detector).collect::<Vec<_>>())?;
    } else if let Some(info) = asked {
        common::print(&page(info, arguments)?)?;
    } else {
        let opt_in = |info: &DetectorInfo| if info.opt_in { " (runs only if selected)" } else { "" };
        let summaries: Vec<String> =
            ALL.iter().map(|info| format!("{}{}", info.summary, opt_in(info))).collect();
        let rows = ALL.iter().zip(&summaries).map(|(info, summary)| (info.id, summary.as_str()));
        common::print(&table(rows))?;
    }
    Ok(0)
}

/// Renders the documentation of a detector for a terminal, except its Rust example, followed by its settings.
fn page(info: &DetectorInfo, arguments: &Detectors) -> Result<String, Failure> {
    let mut text = format!("{} ({})\n\n", info.id, info.mode);
    // A paragraph, or an item of a list.
    let mut block: Vec<&str> = Vec::new();
    let mut is_example = false;
    for line in info.docs.lines().chain([""]) {
        let heading = line.strip_prefix("## ");
        if line.is_empty() || heading.is_some() || line.starts_with("- ") {
            let indent = if block.first().is_some_and(|first| first.starts_with('-')) { 2 } else { 0 };
            let told = common::wrapped(&std::mem::take(&mut block).join(" "), 80, indent);
            text += &if told.is_empty() { told } else { told + "\n" };
        }
        is_example = heading.map_or(is_example, |heading| heading == "Example");
        match heading {
            _ if is_example => {}
            Some(heading) => text += &format!("{heading}:\n"),
            None if line.is_empty() => text.push('\n'),
            None => block.push(line.trim()),
        }
    }
    let settings = common::json_text(&info.config(arguments.preset, arguments.actors))?;
    Ok(text + &format!("Settings (`[detectors.{}]` in wrongturn.toml), as JSON:\n\n{settings}", info.id))
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
