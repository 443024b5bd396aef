//! A family of metrics: one name, one kind, and a value for each set of labels.

use crate::domain::histogram::Histogram;

/// The labels of one value, in the order in which they are written.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// All values of one name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Family {
    /// Its name, without what its kind adds: a counter's `_total`, a histogram's `_bucket`.
    pub name: &'static str,
    /// What it tells, in one sentence.
    pub help: &'static str,
    /// The values.
    pub samples: Samples,
}

/// The values of a family, all of one kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Samples {
    /// What only grows.
    Counter(Vec<(Labels, u64)>),
    /// What is so now.
    Gauge(Vec<(Labels, f64)>),
    /// How many of which size.
    Histogram(Vec<(Labels, Histogram)>),
}

impl Samples {
    /// Returns what Prometheus calls the kind.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Counter(_) => "counter",
            Self::Gauge(_) => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }
}
