//! The phrases of lists, pages and boards about a task: how urgent it is, whose turn it is, when. One module for terminal and web.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::domain::{
    AgentId, Destination, Due, GateKind, Outcome, Priority, Status, TaskId, Timestamp, Workflow,
    distinct,
};
use crate::rules::{Rules, edges};
use crate::tasks::headers::summary::{NEW, TaskSummary, WAITING, clock};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const WEEK: i64 = 7 * DAY;

/// Returns an age for a table, as in `33m`, `5h`, `3d`, `2w`; `now` below a minute, also if the clocks disagree.
pub(crate) fn short_age(since: Timestamp, now: Timestamp) -> String {
    match now.as_second() - since.as_second() {
        ..MINUTE => "now".to_owned(),
        seconds @ MINUTE..HOUR => format!("{}m", seconds / MINUTE),
        seconds @ HOUR..DAY => format!("{}h", seconds / HOUR),
        seconds if seconds < 2 * WEEK => format!("{}d", seconds / DAY),
        seconds => format!("{}w", seconds / WEEK),
    }
}

/// Returns the name of an outcome as an act: `Approve`, `Send back`, `Done`, `Blocked`. Another decision has its name.
pub(crate) fn act(outcome: &str, approves: bool, rejects: bool) -> String {
    match outcome {
        _ if approves => "Approve".to_owned(),
        _ if rejects => "Send back".to_owned(),
        _ if outcome == Outcome::Complete.as_str() => "Done".to_owned(),
        _ if outcome == Outcome::Blocked.as_str() => "Blocked".to_owned(),
        _ if outcome == Outcome::NeedsReview.as_str() => "Send back".to_owned(),
        decision => decision.replace('_', " "),
    }
}

/// Returns the act as one that was done, with the place that it led to: `Approved → done`.
pub(crate) fn acted(label: &str, leads: &str) -> String {
    let done = match label {
        "Approve" => "Approved",
        "Send back" => "Sent back",
        other => other,
    };
    if leads.is_empty() { done.to_owned() } else { format!("{done} → {leads}") }
}

/// Returns the next gates at which somebody works, or `done`. A gate that decides by itself stands for its own targets.
pub(crate) fn leads_to(workflow: &Workflow, to: &Destination) -> String {
    let (mut places, mut seen, mut open) = (Vec::new(), Vec::new(), vec![to.clone()]);
    let ways = edges(workflow);
    while let Some(place) = open.pop() {
        let gate = match &place {
            Destination::Gate(gate) => workflow.gate(gate).map(|(_, gate)| gate),
            Destination::End | Destination::Cancelled | Destination::Fail => None,
        };
        match gate.filter(|gate| gate.kind == GateKind::Condition) {
            Some(gate) if !seen.contains(&gate.id) => {
                seen.push(gate.id.clone());
                let next = ways.iter().filter(|way| way.from == gate.id);
                open.extend(next.rev().map(|way| way.to.clone()));
            }
            Some(_) => {}
            None if place == Destination::End => places.push("done".to_owned()),
            None => places.push(place.noun().to_owned()),
        }
    }
    distinct(places).collect::<Vec<_>>().join(" or ")
}

/// Returns a due date in at most 8 columns: `today`, `Sat` within six days, `Dec 15`, `Dec 2027`, `5h late`, `2d late`, `9w late`.
pub(crate) fn due(due: Due, now: Timestamp, zone: &TimeZone) -> String {
    let ends = due.ends(zone);
    let today = now.to_zoned(zone.clone()).date();
    let day = match due {
        Due::Day(day) => day,
        Due::At(at) => at.to_zoned(zone.clone()).date(),
    };
    match days_between(today, day) {
        days if ends <= now => match (now.as_second() - ends.as_second(), -days) {
            (..HOUR, 0) => "late".to_owned(),
            (seconds, 0) => format!("{}h late", seconds / HOUR),
            (_, days @ 1..14) => format!("{days}d late"),
            (_, days) => format!("{}w late", days / 7),
        },
        0 => "today".to_owned(),
        1..7 => day.strftime("%a").to_string(),
        _ if day.year() == today.year() => day.strftime("%b %-d").to_string(),
        _ => day.strftime("%b %Y").to_string(),
    }
}

/// Returns a time in the past for a sentence: `now`, `33 min ago`, `5 h ago`, `yesterday 14:02`, `Tue 14:02` within six days, `Nov 3`,
/// `Nov 3, 2025`.
pub(crate) fn ago(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let (then, today) = (at.to_zoned(zone.clone()), now.to_zoned(zone.clone()));
    match (now.as_second() - at.as_second(), days_between(then.date(), today.date())) {
        (..MINUTE, _) => "now".to_owned(),
        (seconds @ MINUTE..HOUR, _) => format!("{} min ago", seconds / MINUTE),
        (seconds, days) if days == 0 || seconds < 6 * HOUR => format!("{} h ago", seconds / HOUR),
        (_, 1) => then.strftime("yesterday %H:%M").to_string(),
        (_, 2..7) => then.strftime("%a %H:%M").to_string(),
        _ if then.year() == today.year() => then.strftime("%b %-d").to_string(),
        _ => then.strftime("%b %-d, %Y").to_string(),
    }
}

/// Returns a point in time: `14:02` today, `yesterday 14:02`, `tomorrow 14:02`, `Tue 14:02` within six days, `Nov 3, 14:02`,
/// `Nov 3, 2025, 14:02`.
pub(crate) fn moment(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let (then, today) = (at.to_zoned(zone.clone()), now.to_zoned(zone.clone()));
    let format = match days_between(then.date(), today.date()) {
        0 => "%H:%M",
        1 => "yesterday %H:%M",
        -1 => "tomorrow %H:%M",
        -6..7 => "%a %H:%M",
        _ => return dated(at, now, zone),
    };
    then.strftime(format).to_string()
}

/// Returns a point in time for a text that may be read on another day: `Nov 3, 14:02`, `Nov 3, 2025, 14:02`.
pub(crate) fn dated(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let (then, today) = (at.to_zoned(zone.clone()), now.to_zoned(zone.clone()));
    let format = if then.year() == today.year() { "%b %-d, %H:%M" } else { "%b %-d, %Y, %H:%M" };
    then.strftime(format).to_string()
}

/// Returns the heading of a day in a log: `Today`, `Yesterday`, `Tuesday` within six days, `November 3`, `November 3, 2025`.
pub(crate) fn day(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let (then, today) = (at.to_zoned(zone.clone()), now.to_zoned(zone.clone()));
    match days_between(then.date(), today.date()) {
        0 => "Today".to_owned(),
        1 => "Yesterday".to_owned(),
        2..7 => then.strftime("%A").to_string(),
        _ if then.year() == today.year() => then.strftime("%B %-d").to_string(),
        _ => then.strftime("%B %-d, %Y").to_string(),
    }
}

/// Returns a length of time in one unit: `30 s`, `11 min`, `16 h`, `3 d`, `2 w`.
pub(crate) fn lasting(seconds: u64) -> String {
    let unit = |length: i64| seconds / length.unsigned_abs();
    match i64::try_from(seconds).unwrap_or(i64::MAX) {
        ..MINUTE => format!("{seconds} s"),
        MINUTE..HOUR => format!("{} min", unit(MINUTE)),
        HOUR..DAY => format!("{} h", unit(HOUR)),
        some if some < 2 * WEEK => format!("{} d", unit(DAY)),
        _ => format!("{} w", unit(WEEK)),
    }
}

fn days_between(from: Date, to: Date) -> i32 {
    from.until(to).map_or(0, |span| span.get_days())
}

/// Returns the mark of a priority: `!!` critical, `!` high, `·` low.
pub(crate) fn mark(priority: Priority) -> &'static str {
    match priority {
        Priority::Critical => "!!",
        Priority::High => "!",
        Priority::Medium => "",
        Priority::Low => "·",
    }
}

/// Returns how many tasks are open, and in which states: `26 open: 3 in progress, 16 ready, 6 waiting, 1 blocked`.
pub(crate) fn counts(states: &BTreeMap<&'static str, usize>) -> String {
    let order = [Status::InProgress, Status::Ready].map(Status::as_str);
    let order = order.into_iter().chain([WAITING, Status::Blocked.as_str(), NEW]);
    let count = |state: &str| Some((states.get(state)?, state.replace('_', " ")));
    let parts: Vec<(&usize, String)> = order.filter_map(count).collect();
    let all: usize = parts.iter().map(|(count, _)| *count).sum();
    let parts: Vec<String> =
        parts.iter().map(|(count, state)| format!("{count} {state}")).collect();
    if all == 0 {
        "nothing is open".to_owned()
    } else {
        format!("{all} open: {}", parts.join(", "))
    }
}

/// Returns the word of a priority for people.
pub(crate) fn priority(priority: Priority) -> &'static str {
    match priority {
        Priority::Critical => "Critical",
        Priority::High => "High",
        Priority::Medium => "Normal",
        Priority::Low => "Low",
    }
}

/// The kind of a [`Turn`], by which a view chooses its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TurnKind {
    /// It is blocked, held, or failed.
    Stopped,
    /// It waits for the reader's decision.
    You,
    /// Somebody has it.
    Taken,
    /// Anyone of a role may take it, or it waits for another task.
    #[default]
    Open,
    /// It has ended.
    Ended,
}

/// The answer to whose turn it is, in one phrase.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Turn {
    pub phrase: String,
    pub kind: TurnKind,
}

/// Returns whose turn it is at a task: the first that holds of `blocked`, `held`, `after 9xw` (another task), `from Mon`, `at 14:32` (looks again), `@ben` (has it), `you`
/// (it waits for the reader's decision), `for ben` (planned, nobody has it), the role.
pub(crate) fn turn(
    task: &TaskSummary,
    rules: &Rules,
    now: Timestamp,
    reader: Option<&AgentId>,
    waits_for_reader: bool,
    ids: &ShortIds,
) -> Turn {
    let is = |kind, phrase: &str| Turn { phrase: phrase.to_owned(), kind };
    let ended = match task.status {
        _ if task.is_new => return is(TurnKind::Open, "new"),
        Status::Complete => Some("done"),
        Status::Cancelled => Some("cancelled"),
        Status::Failed => return is(TurnKind::Stopped, "failed"),
        Status::Blocked => return is(TurnKind::Stopped, "blocked"),
        Status::Ready | Status::InProgress => None,
    };
    if let Some(word) = ended {
        return is(TurnKind::Ended, word);
    }
    if task.is_held() {
        return is(TurnKind::Stopped, "held");
    }
    if let Some(first) = task.awaited.tasks.first() {
        return is(TurnKind::Open, &format!("after {}", ids.short(first)));
    }
    if let Some(day) = task.awaited.day {
        let day = due(day, now, &rules.project.timezone);
        return is(TurnKind::Open, &format!("from {day}"));
    }
    if let Some(at) = task.awaited.look {
        return is(TurnKind::Open, &format!("at {}", clock(at)));
    }
    let is_taken = task.agents().next().is_some();
    let holders = task.agents().map(|agent| holder(rules, agent, reader));
    if waits_for_reader && !is_taken {
        return is(TurnKind::You, "you");
    }
    if let (false, [first, others @ ..]) = (is_taken, &task.plan.assignee[..]) {
        let first = rules.org.agent_named(first).map_or(first.as_str(), |agent| name(rules, agent));
        let more = if others.is_empty() { String::new() } else { format!(" +{}", others.len()) };
        return is(TurnKind::Open, &format!("for {first}{more}"));
    }
    // At a fork some branches may be taken, and others wait for their roles.
    let roles = distinct(task.free_roles()).map(ToString::to_string);
    let all: Vec<String> = holders.chain(roles).collect();
    is(if is_taken { TurnKind::Taken } else { TurnKind::Open }, &all.join(", "))
}

fn holder(rules: &Rules, agent: &AgentId, reader: Option<&AgentId>) -> String {
    if reader == Some(agent) { "@you".to_owned() } else { format!("@{}", name(rules, agent)) }
}

/// Returns the name of an agent. A person's goes without `human-`, unless something else has that name.
pub(crate) fn name<'a>(rules: &Rules, agent: &'a AgentId) -> &'a str {
    let whole = agent.as_str();
    match whole.strip_prefix("human-") {
        Some(short) if rules.org.all_agents().iter().all(|other| other.as_str() != short) => short,
        _ => whole,
    }
}

/// The shortest prefixes that identify tasks.
#[derive(Debug, Default)]
pub(crate) struct ShortIds {
    lengths: HashMap<TaskId, usize>,
}

impl ShortIds {
    /// Returns the beginnings of the tasks among each other.
    pub(crate) fn new<'t>(ids: impl IntoIterator<Item = &'t TaskId>) -> Self {
        let mut ids: Vec<&TaskId> = ids.into_iter().collect();
        ids.sort_by(|a, b| a.local().cmp(b.local()));
        let shared = |a: Option<&&TaskId>, id: &TaskId| {
            let pairs = a.map(|other| other.local().bytes().zip(id.local().bytes()));
            pairs.map_or(0, |pairs| pairs.take_while(|(a, b)| a == b).count())
        };
        let lengths = ids.iter().enumerate().map(|(at, id)| {
            let before = at.checked_sub(1).and_then(|at| ids.get(at));
            let length = 1 + shared(before, id).max(shared(ids.get(at + 1), id));
            ((*id).clone(), length.min(id.local().len()))
        });
        Self { lengths: lengths.collect() }
    }

    /// Returns the beginning of an id that is enough, at least two characters; the whole id if the task is unknown.
    pub(crate) fn short<'t>(&self, id: &'t TaskId) -> &'t str {
        let local = id.local();
        match self.lengths.get(id) {
            Some(length) => &local[..(*length).max(2).min(local.len())],
            None => id.as_str(),
        }
    }

    /// Returns the place of the shortest beginning in the id as a text.
    pub(crate) fn place(&self, id: &TaskId) -> Range<usize> {
        let start = id.as_str().len() - id.local().len();
        start..start + self.lengths.get(id).copied().unwrap_or(id.local().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn an_age_is_in_one_unit() {
        let now = at("2026-11-27T12:00:00Z");
        for (since, age) in [
            ("2026-11-27T12:00:30Z", "now"),
            ("2026-11-27T11:59:01Z", "now"),
            ("2026-11-27T11:27:00Z", "33m"),
            ("2026-11-27T06:30:00Z", "5h"),
            ("2026-11-24T12:00:00Z", "3d"),
            ("2026-11-13T12:00:01Z", "13d"),
            ("2026-11-13T12:00:00Z", "2w"),
        ] {
            assert_eq!(short_age(at(since), now), age, "{since}");
        }
    }

    #[test]
    fn a_time_in_the_past_is_as_exact_as_one_needs() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        // A Friday, 13:00 in Berlin.
        let now = at("2026-11-27T12:00:00Z");
        for (then, sentence, heading) in [
            ("2026-11-27T11:59:30Z", "now", "Today"),
            ("2026-11-27T11:27:00Z", "33 min ago", "Today"),
            ("2026-11-27T02:00:00Z", "10 h ago", "Today"),
            ("2026-11-26T13:02:00Z", "yesterday 14:02", "Yesterday"),
            ("2026-11-24T13:02:00Z", "Tue 14:02", "Tuesday"),
            ("2026-11-03T13:02:00Z", "Nov 3", "November 3"),
            ("2025-11-03T13:02:00Z", "Nov 3, 2025", "November 3, 2025"),
        ] {
            assert_eq!(ago(at(then), now, &zone), sentence);
            assert_eq!(day(at(then), now, &zone), heading);
        }
        let midnight = at("2026-11-27T23:30:00Z");
        assert_eq!(ago(at("2026-11-27T21:30:00Z"), midnight, &zone), "2 h ago", "though yesterday");
        let lengths = [30, 700, 60_000, 300_000, 1_300_000].map(lasting);
        assert_eq!(lengths, ["30 s", "11 min", "16 h", "3 d", "2 w"]);
    }

    #[test]
    fn a_due_date_is_a_word_of_the_project_s_zone() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        // A Friday; in Berlin it is 00:30 of Saturday.
        let now = at("2026-11-27T23:30:00Z");
        for (typed, words) in [
            ("2026-11-28", "today"),
            ("2026-11-29", "Sun"),
            ("2026-12-04", "Fri"),
            ("2026-12-05", "Dec 5"),
            ("2027-01-05", "Jan 2027"),
            ("2026-11-27", "1d late"),
            ("2026-11-14", "2w late"),
            ("2026-11-27T23:10:00Z", "late"),
            ("2026-11-27T22:10:00Z", "1d late"),
            ("2026-11-28T10:00:00Z", "today"),
        ] {
            assert_eq!(due(typed.parse().unwrap(), now, &zone), words, "{typed}");
        }
        let noon = at("2026-11-28T12:00:00Z");
        assert_eq!(due("2026-11-28T07:00:00Z".parse().unwrap(), noon, &zone), "5h late");
    }

    #[test]
    fn short_ids_tell_tasks_apart() {
        let ids: Vec<TaskId> = ["AOF-k3f2m", "AOF-k9w4c", "AOF-k9w5c", "AOF-b7n1t"]
            .map(|id| id.parse().unwrap())
            .to_vec();
        let short = ShortIds::new(&ids);
        let shown: Vec<&str> = ids.iter().map(|id| short.short(id)).collect();
        assert_eq!(shown, ["k3", "k9w4", "k9w5", "b7"]);
        let places: Vec<&str> = ids.iter().map(|id| &id.as_str()[short.place(id)]).collect();
        assert_eq!(places, ["k3", "k9w4", "k9w5", "b"]);
        assert_eq!(short.short(&"AOF-zzzzz".parse().unwrap()), "AOF-zzzzz");
    }
}
