//! Metrics as JSON, for programs that are no Prometheus.

use crate::domain::histogram::Histogram;
use serde_json::{Map, Value, json};

use super::{Family, Labels, Samples};

/// Returns the families; a histogram's classes are cumulative, as in the texts, and the last has no bound.
pub(crate) fn value<'f>(families: impl IntoIterator<Item = &'f Family>) -> Value {
    families.into_iter().map(of_family).collect()
}

fn of_family(family: &Family) -> Value {
    let samples: Vec<Value> = match &family.samples {
        Samples::Counter(all) => {
            all.iter().map(|(own, count)| json!({"labels": labels(own), "value": count})).collect()
        }
        Samples::Gauge(all) => {
            all.iter().map(|(own, value)| json!({"labels": labels(own), "value": value})).collect()
        }
        Samples::Histogram(all) => {
            all.iter().map(|(own, histogram)| of_histogram(own, histogram)).collect()
        }
    };
    let total = if matches!(family.samples, Samples::Counter(_)) { "_total" } else { "" };
    json!({
        "name": format!("{}{total}", family.name),
        "type": family.samples.kind(),
        "help": family.help,
        "samples": samples,
    })
}

fn of_histogram(own: &Labels, histogram: &Histogram) -> Value {
    let classes: Vec<Value> =
        histogram.classes().map(|(bound, count)| json!({"le": bound, "count": count})).collect();
    json!({"labels": labels(own), "buckets": classes, "sum": histogram.sum(), "count": histogram.count()})
}

fn labels(labels: &Labels) -> Map<String, Value> {
    labels.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
}
