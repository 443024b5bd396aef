//! A time that lies behind us, as people say it: `30d`, `2026-11-01`, `2026-11-01T09:00:00Z`.

use std::str::FromStr;

use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::domain::{Period, Timestamp};

/// Since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// For that long.
    For(Period),
    /// Since then.
    At(Timestamp),
}

impl Since {
    /// Returns the time that it means now.
    pub(crate) fn from(self, now: Timestamp) -> Timestamp {
        match self {
            Self::For(period) => {
                let length =
                    SignedDuration::from_secs(i64::try_from(period.seconds()).unwrap_or(i64::MAX));
                now.checked_sub(length).unwrap_or(Timestamp::MIN)
            }
            Self::At(time) => time,
        }
    }
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(time) = text.parse() {
            return Ok(Self::At(time));
        }
        // A day, and a time without a zone, are those of where the person is.
        if let Ok(local) = text.parse::<DateTime>() {
            let start = local.to_zoned(TimeZone::system()).map_err(|error| error.to_string())?;
            return Ok(Self::At(start.timestamp()));
        }
        let or = "or a day or time, as in `2026-11-01` or `2026-11-01T09:00:00Z`";
        text.parse()
            .map(Self::For)
            .map_err(|fault: crate::domain::PeriodFault| format!("{fault}, {or}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_counts_back_from_now_and_a_time_is_a_time() {
        let now: Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
        let from = |text: &str| text.parse::<Since>().map(|since| since.from(now).to_string());
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
}
