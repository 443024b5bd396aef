//! Numbers that are seen sooner than read: bars, and lines of small ones.

/// Eighths of a letter, from nothing to all of it, lying.
const LYING: [&str; 9] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"];
/// The same, standing.
const STANDING: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns a bar of that part of so many letters; what there is at all is seen.
pub(crate) fn bar(part: f64, letters: u32) -> String {
    let part = part.clamp(0.0, 1.0);
    let eighths = steps(part, f64::from(letters) * 8.0).max(usize::from(part > 0.0));
    let (whole, rest) = (eighths / 8, eighths % 8);
    format!("{}{}", "█".repeat(whole), LYING[rest])
}

/// Returns a small bar for each value, the highest of them as high as a letter; a gap where there is none.
pub(crate) fn spark(values: &[Option<f64>]) -> String {
    let highest = values.iter().flatten().fold(0.0_f64, |highest, value| highest.max(*value));
    let letter = |value: &Option<f64>| match value {
        None => ' ',
        Some(_) if highest <= 0.0 => STANDING[0],
        Some(value) => STANDING[steps(value / highest, 7.0).min(7)],
    };
    values.iter().map(letter).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a part of a few hundred steps"
)]
fn steps(part: f64, all: f64) -> usize {
    (part.clamp(0.0, 1.0) * all).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_part() {
        for (part, text) in [
            (0.0, ""),
            (0.001, "▏"),
            (0.25, "█"),
            (0.5, "██"),
            (0.53, "██▏"),
            (1.0, "████"),
            (7.0, "████"),
        ] {
            assert_eq!(bar(part, 4), text, "{part}");
        }
        assert_eq!(bar(f64::NAN, 4), "");
    }

    #[test]
    fn a_line_of_bars_stands_for_its_highest() {
        assert_eq!(spark(&[]), "");
        assert_eq!(spark(&[Some(0.0), Some(0.0)]), "▁▁");
        assert_eq!(spark(&[Some(0.0), None, Some(1.0), Some(2.0)]), "▁ ▅█");
    }
}
