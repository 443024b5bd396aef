//! Tasks that come again and again: once a day, a week or a month, at a time of the project's zone.

use jiff::ToSpan;
use jiff::civil::{Date, Time, Weekday};
use jiff::tz::TimeZone;

use crate::words::words;
use crate::{PlanChange, Timestamp, WorkflowName};

words!(
    /// The length of a period.
    Every, "a period", {
        Day = "day",
        Week = "week",
        Month = "month",
    }
);

/// The times at which periods begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recurrence {
    pub every: Every,
    /// The day on which a week begins.
    pub weekday: Weekday,
    /// The day on which a month begins, from 1; a shorter month begins on its last day.
    pub day: i8,
    pub at: Time,
}

/// A task that is made once in each period.
#[derive(Debug, Clone, PartialEq)]
pub struct Recurring {
    /// The name of the rule, which is part of the ids of its tasks.
    pub name: String,
    pub recurrence: Recurrence,
    /// The fields of each task, with the title.
    pub fields: PlanChange,
    /// The text of each task.
    pub body: String,
    /// The workflow of each task; absent means the project's default.
    pub workflow: Option<WorkflowName>,
    /// True if none is made while an earlier one is open.
    pub skip_if_open: bool,
}

impl Recurrence {
    /// Returns the day on which the present period began, and the time; `None` if no period has begun within the calendar.
    pub fn latest(self, now: Timestamp, zone: &TimeZone) -> Option<(Date, Timestamp)> {
        let today = now.to_zoned(zone.clone()).date();
        let mut day = self.day_up_to(today)?;
        loop {
            let start = day.to_datetime(self.at).to_zoned(zone.clone()).ok()?.timestamp();
            if start <= now {
                return Some((day, start));
            }
            day = self.day_up_to(day.yesterday().ok()?)?;
        }
    }

    /// Returns the last day, up to this one, on which a period begins.
    fn day_up_to(self, day: Date) -> Option<Date> {
        match self.every {
            Every::Day => Some(day),
            Every::Week if day.weekday() == self.weekday => Some(day),
            Every::Week => day.nth_weekday(-1, self.weekday).ok(),
            Every::Month => {
                let of = |month: Date| {
                    let first = month.first_of_month();
                    let last = first.days_in_month();
                    first.with().day(self.day.min(last)).build().ok()
                };
                let this = of(day)?;
                if this <= day {
                    Some(this)
                } else {
                    of(day.first_of_month().checked_sub(1.day()).ok()?)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_begins_at_its_time_in_the_zone() {
        let zone = |name: &str| jiff::tz::TimeZoneDatabase::bundled().get(name).unwrap();
        for (every, weekday, day, at, name, now, start) in [
            (Every::Day, 1, 1, "09:00", "UTC", "2026-12-01T08:59:59Z", "2026-11-30T09:00:00Z"),
            (Every::Day, 1, 1, "09:00", "UTC", "2026-12-01T09:00:00Z", "2026-12-01T09:00:00Z"),
            (Every::Week, 1, 1, "09:00", "UTC", "2026-12-01T08:00:00Z", "2026-11-30T09:00:00Z"),
            (Every::Week, 1, 1, "09:00", "UTC", "2026-11-30T08:00:00Z", "2026-11-23T09:00:00Z"),
            (
                Every::Week,
                7,
                1,
                "00:00",
                "Europe/Berlin",
                "2026-11-28T22:59:59Z",
                "2026-11-21T23:00:00Z",
            ),
            (Every::Month, 1, 31, "00:00", "UTC", "2026-12-01T00:00:00Z", "2026-11-30T00:00:00Z"),
            (Every::Month, 1, 15, "12:00", "UTC", "2026-03-01T00:00:00Z", "2026-02-15T12:00:00Z"),
            (Every::Month, 1, 29, "12:00", "UTC", "2026-03-01T00:00:00Z", "2026-02-28T12:00:00Z"),
            // Clocks go forward over the time: the period begins an hour later.
            (
                Every::Day,
                1,
                1,
                "02:30",
                "Europe/Berlin",
                "2026-03-29T12:00:00Z",
                "2026-03-29T01:30:00Z",
            ),
            // Clocks go back, and the time comes twice: the first one counts.
            (
                Every::Day,
                1,
                1,
                "02:30",
                "Europe/Berlin",
                "2026-10-25T12:00:00Z",
                "2026-10-25T00:30:00Z",
            ),
        ] {
            let weekday = Weekday::from_monday_one_offset(weekday).unwrap();
            let recurrence = Recurrence { every, weekday, day, at: at.parse().unwrap() };
            let (_, found) = recurrence.latest(now.parse().unwrap(), &zone(name)).unwrap();
            assert_eq!(found.to_string(), start, "{every} {at} {now}");
        }
    }
}
