//! How numbers are spread, and what part of something is.

/// Lengths of time at the points that people ask for, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spread {
    /// Of how many lengths.
    pub count: usize,
    /// Half are shorter.
    pub p50: u64,
    /// So are 85 of 100.
    pub p85: u64,
    /// So are 95 of 100.
    pub p95: u64,
}

impl Spread {
    /// Returns how these lengths are spread; nothing where there are none.
    pub(crate) fn of(mut lengths: Vec<u64>) -> Option<Self> {
        lengths.sort_unstable();
        let at = |percent| percentile(&lengths, percent);
        Some(Self { count: lengths.len(), p50: at(50)?, p85: at(85)?, p95: at(95)? })
    }
}

/// Returns the length below which so many of a hundred lie; between two of them, what lies between.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let reach = percent * sorted.len().checked_sub(1)?;
    let (place, rest) = (reach / 100, reach % 100);
    let low = sorted[place];
    let high = sorted.get(place + 1).copied().unwrap_or(low);
    let step = u128::from(high - low) * u128::try_from(rest).unwrap_or(0) / 100;
    Some(low + u64::try_from(step).unwrap_or(0))
}

/// A part of a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Share {
    /// How many of them are meant.
    pub part: u64,
    /// How many there are.
    pub whole: u64,
}

impl Share {
    /// Counts one more.
    pub(crate) fn count(&mut self, is_meant: bool) {
        self.whole += 1;
        self.part += u64::from(is_meant);
    }

    /// Counts all of another one.
    pub(crate) fn add(&mut self, other: Self) {
        self.part += other.part;
        self.whole += other.whole;
    }

    /// Returns the part, from 0 to 1; nothing of nothing.
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts and seconds of projects are far below 2^52"
    )]
    pub(crate) fn rate(self) -> Option<f64> {
        (self.whole > 0).then(|| self.part as f64 / self.whole as f64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn points(lengths: &[u64]) -> Option<(u64, u64, u64)> {
        Spread::of(lengths.to_vec()).map(|spread| (spread.p50, spread.p85, spread.p95))
    }

    #[test]
    fn the_points_of_few_lengths() {
        assert_eq!(points(&[]), None);
        assert_eq!(points(&[7]), Some((7, 7, 7)));
        assert_eq!(points(&[9, 1]), Some((5, 7, 8)));
        assert_eq!(points(&[100, 1, 2]), Some((2, 70, 90)));
        assert_eq!(points(&(0..=100).collect::<Vec<_>>()), Some((50, 85, 95)));
        assert_eq!(points(&[0, u64::MAX]).map(|points| points.0), Some(u64::MAX / 2));
    }

    proptest! {
        #[test]
        fn the_points_are_in_order_within_the_lengths_and_split_them(
            mut lengths in proptest::collection::vec(0_u64..1_000_000, 1..200),
        ) {
            let spread = Spread::of(lengths.clone()).unwrap();
            lengths.sort_unstable();
            prop_assert!(lengths[0] <= spread.p50 && spread.p50 <= spread.p85);
            prop_assert!(spread.p85 <= spread.p95 && spread.p95 <= lengths[lengths.len() - 1]);
            let below = lengths.iter().filter(|length| **length <= spread.p85).count();
            prop_assert!(below * 100 >= (lengths.len() - 1) * 85, "{below} of {}", lengths.len());
        }
    }

    #[test]
    fn a_share_of_nothing_is_none() {
        assert_eq!(Share::default().rate(), None);
        assert_eq!(Share { part: 1, whole: 4 }.rate(), Some(0.25));
    }
}
