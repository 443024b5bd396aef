//! Arguments that several commands share, and the parsing of values on the command line.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::Duration;

use anstream::ColorChoice;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args};
use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::domain::{
    AgentId, CompletionId, Fix, Map, Period, PeriodFault, Ticket, Timestamp, Unknown, length,
};
use crate::files::json;
use crate::git::PromptPlace;
use crate::project::workspace::Network;
use crate::setup::template::Template;
use crate::system::terminal::all_quoted;
use crate::tasks::complete::Signing;
use crate::tasks::plan::DryRun;
use crate::tasks::view::phrases::{dated, moment};

/// The environment variable that names the agent, unless `--agent` does.
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
    /// Do not show long texts in a pager
    #[arg(long, global = true)]
    pub no_pager: bool,
    /// Say more, and log what changes; twice: log what is read too
    #[arg(short, long, action = ArgAction::Count, global = true)]
    pub verbose: u8,
    /// The format of the log that `-v` and `aof watch` write: `text` or `json`
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true)]
    #[arg(value_parser = words(LOG_FORMATS), global = true)]
    pub log_format: LogFormat,
    /// Wait this long for another command or for git
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration, global = true)]
    pub wait: Duration,
}

const COLORS: Words<ColorChoice> = &[
    ("auto", ColorChoice::Auto, "At a terminal, unless `NO_COLOR` is set"),
    ("always", ColorChoice::Always, "Always"),
    ("never", ColorChoice::Never, "Never"),
];

const LOG_FORMATS: Words<LogFormat> =
    &[("text", LogFormat::Text, "For people"), ("json", LogFormat::Json, "One JSON object a line")];

/// The format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

// The option of a dry run. No doc comment: clap would use it as the description of each command with these options.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct DryRunOption {
    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

impl DryRunOption {
    pub(crate) fn mode(self) -> DryRun {
        if self.dry_run { DryRun::Yes } else { DryRun::No }
    }
}

// The option that decides whether the remote confirms claims in a synced project.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct OfflineOption {
    /// In a synced project: do not ask the remote whether somebody elsewhere has it
    #[arg(long)]
    offline: bool,
}

impl OfflineOption {
    pub(crate) fn network(self) -> Network {
        if self.offline { Network::Spared } else { Network::Used }
    }
}

// The agent who acts.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ActingAgent {
    /// The agent that acts
    #[arg(long, value_name = "ID", env = agent_variable(), hide_env_values = true)]
    pub agent: Option<AgentId>,
}

/// Returns the variable that names the agent, unless it is empty: in a shell, `AOF_AGENT= aof ...` unsets it.
pub(crate) fn agent_variable() -> Option<&'static str> {
    std::env::var_os(AGENT).is_none_or(|value| !value.is_empty()).then_some(AGENT)
}

/// Returns the agent that the environment names.
pub(crate) fn agent_of_environment() -> Option<AgentId> {
    std::env::var(AGENT).ok()?.parse().ok()
}

/// The largest number of characters of a text that a message repeats.
const LONGEST_TEXT: usize = 150;

/// Returns the command as it was typed, with long texts cut.
pub(crate) fn typed_command() -> String {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    for word in words.iter_mut().filter(|word| word.contains(char::is_whitespace)) {
        if let Some((end, _)) = word.char_indices().nth(LONGEST_TEXT) {
            word.replace_range(end.., "...");
        }
    }
    format!("aof {}", all_quoted(words.iter().map(String::as_str)))
}

/// Returns the agent that `--agent` named, unless the environment names it as well.
pub(crate) fn given_agent() -> Option<AgentId> {
    let mut words = std::env::args_os().skip_while(|word| word != "--agent").skip(1);
    let agent: AgentId = words.next()?.to_str()?.parse().ok()?;
    (agent_of_environment().as_ref() != Some(&agent)).then_some(agent)
}

/// Returns a proposed operation as a command, in the name of the agent that `--agent` named.
pub(crate) fn command(fix: &Fix) -> String {
    given_agent().map_or_else(|| fix.to_string(), |agent| fix.clone().by(&agent).to_string())
}

// The options for signing completions, where org.yaml requires it.
#[derive(Debug, Clone, Args)]
pub(crate) struct SignWith {
    /// Sign with the SSH key in this file
    #[arg(long, value_name = "FILE")]
    sign_with: Option<PathBuf>,
}

impl SignWith {
    pub(crate) fn signing(&self) -> Signing<'_> {
        let asking = if std::io::stdin().is_terminal() {
            PromptPlace::Terminal
        } else {
            PromptPlace::Window
        };
        Signing { key_file: self.sign_with.as_deref(), asking }
    }
}

/// The words that an option takes, each with its value and its help; a word without help is a hidden alias.
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

/// Returns a parser for one of these words, which have no help.
pub(crate) fn one_of<T>(
    words: impl IntoIterator<Item = &'static str>,
) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = Unknown> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words).try_map(|word| word.parse::<T>())
}

/// Returns a parser for the name of a template; `--help` shows the purpose of each.
pub(crate) fn template() -> impl TypedValueParser<Value = Template> {
    let named =
        |template: &Template| PossibleValue::new(template.as_str()).help(template.summary());
    PossibleValuesParser::new(Template::ALL.iter().map(named))
        .try_map(|word| word.parse::<Template>())
}

/// Parses a time as in `10s`; `0` is none.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    if matches!(text, "0" | "0s") {
        return Ok(Duration::ZERO);
    }
    let period: Period =
        text.parse().map_err(|fault: crate::domain::PeriodFault| fault.to_string())?;
    Ok(Duration::from_secs(period.seconds()))
}

/// Parses `KEY=VALUE`.
pub(crate) fn key_value(text: &str) -> Result<(String, serde_json::Value), String> {
    let (key, value) = text.split_once('=').ok_or("write it as `KEY=VALUE`")?;
    if key.is_empty() {
        return Err("the key before `=` is missing".to_owned());
    }
    Ok((key.to_owned(), value_of(value)))
}

/// Parses the context of a task: `KEY=VALUE`, several with commas between them, or an object.
pub(crate) fn context(text: &str) -> Result<Vec<(String, serde_json::Value)>, String> {
    if text.trim_start().starts_with('{') {
        let object = json::typed(text)
            .map_err(|error| format!("it is not JSON: {}", json::reason(&error)))?;
        return Ok(object.as_object().cloned().unwrap_or_default().into_iter().collect());
    }
    pairs(text).into_iter().map(key_value).collect()
}

/// Splits at each comma that another `KEY=` follows; a value in JSON is never split.
fn pairs(text: &str) -> Vec<&str> {
    let (mut list, mut start) = (Vec::new(), 0);
    for (at, _) in text.match_indices(',') {
        let rest = &text[at + 1..];
        let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let key = rest.find(|c| !is_key(c)).unwrap_or(0);
        let value = text[start..at].split_once('=').map_or("", |(_, value)| value.trim_start());
        if key > 0 && rest[key..].starts_with('=') && !value.starts_with(['{', '[', '"']) {
            list.push(&text[start..at]);
            start = at + 1;
        }
    }
    list.push(&text[start..]);
    list
}

/// Returns a value from the command line: JSON if it is valid JSON (a number, `true`, a list), otherwise a text. A number that JSON
/// would write differently is also a text: `1.10` is a version.
pub(crate) fn value_of(text: &str) -> serde_json::Value {
    json::typed(text).unwrap_or_else(|_| text.into())
}

/// Returns the visit and the run that a runner started this process for.
pub(crate) fn current_run() -> Option<(Ticket, String)> {
    let ticket = std::env::var("AOF_TASK").ok()?.parse().ok()?;
    let run = std::env::var("AOF_RUN").ok().filter(|run| run.parse::<CompletionId>().is_ok())?;
    Some((ticket, run))
}

/// Returns the session that this process belongs to, by its environment.
pub(crate) fn current_session() -> Option<String> {
    let named = std::env::var("AOF_SESSION").ok().filter(|name| !name.trim().is_empty());
    named.or_else(|| current_run().map(|(_, run)| run))
}

/// Returns pairs as an object; of two pairs with the same key, the later one counts.
pub(crate) fn object(pairs: &[(String, serde_json::Value)]) -> Map {
    pairs.iter().cloned().collect()
}

/// The time of the commit that this process shows, if it shows one.
static SHOWN: OnceLock<Timestamp> = OnceLock::new();

/// Sets the time of a commit as the current time of this process, so that its output depends only on the commit.
pub(crate) fn show_as_of(time: Timestamp) {
    SHOWN.get_or_init(|| time);
}

/// Returns the current time. Tests of a debug build set it with `AOF_NOW`.
pub(crate) fn now() -> Timestamp {
    if let Some(shown) = SHOWN.get() {
        return *shown;
    }
    #[cfg(debug_assertions)]
    if let Some(now) = std::env::var("AOF_NOW").ok().and_then(|text| text.parse().ok()) {
        return now;
    }
    Timestamp::now()
}

/// Returns the time from `start` to `end`; `0s` if the clocks disagree.
pub(crate) fn between(start: Timestamp, end: Timestamp) -> String {
    length(u64::try_from(end.as_second() - start.as_second()).unwrap_or(0))
}

/// Returns an exact time: at a terminal in the person's time zone, in the format of git's log; elsewhere in UTC for programs.
pub(crate) fn exact_time(at: Timestamp) -> String {
    if !std::io::stdout().is_terminal() {
        return Timestamp::from_second(at.as_second()).unwrap_or(at).to_string();
    }
    at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M %z").to_string()
}

/// Returns a time in the person's time zone: at a terminal `14:02`, `yesterday 14:02` or `Nov 3, 14:02`, elsewhere always with the day.
pub(crate) fn local_time(at: Timestamp) -> String {
    let words = if std::io::stdout().is_terminal() { moment } else { dated };
    words(at, now(), &TimeZone::system())
}

/// Returns a sentence with its times in the format of [`local_time`]: `ended it at 14:02`, `yesterday 14:02`, `on Nov 3, 14:02`.
pub(crate) fn with_local_times(text: &str) -> String {
    with_times(text, local_time)
}

/// Returns a sentence with its times in another format.
pub(crate) fn with_times(text: &str, format: fn(Timestamp) -> String) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let bare = word.trim_end_matches([',', ';', '.', ':', ')']);
        let Ok(at) = bare.parse().map(format) else {
            words.push(word.to_owned());
            continue;
        };
        if words.last().is_some_and(|word| word == "at") {
            match at.chars().next() {
                Some('0'..='9') | None => {}
                Some('a'..='z') => drop(words.pop()),
                _ => words.splice(words.len() - 1.., ["on".to_owned()]).for_each(drop),
            }
        }
        words.push(at + &word[bare.len()..]);
    }
    words.join(" ")
}

/// A time in the past, as people type it: `30d`, `2026-11-01`, `2026-11-01T09:00:00Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PastTime {
    For(Period),
    At(Timestamp),
}

impl PastTime {
    /// Returns the point in time, relative to `now`.
    pub(crate) fn from(self, now: Timestamp) -> Timestamp {
        match self {
            Self::For(period) => {
                let seconds = i64::try_from(period.seconds()).unwrap_or(i64::MAX);
                now.checked_sub(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MIN)
            }
            Self::At(time) => time,
        }
    }
}

impl FromStr for PastTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(time) = text.parse() {
            return Ok(Self::At(time));
        }
        // A day, and a time without a zone, are in the person's time zone.
        if let Ok(local) = text.parse::<DateTime>() {
            let start = local.to_zoned(TimeZone::system()).map_err(|error| error.to_string())?;
            return Ok(Self::At(start.timestamp()));
        }
        let or = "or a day or time, as in `2026-11-01` or `2026-11-01T09:00:00Z`";
        text.parse().map(Self::For).map_err(|fault: PeriodFault| format!("{fault}, {or}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_counts_back_from_now_and_a_time_is_a_time() {
        let now: Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
        let from = |text: &str| text.parse::<PastTime>().map(|since| since.from(now).to_string());
        assert_eq!(from("2d"), Ok("2026-11-20T12:00:00Z".to_owned()));
        assert_eq!(from("1h30m"), Ok("2026-11-22T10:30:00Z".to_owned()));
        assert_eq!(from("2026-11-01T09:00:00Z"), Ok("2026-11-01T09:00:00Z".to_owned()));
        let day: Timestamp = from("2026-11-01").unwrap().parse().unwrap();
        assert_eq!(day.to_zoned(TimeZone::system()).date().to_string(), "2026-11-01");
        assert_eq!(from("2026-11-01T00:00"), from("2026-11-01"));
        assert!(from("36500d").is_ok());
        for nonsense in ["", "yesterday", "30", "-2d", "2026-13-01", "2026-11-31", "0d"] {
            assert!(from(nonsense).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn two_units_at_most_and_no_empty_ones() {
        for (seconds, text) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (119, "1m"),
            (3_600, "1h"),
            (16_200, "4h 30m"),
            (86_399, "23h 59m"),
            (86_400, "1d"),
            (90_000, "1d 1h"),
            (86_400 + 59, "1d"),
            (400 * 86_400, "400d"),
        ] {
            assert_eq!(length(seconds), text, "{seconds}");
        }
    }
}
