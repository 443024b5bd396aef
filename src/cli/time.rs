//! Times: now, as people type them, and as people read them.

use std::str::FromStr;

use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::domain::{Period, PeriodFault, Timestamp};

/// Returns the current time. Tests of a debug build set it with `AOF_NOW`.
pub(crate) fn now() -> Timestamp {
    #[cfg(debug_assertions)]
    if let Some(now) = std::env::var("AOF_NOW").ok().and_then(|text| text.parse().ok()) {
        return now;
    }
    Timestamp::now()
}

/// Returns a number of seconds in at most two units: `4h 30m`, `2d 3h`, `45s`.
pub(crate) fn length(seconds: u64) -> String {
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let (minutes, rest) = (seconds / 60 % 60, seconds % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{rest}s"),
        (0, 0, _) => format!("{minutes}m"),
        (0, _, 0) => format!("{hours}h"),
        (0, _, _) => format!("{hours}h {minutes}m"),
        (_, 0, _) => format!("{days}d"),
        _ => format!("{days}d {hours}h"),
    }
}

/// Returns how long it is from one time to a later one; `0s` where the clocks disagree.
pub(crate) fn between(start: Timestamp, end: Timestamp) -> String {
    length(u64::try_from(end.as_second() - start.as_second()).unwrap_or(0))
}

/// A time in the past, as people type it: `30d`, `2026-11-01`, `2026-11-01T09:00:00Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PastTime {
    For(Period),
    At(Timestamp),
}

impl PastTime {
    /// Returns the time that it means now.
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
