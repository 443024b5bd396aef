//! Durations as words, for messages.

use std::time::Duration;

/// Returns an age in the largest unit of which there are at least two.
pub fn age(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (count, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7_200 => (seconds / 60, "minute"),
        7_200..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_the_largest_unit_of_which_there_are_two() {
        for (seconds, text) in [
            (0, "0 seconds"),
            (1, "1 second"),
            (119, "119 seconds"),
            (120, "2 minutes"),
            (7_199, "119 minutes"),
            (7_200, "2 hours"),
            (259_201, "3 days"),
        ] {
            assert_eq!(age(Duration::from_secs(seconds)), text);
        }
    }
}
