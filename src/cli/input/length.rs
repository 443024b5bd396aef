//! Lengths of time as people say them.

/// Returns a length of time as people say it: `4h 30m`, `2d 3h`, `45s`.
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

#[cfg(test)]
mod tests {
    use super::*;

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
