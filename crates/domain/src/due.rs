//! The time a task is due, or begins, as files have it and as people type it.

use std::fmt;
use std::str::FromStr;

use jiff::ToSpan;
use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use serde::Deserialize;

use super::Timestamp;

/// The time a task is due, or before which it is not handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// That day in the project's time zone: its end for a due task, its beginning for one that is not handed out before.
    Day(Date),
    At(Timestamp),
}

/// A text that is not such a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a date; write a day, as in `2026-12-01`, or a time with its zone, as in `2026-12-01T10:00:00Z`", .0.escape_debug())]
pub struct DueFault(String);

impl Due {
    /// Returns the time from which on the task is late.
    pub fn ends(self, zone: &TimeZone) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::Day(day) => day.tomorrow().map_or(Timestamp::MAX, |next| first_of(next, zone)),
        }
    }

    /// Returns the time at which it begins: the first moment of a day.
    pub fn begins(self, zone: &TimeZone) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::Day(day) => first_of(day, zone),
        }
    }

    /// Returns the day with its name, as in `Fri, 2026-12-04`, or the time.
    pub fn in_words(self) -> String {
        match self {
            Self::Day(day) => day.strftime("%a, %Y-%m-%d").to_string(),
            Self::At(at) => at.to_string(),
        }
    }

    /// Returns whether the due time ends before that time, or before that day begins.
    pub fn is_before(self, limit: Self, zone: &TimeZone) -> bool {
        let begins = limit.begins(zone);
        match self {
            Self::At(at) => at < begins,
            Self::Day(_) => self.ends(zone) <= begins,
        }
    }
}

/// Returns the first moment of the day. A time zone may skip midnight: the day then begins later.
fn first_of(day: Date, zone: &TimeZone) -> Timestamp {
    day.to_zoned(zone.clone()).map_or(Timestamp::MAX, |first| first.timestamp())
}

impl FromStr for Due {
    type Err = DueFault;

    fn from_str(text: &str) -> Result<Self, DueFault> {
        // Other forms of dates, as in `20261201`, look like numbers.
        let is_day = text.len() == 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[7] == b'-';
        let due = if is_day { text.parse().map(Self::Day) } else { text.parse().map(Self::At) };
        due.map_err(|_| DueFault(text.to_owned()))
    }
}

impl fmt::Display for Due {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Day(day) => write!(f, "{day}"),
            Self::At(at) => write!(f, "{at}"),
        }
    }
}

impl<'de> Deserialize<'de> for Due {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'_, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A due date as a person types it: as in files, or a day relative to today, as in `tomorrow`, `fri`, `next week`, `eow`, `eom`, `+3d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypedDue {
    Exact(Due),
    /// That many days from today.
    Days(i32),
    /// The next day of that name after today.
    On(Weekday),
    /// The next Monday.
    NextWeek,
    /// The Sunday of this week.
    EndOfWeek,
    EndOfMonth,
}

/// A typed text that is not such a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not a date; write a day, as in `2026-12-01`, `tomorrow`, `fri`, `next week`, `eow`, `eom` or `+3d`, or a time with its zone, as in `2026-12-01T10:00:00Z`",
    .0.escape_debug()
)]
pub struct TypedDueFault(String);

/// The names of days.
const DAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];

/// The most days, or weeks, after today.
const MOST: i32 = 10_000;

impl TypedDue {
    /// Returns the due date that is meant on that day.
    pub fn on(self, today: Date) -> Due {
        let day = |date: Option<Date>| Due::Day(date.unwrap_or(today));
        match self {
            Self::Exact(due) => due,
            Self::Days(days) => day(today.checked_add(days.days()).ok()),
            Self::On(weekday) => day(today.nth_weekday(1, weekday).ok()),
            Self::NextWeek => day(today.nth_weekday(1, Weekday::Monday).ok()),
            Self::EndOfWeek if today.weekday() == Weekday::Sunday => Due::Day(today),
            Self::EndOfWeek => day(today.nth_weekday(1, Weekday::Sunday).ok()),
            Self::EndOfMonth => Due::Day(today.last_of_month()),
        }
    }
}

impl FromStr for TypedDue {
    type Err = TypedDueFault;

    fn from_str(text: &str) -> Result<Self, TypedDueFault> {
        let word = text.trim().to_lowercase();
        let relative = match word.as_str() {
            "today" => Some(Self::Days(0)),
            "tomorrow" => Some(Self::Days(1)),
            "next week" | "next-week" => Some(Self::NextWeek),
            "eow" => Some(Self::EndOfWeek),
            "eom" => Some(Self::EndOfMonth),
            word => {
                let day = weekday(word).map(Self::On);
                day.or_else(|| days_after(word).map(Self::Days))
            }
        };
        match relative {
            Some(relative) => Ok(relative),
            None => match text.trim().parse() {
                Ok(due) => Ok(Self::Exact(due)),
                Err(DueFault(_)) => Err(TypedDueFault(text.to_owned())),
            },
        }
    }
}

/// Returns the day of the week that a word means: its name in lower case, or at least its first three letters.
pub fn weekday(word: &str) -> Option<Weekday> {
    let is_meant = |(name, _): &&(&str, Weekday)| word.len() >= 3 && name.starts_with(word);
    DAYS.iter().find(is_meant).map(|(_, day)| *day)
}

/// Reads `+3d` and `+2w`.
fn days_after(word: &str) -> Option<i32> {
    let count = word.strip_prefix('+')?;
    let (count, length) = match (count.strip_suffix('d'), count.strip_suffix('w')) {
        (Some(days), _) => (days, 1),
        (_, Some(weeks)) => (weeks, 7),
        _ => return None,
    };
    let count: i32 = count.parse().ok().filter(|count| (0..=MOST).contains(count))?;
    Some(count * length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_lasts_until_its_end_in_the_zone() {
        let zone = |name: &str| jiff::tz::TimeZoneDatabase::bundled().get(name).unwrap();
        for (due, name, end) in [
            ("2026-12-01", "UTC", "2026-12-02T00:00:00Z"),
            ("2026-12-01", "Europe/Berlin", "2026-12-01T23:00:00Z"),
            ("2026-12-01", "Pacific/Kiritimati", "2026-12-01T10:00:00Z"),
            // Clocks go back, and the day has 25 hours; clocks go forward, and it has 23.
            ("2026-10-25", "Europe/Berlin", "2026-10-25T23:00:00Z"),
            ("2026-03-29", "Europe/Berlin", "2026-03-29T22:00:00Z"),
            // The next day begins at one o'clock.
            ("2018-11-03", "America/Sao_Paulo", "2018-11-04T03:00:00Z"),
            ("2026-12-01T10:00:00+02:00", "Europe/Berlin", "2026-12-01T08:00:00Z"),
            ("9999-12-31", "UTC", "9999-12-30T22:00:00.999999999Z"),
        ] {
            let ends = due.parse::<Due>().unwrap().ends(&zone(name));
            assert_eq!(ends.to_string(), end, "{due} {name}");
        }
    }

    #[test]
    fn a_day_is_before_the_next_one_and_not_before_itself() {
        let zone = TimeZone::UTC;
        for (due, limit, is_before) in [
            ("2026-11-30", "2026-12-01", true),
            ("2026-12-01", "2026-12-01", false),
            ("2026-11-30T23:59:59Z", "2026-12-01", true),
            ("2026-12-01T00:00:00Z", "2026-12-01", false),
            ("2026-12-01", "2026-12-02T00:00:00Z", true),
            ("2026-12-01", "2026-12-01T23:00:00Z", false),
        ] {
            let (due, limit): (Due, Due) = (due.parse().unwrap(), limit.parse().unwrap());
            assert_eq!(due.is_before(limit, &zone), is_before, "{due} {limit}");
        }
    }

    #[test]
    fn a_value_that_is_neither_day_nor_time_is_refused() {
        for text in [
            "",
            "tomorrow",
            "2026-02-30",
            "2026-13-01",
            "2026-12-1",
            "20261201",
            "2026-12-01T10:00",
            "2026-12-01 10:00:00",
            "01.12.2026",
            "٢٠٢٦-12",
        ] {
            assert!(text.parse::<Due>().is_err(), "{text}");
        }
        assert_eq!(
            "2026-12-01T10:00+01:00".parse::<Due>().unwrap().to_string(),
            "2026-12-01T09:00:00Z"
        );
    }

    #[test]
    fn words_mean_days_after_today() {
        // A Friday.
        let today: Date = "2026-11-27".parse().unwrap();
        for (typed, due) in [
            ("today", "2026-11-27"),
            ("Tomorrow", "2026-11-28"),
            ("fri", "2026-12-04"),
            ("sat", "2026-11-28"),
            ("Monday", "2026-11-30"),
            ("next week", "2026-11-30"),
            ("eow", "2026-11-29"),
            ("eom", "2026-11-30"),
            ("+3d", "2026-11-30"),
            ("+2w", "2026-12-11"),
            ("2026-12-01", "2026-12-01"),
            ("2026-12-01T10:00:00Z", "2026-12-01T10:00:00Z"),
        ] {
            assert_eq!(typed.parse::<TypedDue>().unwrap().on(today).to_string(), due, "{typed}");
        }
        let sunday: Date = "2026-11-29".parse().unwrap();
        assert_eq!(TypedDue::EndOfWeek.on(sunday), Due::Day(sunday));
        for typed in
            ["", "soon", "fr", "frida y", "+3", "+d", "+-1d", "+3y", "-1d", "+99999999d", "27.11."]
        {
            assert!(typed.parse::<TypedDue>().is_err(), "{typed}");
        }
    }
}
