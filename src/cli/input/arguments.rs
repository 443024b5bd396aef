//! What every command takes, and how values are read from the command line.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, ValueEnum};

use crate::cli::log::LogFormat;
use crate::domain::{AgentId, CompletionId, Map, Period, Ticket};
use crate::files::json::json;
use crate::git::Asking;
use crate::project::workspace::Network;
use crate::setup::template::Template;
use crate::tasks::apply::change::DryRun;
use crate::tasks::signing::Signing;

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Work in the project around this folder
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub directory: Option<PathBuf>,
    /// Print JSON for programs
    #[arg(long, global = true)]
    pub json: bool,
    /// Use colours: `auto`, `always` or `never`
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        global = true
    )]
    pub color: When,
    /// Say more, and what is done; twice: and what is looked at
    #[arg(short, long, action = ArgAction::Count, global = true)]
    pub verbose: u8,
    /// How the log is written that `-v` and `aof watch` tell: `text` or `json`
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        hide_possible_values = true,
        global = true
    )]
    pub log_format: LogFormat,
    /// Wait this long for another command or for git
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = wait, global = true)]
    pub wait: Duration,
}

/// When colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// At a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Whether a command that changes something only shows what it would do.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Rehearsal {
    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

impl Rehearsal {
    pub(crate) fn mode(self) -> DryRun {
        if self.dry_run { DryRun::Yes } else { DryRun::No }
    }
}

/// Whether the remote of a synced project is asked before something is claimed.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Away {
    /// In a synced project: do not ask the remote whether somebody elsewhere has it
    #[arg(long)]
    offline: bool,
}

impl Away {
    pub(crate) fn network(self) -> Network {
        if self.offline { Network::Spared } else { Network::Used }
    }
}

/// Who acts.
#[derive(Debug, Clone, Args)]
pub(crate) struct Who {
    /// The agent that acts
    #[arg(long, value_name = "ID", env = "AOF_AGENT", hide_env_values = true)]
    pub agent: Option<AgentId>,
}

/// How completions are signed, where org.yaml wants them to be.
#[derive(Debug, Clone, Args)]
pub(crate) struct SignWith {
    /// Sign with the SSH key in this file
    #[arg(long, value_name = "FILE")]
    sign_with: Option<PathBuf>,
}

impl SignWith {
    pub(crate) fn signing(&self) -> Signing<'_> {
        let asking = if std::io::stdin().is_terminal() { Asking::Terminal } else { Asking::Window };
        Signing { key_file: self.sign_with.as_deref(), asking }
    }
}

/// Reads the name of a template; `--help` says what each is for.
pub(crate) fn template() -> impl TypedValueParser<Value = Template> {
    let named =
        |template: &Template| PossibleValue::new(template.as_str()).help(template.summary());
    PossibleValuesParser::new(Template::ALL.iter().map(named))
        .try_map(|word| word.parse::<Template>())
}

fn wait(text: &str) -> Result<Duration, String> {
    if matches!(text, "0" | "0s") {
        return Ok(Duration::ZERO);
    }
    text.parse::<Period>()
        .map(|period| Duration::from_secs(period.seconds()))
        .map_err(|fault| fault.to_string())
}

/// Reads `KEY=VALUE`.
pub(crate) fn key_value(text: &str) -> Result<(String, serde_json::Value), String> {
    let (key, value) = text.split_once('=').ok_or("write it as `KEY=VALUE`")?;
    if key.is_empty() {
        return Err("the key before `=` is missing".to_owned());
    }
    Ok((key.to_owned(), value_of(value)))
}

/// Reads what a task begins with: `KEY=VALUE`, or an object.
pub(crate) fn context(text: &str) -> Result<Vec<(String, serde_json::Value)>, String> {
    if text.trim_start().starts_with('{') {
        let object = json::typed(text).map_err(|error| format!("it is no JSON object: {error}"))?;
        return Ok(object.as_object().cloned().unwrap_or_default().into_iter().collect());
    }
    key_value(text).map(|pair| vec![pair])
}

/// Returns the value that somebody typed. What is JSON (a number, `true`, a list) is taken as such, anything else as a text, and so is
/// a number that would not be written as it was typed: `1.10` is a version.
pub(crate) fn value_of(text: &str) -> serde_json::Value {
    json::typed(text).unwrap_or_else(|_| text.into())
}

/// Returns the visit and the run of which a runner told this process, if one did.
pub(crate) fn run_under_way() -> Option<(Ticket, String)> {
    let ticket = std::env::var("AOF_TASK").ok()?.parse().ok()?;
    let run = std::env::var("AOF_RUN").ok().filter(|run| run.parse::<CompletionId>().is_ok())?;
    Some((ticket, run))
}

/// Returns pairs as an object; a later pair of the same key counts.
pub(crate) fn object(pairs: &[(String, serde_json::Value)]) -> Map {
    pairs.iter().cloned().collect()
}
