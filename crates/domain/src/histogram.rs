//! Histograms of durations and counts, for metrics.

/// Counts of values by class, and their sum.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    bounds: &'static [f64],
    /// The number of values in each class; the last class has no upper bound.
    counts: Vec<u64>,
    sum: f64,
}

impl Histogram {
    /// From a second to 30 days: the time that people and agents take.
    pub const STAYS: &'static [f64] = &[
        1.0,
        5.0,
        15.0,
        30.0,
        60.0,
        300.0,
        900.0,
        1800.0,
        3600.0,
        7200.0,
        14400.0,
        28800.0,
        86400.0,
        172_800.0,
        345_600.0,
        604_800.0,
        1_209_600.0,
        2_592_000.0,
    ];
    /// From half a millisecond to ten seconds: the time that a disk takes.
    pub const WRITES: &'static [f64] =
        &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

    /// The number of times that a task repeats a gate.
    pub const PASSES: &'static [f64] = &[1.0, 2.0, 3.0, 5.0, 10.0];

    /// Returns an empty histogram with these upper bounds, in ascending order.
    pub fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    /// Adds a value.
    pub fn observe(&mut self, value: f64) {
        self.counts[self.bounds.partition_point(|bound| *bound < value)] += 1;
        self.sum += value;
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the sum of the values.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Returns each upper bound with the number of values up to it; the last bound is open.
    pub fn classes(&self) -> impl Iterator<Item = (Option<f64>, u64)> {
        let bounds = self.bounds.iter().copied().map(Some).chain([None]);
        bounds.zip(self.counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_in_its_class_and_in_all_above() {
        let mut histogram = Histogram::new(&[1.0, 5.0]);
        for value in [0.0, 1.0, 1.5, 5.0, 5.1] {
            histogram.observe(value);
        }
        let classes: Vec<_> = histogram.classes().collect();
        assert_eq!(classes, [(Some(1.0), 2), (Some(5.0), 4), (None, 5)]);
        assert_eq!(histogram.count(), 5);
        assert!((histogram.sum() - 12.6).abs() < 1e-9);
    }

    #[test]
    fn bounds_rise() {
        for bounds in [Histogram::STAYS, Histogram::WRITES, Histogram::PASSES] {
            assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
