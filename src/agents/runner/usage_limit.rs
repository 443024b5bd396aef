//! Usage limits: distinguishes the error of a program at its limit from other errors, and reads when the limit ends. A time that is too
//! early does no harm: the program reports the limit again.

use std::env;
use std::time::Duration;

use jiff::civil::Time;
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::TimeZone;
use jiff::{Span, ToSpan};
use serde_json::json;

use crate::domain::{Digest, Launch, Timestamp};
use crate::project::active_rules::InForce;
use crate::project::workspace::Workspace;
use crate::storage::header_cache::{Pauses, ProgramPause};
use crate::storage::lock::FileLock;
use crate::storage::runs::{RunEnding, RunRecord, Runs};
use crate::storage::{Paths, StoreError};
use crate::tasks::headers::spending::DayBudget;

/// A usage limit that a program met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UsageLimit {
    /// The message of the error.
    pub why: String,
    /// All words that may tell when the limit ends.
    pub words: String,
}

/// Parts of the names of errors at a limit, as lower-case letters.
const NAMES: &str = "ratelimit usagelimit quota exhausted";
/// Names of limits.
const LIMITS: &str = "usage limit|rate limit|rate-limit|rate_limit|quota|resource_exhausted|session limit|hour limit|daily limit|weekly limit|monthly limit|your limit|extra usage";
/// Words for a limit that was reached, unlike those of a warning that it is near.
const REACHED: &str = "hit|reached|exceed|exhaust|out of| reset|again|retry|429|too many";

impl UsageLimit {
    /// Returns an error with this status, name and message as a limit, if it is one. An overload is not a limit.
    pub(crate) fn detect(status: Option<u64>, name: Option<&str>, message: &str) -> Option<Self> {
        let message = &message[..message.floor_char_boundary(4096)];
        let lower = message.to_ascii_lowercase();
        let has = |words: &str| words.split('|').any(|word| lower.contains(word));
        let name = name.unwrap_or_default().replace(|c: char| !c.is_ascii_alphabetic(), "");
        let name = name.to_ascii_lowercase();
        let is_overload =
            matches!(status, Some(503 | 529)) || has("overload") || name.contains("overload");
        let is_named = NAMES.split(' ').any(|known| name.contains(known));
        let is_refused = (status == Some(429) || has("429")) && has("retry-after|retry after");
        let is_described = has(LIMITS) && has(REACHED) || has("limit") && has(" resets ");
        if is_overload || !(is_named || is_refused || is_described && !has("approaching|close to"))
        {
            return None;
        }
        let why =
            if message.trim().is_empty() { "it does not say more" } else { message }.to_owned();
        Some(Self { why, words: message.to_owned() })
    }

    /// Adds words about the end of the limit, which have precedence over the others.
    pub(crate) fn with_reset(self, reset: &str) -> Self {
        Self { words: format!("{reset}; {}", self.words), ..self }
    }

    /// Returns the end of the limit, if the words contain it.
    pub(crate) fn ends(&self, now: Timestamp) -> Option<Timestamp> {
        reset_time(&self.words, now)
    }
}

/// The shortest and the longest pause of a program.
const SHORTEST: Duration = Duration::from_mins(1);
const LONGEST: Duration = Duration::from_hours(8 * 24);
/// The pause at a limit without a known end: it doubles each time, up to the longest.
const FIRST_GUESS: Duration = Duration::from_mins(15);
const LONGEST_GUESS: Duration = Duration::from_hours(2);

/// Returns the pause of a program that has met a limit. `before` is its last pause, which may not have ended.
fn pause(
    program: String,
    ends: Option<Timestamp>,
    why: String,
    before: Option<ProgramPause>,
    now: Timestamp,
) -> ProgramPause {
    let guesses = before.as_ref().map_or(0, |before| before.guesses);
    let (until, guesses) = match (ends, before.filter(|before| before.until > now)) {
        (Some(ends), _) => (ends.clamp(now + SHORTEST, now + LONGEST), 0),
        (None, Some(before)) => (before.until, guesses),
        (None, None) => {
            (now + (FIRST_GUESS * (1 << guesses.min(3))).min(LONGEST_GUESS), guesses + 1)
        }
    };
    ProgramPause { program, until, guesses, why }
}

/// Returns the key of a program's pause. Agents with the same program, variables and home share a limit.
fn pause_key(launch: &Launch) -> Digest {
    let mut variables = launch.env.clone();
    variables.sort();
    let home = env::var_os("HOME").unwrap_or_default();
    let parts = json!([program_name(launch), variables, home.to_string_lossy()]);
    Digest::of(parts.to_string().as_bytes())
}

/// Returns the program that is started, as its command names it.
fn program_name(launch: &Launch) -> &str {
    launch.command.first().map_or(launch.preset.as_str(), String::as_str)
}

/// Returns the pause of a program that is at its usage limit.
pub(crate) fn find_pause(paths: &Paths, launch: &Launch, now: Timestamp) -> Option<ProgramPause> {
    Pauses::last(paths, pause_key(launch).as_str()).filter(|pause| pause.until > now)
}

/// The place of a run among those of its program.
pub(crate) enum RunPlace {
    /// The runs of the program are not limited.
    Unlimited,
    /// Taken until this is dropped.
    Ours { _lock: FileLock },
    /// As many runs as may be are at work.
    Full,
}

/// Takes a place for a run of a program.
pub(crate) fn take_place(paths: &Paths, launch: &Launch) -> Result<RunPlace, StoreError> {
    let Some(most) = launch.parallel else { return Ok(RunPlace::Unlimited) };
    let key = pause_key(launch);
    let lock = Runs::at(paths).take_place(&key.as_str()[..16], most)?;
    Ok(lock.map_or(RunPlace::Full, |lock| RunPlace::Ours { _lock: lock }))
}

/// Returns the pause of all programs until midnight, if the budget of the day is used up.
pub(crate) fn day_pause(workspace: &Workspace, in_force: &InForce) -> Option<ProgramPause> {
    let day = DayBudget::read(workspace, in_force).filter(DayBudget::is_spent)?;
    Some(ProgramPause::of_budget(day.ends, format!("spent {}", day.budget.words(&day.spent))))
}

/// Begins the pause of a program that met its usage limit. A run that met none deletes the record of the last pause.
pub(crate) fn note_limit(
    paths: &Paths,
    launch: &Launch,
    record: &RunRecord,
) -> Result<Option<ProgramPause>, StoreError> {
    let (Some(end), key) = (&record.end, pause_key(launch)) else { return Ok(None) };
    let before = Pauses::last(paths, key.as_str());
    let is_over = before.as_ref().is_some_and(|before| before.until <= record.started);
    let limited = (end.how == RunEnding::Limited).then(|| {
        let (program, why) = (program_name(launch).to_owned(), record.failure_reason());
        pause(program, end.until, why, before, end.at)
    });
    if limited.is_some() || is_over && (end.how == RunEnding::Verdict || record.has_failed()) {
        Pauses::set(paths, key.as_str(), limited.as_ref())?;
    }
    Ok(limited)
}

/// Words that precede the end of a limit.
const MARKS: [&str; 6] = ["reset", "again", "retry", "until", "available", "|"];
/// The formats of times, the longest first; words without information are removed before.
const FORMATS: [&str; 9] = [
    "%b %d %Y %I:%M%p",
    "%b %d %I:%M%p",
    "%b %d %I%p",
    "%d %b %Y %H:%M:%S",
    "%d %b %H:%M",
    "%Y-%m-%d %H:%M",
    "%I:%M%p",
    "%I%p",
    "%H:%M",
];
/// The number of words that may precede a time, and that a time may have.
const SKIPPED: usize = 4;
const LENGTH: usize = 8;

/// Returns the first time that follows one of the marks.
fn reset_time(words: &str, now: Timestamp) -> Option<Timestamp> {
    let lower = words.to_ascii_lowercase();
    let marks = MARKS.iter().flat_map(|mark| lower.match_indices(mark));
    let mut places: Vec<usize> = marks.map(|(at, mark)| at + mark.len()).collect();
    places.sort_unstable();
    places.into_iter().find_map(|at| {
        // A number alone means seconds only in `retry-after: 60`.
        let is_after = lower[at..].trim_start_matches(['-', '_', ' ']).starts_with("after");
        let words = time_words(&lower[at..]);
        let starts = 0..words.len().min(SKIPPED);
        starts.into_iter().find_map(|start| time_at(&words[start..], is_after && start < 2, now))
    })
}

/// Returns the words of a text that may belong to a time: `28th` is `28`, `3 pm` is `3pm`, `November` is `nov`.
fn time_words(text: &str) -> Vec<String> {
    let is_space = |c: char| c.is_whitespace() || !c.is_ascii() || "(),;\"'=[]{}|`".contains(c);
    let mut words: Vec<String> = Vec::new();
    for word in text.split(is_space).take(40).map(|word| word.trim_matches([':', '.', '-'])) {
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        match &word[digits.len()..] {
            "" | "and" | "at" | "on" | "the" if digits.is_empty() => {}
            half @ ("am" | "pm") if digits.is_empty() => {
                words.last_mut().into_iter().for_each(|last| last.push_str(half));
            }
            "st" | "nd" | "rd" | "th" if !digits.is_empty() => words.push(digits.to_owned()),
            month if digits.is_empty() && "january february march april june july august september october november december".split(' ').any(|name| name == month) => {
                words.push(month[..3].to_owned());
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Returns the time that these words begin with. If `is_after`, a bare number means seconds.
fn time_at(words: &[String], is_after: bool, now: Timestamp) -> Option<Timestamp> {
    let (first, joined) = (&words[0], words[..words.len().min(LENGTH)].join(" "));
    let lengths = (1..=words.len().min(LENGTH)).rev().filter(|_| !first.contains(':'));
    if let Some(span) =
        lengths.map(|count| words[..count].join(" ").parse::<Span>()).find_map(Result::ok)
    {
        return now.to_zoned(TimeZone::UTC).checked_add(span).ok().map(|at| at.timestamp());
    }
    match (first.parse::<i64>(), first.len()) {
        (Ok(seconds), 9..=10) => return Timestamp::from_second(seconds).ok(),
        (Ok(millis), 12..=13) => return Timestamp::from_millisecond(millis).ok(),
        (Ok(seconds), 1..=7) if is_after => return now.checked_add(seconds.seconds()).ok(),
        _ => {}
    }
    if let Ok(at) = first.parse() {
        return Some(at);
    }
    let parse = |form: &&str| BrokenDownTime::parse_prefix(form, &joined).ok();
    let (mut parts, length) = FORMATS.iter().find_map(parse)?;
    let zone = match joined[length..].split_whitespace().next() {
        Some("utc" | "gmt" | "z") => TimeZone::UTC,
        Some(name) if name.contains('/') => TimeZone::get(name).ok()?,
        _ => TimeZone::system(),
    };
    let today = now.to_zoned(zone.clone()).date();
    let time = parts.to_time().unwrap_or(Time::midnight());
    let has_day = parts.day().is_some();
    let step = match (has_day, parts.year()) {
        (true, Some(_)) => Span::new(),
        (true, None) => 1.year(),
        (false, _) => 1.day(),
    };
    if parts.year().is_none() {
        parts.set_year(Some(today.year())).ok()?;
    }
    let date = if has_day { parts.to_date().ok()? } else { today };
    let at = |date: jiff::civil::Date| {
        Some(date.to_datetime(time).to_zoned(zone.clone()).ok()?.timestamp())
    };
    at(date).filter(|at| *at > now).or_else(|| at(date.checked_add(step).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-27T16:00:00Z";

    fn now() -> Timestamp {
        NOW.parse().unwrap()
    }

    #[test]
    fn the_end_of_a_limit_is_read_from_the_words_of_tools() {
        for (words, ends) in [
            ("You have hit your usage limit · resets 9:20pm (UTC)", "2026-11-27T21:20:00Z"),
            ("You've hit your limit · resets 3am (Europe/Berlin)", "2026-11-28T02:00:00Z"),
            ("5-hour limit reached ∙ resets 4pm (UTC)", "2026-11-28T16:00:00Z"),
            ("limit reached. resets 4:01 PM (America/New_York)", "2026-11-27T21:01:00Z"),
            ("Weekly limit reached · resets Nov 30, 3pm (UTC)", "2026-11-30T15:00:00Z"),
            ("resets Nov 26 at 3pm (UTC)", "2027-11-26T15:00:00Z"),
            ("resets 30 Nov 15:00 UTC", "2026-11-30T15:00:00Z"),
            ("limit. Please try again at 3:00 PM UTC.", "2026-11-28T15:00:00Z"),
            ("Please try again at Nov 28th, 2026 3:00 AM (utc)", "2026-11-28T03:00:00Z"),
            ("try again at December 1st, 2026 12:30 PM UTC", "2026-12-01T12:30:00Z"),
            ("resets at 2026-11-28T03:00:00Z", "2026-11-28T03:00:00Z"),
            ("resets at 2026-11-28T03:00:00+01:00.", "2026-11-28T02:00:00Z"),
            ("resets on 2026-11-28 03:00 UTC", "2026-11-28T03:00:00Z"),
            ("try again in 2h 30m", "2026-11-27T18:30:00Z"),
            ("Try again in 2 days 3 hours 5 minutes.", "2026-11-29T19:05:00Z"),
            ("try again in 1 hour and 5 minutes", "2026-11-27T17:05:00Z"),
            ("Your quota will reset after 18h31m10s.", "2026-11-28T10:31:10Z"),
            ("Please try again in 1.2s. Visit us", "2026-11-27T16:00:01.2Z"),
            ("Claude AI usage limit reached|1795838400", "2026-11-28T04:00:00Z"),
            ("{\"resetsAt\":1795838400,\"x\":1}", "2026-11-28T04:00:00Z"),
            ("{\"resets_at\": 1795838400000}", "2026-11-28T04:00:00Z"),
            ("429 Too Many Requests, retry-after: 3600", "2026-11-27T17:00:00Z"),
            ("Retry-After: Sat, 28 Nov 2026 07:28:00 GMT", "2026-11-28T07:28:00Z"),
            ("exceeded retry limit, last status: 429, retry-after: 3600", "2026-11-27T17:00:00Z"),
            ("retry after 120 seconds", "2026-11-27T16:02:00Z"),
        ] {
            let found = reset_time(words, now());
            assert_eq!(found.map(|at| at.to_string()).as_deref(), Some(ends), "{words}");
        }
        for words in [
            "",
            "resets",
            "limit reached",
            "try again later",
            "Please retry.",
            "resets soon (UTC)",
            "resets 25:99",
            "resets 3am (Nowhere/City)",
            "a | b | 3 files",
            "upgrade to Pro or try again",
        ] {
            assert_eq!(reset_time(words, now()), None, "{words}");
        }
    }

    #[test]
    fn a_limit_differs_from_other_errors() {
        for (status, name, message, is_limit) in [
            (None, None, "You have hit your usage limit · resets 9:20pm (UTC)", true),
            (None, None, "5-hour limit reached ∙ resets 7pm", true),
            (None, None, "You're out of extra usage · resets 3am", true),
            (None, None, "You've hit your Opus limit · resets 3am", true),
            (None, None, "Claude AI usage limit reached|1795838400", true),
            (None, None, "Quota exceeded for quota metric 'Requests'", true),
            (None, None, "rate limit exceeded", true),
            (None, Some("rate_limit"), "", true),
            (None, Some("TerminalQuotaError"), "x", true),
            (Some(429), None, "x, retry-after: 60", true),
            (None, None, "http 429, retry-after: 60", true),
            (Some(429), None, "too many requests", false),
            (Some(429), None, "overloaded, retry-after: 60", false),
            (Some(529), Some("overloaded_error"), "rate limit exceeded", false),
            (None, None, "Approaching usage limit · resets at 7pm", false),
            (None, None, "the context limit is exceeded", false),
            (None, None, "`claude` stopped at its limit of turns", false),
            (None, None, "segmentation fault", false),
        ] {
            let found = UsageLimit::detect(status, name, message);
            assert_eq!(found.is_some(), is_limit, "{status:?} {name:?} {message}");
        }
    }

    #[test]
    fn a_pause_is_bounded_and_doubles_while_no_end_is_named() {
        let at = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        let of = |ends, before| pause("claude".to_owned(), ends, String::new(), before, now());
        for (ends, until) in [
            ("2026-11-27T16:00:10Z", "2026-11-27T16:01:00Z"),
            ("2026-11-01T00:00:00Z", "2026-11-27T16:01:00Z"),
            ("2026-11-28T03:00:00Z", "2026-11-28T03:00:00Z"),
            ("2027-11-28T03:00:00Z", "2026-12-05T16:00:00Z"),
        ] {
            assert_eq!(of(at(ends), None).until.to_string(), until, "{ends}");
        }
        let mut before = None;
        for minutes in [15, 30, 60, 120, 120, 120] {
            let pause = of(None, before);
            assert_eq!(pause.until, now() + Duration::from_mins(minutes));
            before = Some(ProgramPause { until: now(), ..pause });
        }
        // A limit that another agent of the program meets during the pause does not lengthen it.
        let first = of(None, None);
        assert_eq!(of(None, Some(first.clone())), first);
        assert_eq!(of(at("2026-11-27T20:00:00Z"), Some(first)).guesses, 0);
    }
}
