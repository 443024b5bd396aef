//! Arguments that several commands share, and how values are read from the command line.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anstream::ColorChoice;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args};

use crate::domain::{AgentId, CompletionId, Map, Period, Ticket, Unknown};
use crate::files::json;
use crate::git::Asking;
use crate::project::workspace::Network;
use crate::setup::template::Template;
use crate::tasks::plan::DryRun;
use crate::tasks::signing::Signing;

/// Who acts, when `--agent` does not say it.
pub(crate) const AGENT: &str = "AOF_AGENT";

// Options of every command.
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
    #[arg(long, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    #[arg(value_parser = words(COLORS), global = true)]
    pub color: ColorChoice,
    /// Say more, and log what changes; twice: log what is read too
    #[arg(short, long, action = ArgAction::Count, global = true)]
    pub verbose: u8,
    /// The format of the log that `-v` and `aof watch` write: `text` or `json`
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true)]
    #[arg(value_parser = words(LOG_FORMATS), global = true)]
    pub log_format: LogFormat,
    /// Wait this long for another command or for git
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = wait, global = true)]
    pub wait: Duration,
}

const COLORS: Words<ColorChoice> = &[
    ("auto", ColorChoice::Auto, "At a terminal, unless `NO_COLOR` is set"),
    ("always", ColorChoice::Always, "Always"),
    ("never", ColorChoice::Never, "Never"),
];

const LOG_FORMATS: Words<LogFormat> =
    &[("text", LogFormat::Text, "For people"), ("json", LogFormat::Json, "One JSON object a line")];

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

// No doc comment: clap would take it for the description of each command that has these options.
// Whether a command only shows what it would do.
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

// Whether the remote of a synced project is asked before work is claimed.
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

// Who acts.
#[derive(Debug, Clone, Args)]
pub(crate) struct ActingAgent {
    /// The agent that acts
    #[arg(long, value_name = "ID", env = agent_variable(), hide_env_values = true)]
    pub agent: Option<AgentId>,
}

/// Returns the variable that names the agent, unless it is empty: in a shell, `AOF_AGENT= aof ...` unsets it.
pub(crate) fn agent_variable() -> Option<&'static str> {
    std::env::var_os(AGENT).is_none_or(|value| !value.is_empty()).then_some(AGENT)
}

// How completions are signed, where org.yaml requires it.
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

/// The words that an option takes, each with its value and its help; one without help is a hidden alias.
pub(crate) type Words<T> = &'static [(&'static str, T, &'static str)];

/// Returns a parser for one of these words.
pub(crate) fn words<T: Copy + Send + Sync + 'static>(
    words: Words<T>,
) -> impl TypedValueParser<Value = T> {
    let shown = words
        .iter()
        .map(|(word, _, help)| PossibleValue::new(*word).help(*help).hide(help.is_empty()));
    PossibleValuesParser::new(shown).try_map(move |given| {
        words.iter().find(|(word, ..)| *word == given).map(|(_, value, _)| *value).ok_or(given)
    })
}

/// Returns a parser for one of these words, which need no help.
pub(crate) fn one_of<T>(
    words: impl IntoIterator<Item = &'static str>,
) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = Unknown> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words).try_map(|word| word.parse::<T>())
}

/// Returns a parser for the name of a template; `--help` says what each is for.
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
    let period: Period =
        text.parse().map_err(|fault: crate::domain::PeriodFault| fault.to_string())?;
    Ok(Duration::from_secs(period.seconds()))
}

/// Reads `KEY=VALUE`.
pub(crate) fn key_value(text: &str) -> Result<(String, serde_json::Value), String> {
    let (key, value) = text.split_once('=').ok_or("write it as `KEY=VALUE`")?;
    if key.is_empty() {
        return Err("the key before `=` is missing".to_owned());
    }
    Ok((key.to_owned(), value_of(value)))
}

/// Reads the context of a task: `KEY=VALUE`, or an object.
pub(crate) fn context(text: &str) -> Result<Vec<(String, serde_json::Value)>, String> {
    if text.trim_start().starts_with('{') {
        let object = json::typed(text).map_err(|error| format!("it is no JSON object: {error}"))?;
        return Ok(object.as_object().cloned().unwrap_or_default().into_iter().collect());
    }
    key_value(text).map(|pair| vec![pair])
}

/// Returns a typed value: JSON where it is JSON (a number, `true`, a list), else a text. A number that JSON would write differently
/// is a text as well: `1.10` is a version.
pub(crate) fn value_of(text: &str) -> serde_json::Value {
    json::typed(text).unwrap_or_else(|_| text.into())
}

/// Returns the visit and the run that a runner started this process for.
pub(crate) fn run_under_way() -> Option<(Ticket, String)> {
    let ticket = std::env::var("AOF_TASK").ok()?.parse().ok()?;
    let run = std::env::var("AOF_RUN").ok().filter(|run| run.parse::<CompletionId>().is_ok())?;
    Some((ticket, run))
}

/// Returns pairs as an object; of two pairs with one key the later counts.
pub(crate) fn object(pairs: &[(String, serde_json::Value)]) -> Map {
    pairs.iter().cloned().collect()
}
