//! Lengths of time, and ages.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A length of time in whole seconds, never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Period(u64);

/// The reason why a text is not a length of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PeriodFault {
    /// It is not a sequence of numbers with units.
    #[error(
        "`{0}` is not a length of time; write a number and a unit of `s`, `m`, `h` or `d`, as in `45m`, `2h` or `1h30m`"
    )]
    Shape(String),
    /// It is zero.
    #[error("`{0}` is no time at all; leave the field out for no limit")]
    Zero(String),
    /// It is longer than a hundred years.
    #[error("`{0}` is longer than a hundred years")]
    Long(String),
}

const LONGEST: u64 = 100 * 365 * 86_400;

impl Period {
    /// Returns the period of that many seconds, at least one.
    pub const fn of_seconds(seconds: u64) -> Self {
        Self(if seconds == 0 { 1 } else { seconds })
    }

    /// Returns the length in seconds.
    pub const fn seconds(self) -> u64 {
        self.0
    }
}

impl FromStr for Period {
    type Err = PeriodFault;

    fn from_str(text: &str) -> Result<Self, PeriodFault> {
        let shape = || PeriodFault::Shape(text.to_owned());
        let mut rest = text.trim();
        let mut seconds: u64 = 0;
        let mut smallest = u64::MAX;
        if rest.is_empty() {
            return Err(shape());
        }
        while !rest.is_empty() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let unit = match rest.as_bytes().get(digits) {
                Some(b's') => 1,
                Some(b'm') => 60,
                Some(b'h') => 3_600,
                Some(b'd') => 86_400,
                _ => return Err(shape()),
            };
            if digits == 0 || unit >= smallest {
                return Err(shape());
            }
            smallest = unit;
            let number: u64 =
                rest[..digits].parse().map_err(|_| PeriodFault::Long(text.to_owned()))?;
            seconds = number
                .checked_mul(unit)
                .and_then(|part| seconds.checked_add(part))
                .filter(|sum| *sum <= LONGEST)
                .ok_or_else(|| PeriodFault::Long(text.to_owned()))?;
            rest = &rest[digits + 1..];
        }
        if seconds == 0 {
            return Err(PeriodFault::Zero(text.to_owned()));
        }
        Ok(Self(seconds))
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        for (unit, letter) in [(86_400, 'd'), (3_600, 'h'), (60, 'm'), (1, 's')] {
            if rest >= unit {
                write!(f, "{}{letter}", rest / unit)?;
                rest %= unit;
            }
        }
        Ok(())
    }
}

/// A short length of time, which may also be in milliseconds: `500ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryDelay(pub Duration);

impl fmt::Display for RetryDelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl FromStr for RetryDelay {
    type Err = PeriodFault;

    fn from_str(text: &str) -> Result<Self, PeriodFault> {
        let number = text.trim().strip_suffix("ms").and_then(|number| number.parse::<u32>().ok());
        match number {
            Some(0) => Err(PeriodFault::Zero(text.to_owned())),
            Some(number) => Ok(Self(Duration::from_millis(number.into()))),
            None => {
                text.parse::<Period>().map(|period| Self(Duration::from_secs(period.seconds())))
            }
        }
    }
}

/// Returns a number of seconds in at most two units: `4h 30m`, `2d 3h`, `45s`.
pub fn length(seconds: u64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_read_as_people_write_them() {
        for (text, seconds) in
            [("45m", 2_700), ("2h", 7_200), ("5d", 432_000), ("1h30m", 5_400), ("90s", 90)]
        {
            assert_eq!(text.parse::<Period>().map(Period::seconds), Ok(seconds), "{text}");
        }
        assert_eq!("90m".parse::<Period>().unwrap().to_string(), "1h30m");
        for text in [
            "",
            "h",
            "2",
            "2 h",
            "-2h",
            "2h2h",
            "30m1h",
            "1.5h",
            "2w",
            "0m",
            "99999999999999999999d",
            "36501d",
        ] {
            assert!(text.parse::<Period>().is_err(), "{text}");
        }
    }

    #[test]
    fn pauses_may_be_short() {
        for (text, milliseconds) in [("500ms", 500), ("2s", 2_000), ("1m30s", 90_000)] {
            let pause = RetryDelay(Duration::from_millis(milliseconds));
            assert_eq!(text.parse::<RetryDelay>(), Ok(pause), "{text}");
        }
        for text in ["0ms", "ms", "1.5ms", "-1ms", "1s500ms", "5"] {
            assert!(text.parse::<RetryDelay>().is_err(), "{text}");
        }
    }
}
