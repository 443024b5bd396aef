//! Metrics in the formats of Prometheus: families of samples, written as text in two formats, and as JSON.
//!
//! Bounds of histogram buckets are written alike in both formats (`le="1.0"`): for Prometheus the text identifies a series.

use serde_json::{Value, json};

use crate::domain::histogram::Histogram;

/// The labels of one value, in the order in which they are written.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// All samples of one name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Family {
    /// The name, without the suffix of its kind: a counter's `_total`, a histogram's `_bucket`.
    pub name: &'static str,
    /// A description of the family, in one sentence.
    pub help: &'static str,
    pub samples: Samples,
}

/// The values of a family, all of one kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Samples {
    Counter(Vec<(Labels, u64)>),
    Gauge(Vec<(Labels, f64)>),
    Histogram(Vec<(Labels, Histogram)>),
}

impl Samples {
    /// Returns the name of the kind in Prometheus.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Counter(_) => "counter",
            Self::Gauge(_) => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }
}

/// A text format of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpositionFormat {
    /// Prometheus' own, version 0.0.4.
    Text,
    /// `OpenMetrics`, version 1.0.0.
    OpenMetrics,
}

impl ExpositionFormat {
    /// Returns the format that an `Accept` header asks for: the older one, unless the client knows `OpenMetrics`.
    pub(crate) fn wanted(accept: &str) -> Self {
        let knows = accept.to_ascii_lowercase().contains("application/openmetrics-text");
        if knows { Self::OpenMetrics } else { Self::Text }
    }

    /// Returns the `Content-Type` of the format.
    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The suffix of the names of families that are measured in seconds.
const SECONDS: &str = "_seconds";

/// Returns the families as text.
pub(crate) fn render<'f>(
    families: impl IntoIterator<Item = &'f Family>,
    format: ExpositionFormat,
) -> String {
    let mut text = String::with_capacity(64 * 1024);
    for family in families {
        head(&mut text, family, format);
        match &family.samples {
            Samples::Counter(all) => {
                let name = format!("{}_total", family.name);
                for (labels, count) in all {
                    sample(&mut text, &name, labels, None, &count.to_string());
                }
            }
            Samples::Gauge(all) => {
                for (labels, value) in all {
                    sample(&mut text, family.name, labels, None, &value.to_string());
                }
            }
            Samples::Histogram(all) => {
                for (labels, histogram) in all {
                    classes(&mut text, family.name, labels, histogram);
                }
            }
        }
    }
    if format == ExpositionFormat::OpenMetrics {
        text.push_str("# EOF\n");
    }
    text
}

/// Writes the header lines of a family. Only `OpenMetrics` has units, and names counters without `_total`.
fn head(text: &mut String, family: &Family, format: ExpositionFormat) {
    let kind = family.samples.kind();
    let suffix = if format == ExpositionFormat::Text && kind == "counter" { "_total" } else { "" };
    let name = format!("{}{suffix}", family.name);
    text.push_str(&format!("# HELP {name} {}\n# TYPE {name} {kind}\n", family.help));
    if format == ExpositionFormat::OpenMetrics && family.name.ends_with(SECONDS) {
        text.push_str(&format!("# UNIT {name} seconds\n"));
    }
}

fn classes(text: &mut String, name: &str, labels: &Labels, histogram: &Histogram) {
    let bucket = format!("{name}_bucket");
    for (bound, count) in histogram.classes() {
        // `{:?}` writes 1 as `1.0`, as OpenMetrics requires.
        let bound = bound.map_or_else(|| "+Inf".to_owned(), |bound| format!("{bound:?}"));
        sample(text, &bucket, labels, Some(&bound), &count.to_string());
    }
    sample(text, &format!("{name}_sum"), labels, None, &histogram.sum().to_string());
    sample(text, &format!("{name}_count"), labels, None, &histogram.count().to_string());
}

fn sample(text: &mut String, name: &str, labels: &Labels, bound: Option<&str>, value: &str) {
    let labels = labels.iter().map(|(name, value)| (*name, value.as_str()));
    let all = labels.chain(bound.map(|bound| ("le", bound)));
    let all: Vec<String> =
        all.map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    let labels = if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) };
    text.push_str(&format!("{name}{labels} {value}\n"));
}

/// Escapes the characters that would end the quotes or the line of a value.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Returns the families as JSON. A histogram's buckets are cumulative, as in the text formats, and the last has no bound.
pub(crate) fn value<'f>(families: impl IntoIterator<Item = &'f Family>) -> Value {
    families.into_iter().map(of_family).collect()
}

fn of_family(family: &Family) -> Value {
    let labels = |labels: &Labels| {
        labels.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
    };
    let value = |sample: &Labels, value: Value| json!({"labels": Value::Object(labels(sample)), "value": value});
    let samples: Vec<Value> = match &family.samples {
        Samples::Counter(all) => {
            all.iter().map(|(sample, count)| value(sample, json!(count))).collect()
        }
        Samples::Gauge(all) => {
            all.iter().map(|(sample, level)| value(sample, json!(level))).collect()
        }
        Samples::Histogram(all) => all
            .iter()
            .map(|(sample, sizes)| {
                let classes =
                    sizes.classes().map(|(bound, count)| json!({"le": bound, "count": count}));
                json!({
                    "labels": Value::Object(labels(sample)),
                    "buckets": classes.collect::<Vec<_>>(),
                    "sum": sizes.sum(),
                    "count": sizes.count(),
                })
            })
            .collect(),
    };
    let total = if matches!(family.samples, Samples::Counter(_)) { "_total" } else { "" };
    json!({
        "name": format!("{}{total}", family.name),
        "type": family.samples.kind(),
        "help": family.help,
        "samples": samples,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_a_format_it_knows() {
        for (accept, format) in [
            ("", ExpositionFormat::Text),
            ("text/plain, */*", ExpositionFormat::Text),
            (
                "Application/OpenMetrics-Text; version=1.0.0, */*;q=0.1",
                ExpositionFormat::OpenMetrics,
            ),
        ] {
            assert_eq!(ExpositionFormat::wanted(accept), format, "{accept}");
        }
    }

    fn families() -> Vec<Family> {
        let mut histogram = Histogram::new(&[0.5, 60.0]);
        histogram.observe(1.0);
        vec![
            Family {
                name: "aof_a",
                help: "A.",
                samples: Samples::Counter(vec![(
                    vec![("x", "q\"b\\n\nl".to_owned()), ("y", String::new())],
                    3,
                )]),
            },
            Family {
                name: "aof_b_seconds",
                help: "B.",
                samples: Samples::Gauge(vec![(Vec::new(), 1.5)]),
            },
            Family {
                name: "aof_c_seconds",
                help: "C.",
                samples: Samples::Histogram(vec![(vec![("x", "ä".to_owned())], histogram)]),
            },
        ]
    }

    #[test]
    fn text_as_prometheus_has_it() {
        let text = "\
# HELP aof_a_total A.
# TYPE aof_a_total counter
aof_a_total{x=\"q\\\"b\\\\n\\nl\",y=\"\"} 3
# HELP aof_b_seconds B.
# TYPE aof_b_seconds gauge
aof_b_seconds 1.5
# HELP aof_c_seconds C.
# TYPE aof_c_seconds histogram
aof_c_seconds_bucket{x=\"ä\",le=\"0.5\"} 0
aof_c_seconds_bucket{x=\"ä\",le=\"60.0\"} 1
aof_c_seconds_bucket{x=\"ä\",le=\"+Inf\"} 1
aof_c_seconds_sum{x=\"ä\"} 1
aof_c_seconds_count{x=\"ä\"} 1
";
        assert_eq!(render(&families(), ExpositionFormat::Text), text);
    }

    #[test]
    fn open_metrics_has_units_and_an_end() {
        let text = render(&families(), ExpositionFormat::OpenMetrics);
        assert!(text.starts_with("# HELP aof_a A.\n# TYPE aof_a counter\naof_a_total{"), "{text}");
        assert!(
            text.contains("# TYPE aof_c_seconds histogram\n# UNIT aof_c_seconds seconds\n"),
            "{text}"
        );
        assert!(text.ends_with("\n# EOF\n"), "{text}");
    }
}
