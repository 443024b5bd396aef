//! Metrics as text, in either format.
//!
//! Bounds of classes are written alike in both (`le="1.0"`): for Prometheus the text is the identity of a series.

use super::{Family, Format, Labels, Samples};
use crate::domain::histogram::Histogram;

/// What a family is measured in, if its name says so.
const SECONDS: &str = "_seconds";

/// Returns the families as text.
pub(crate) fn render<'f>(families: impl IntoIterator<Item = &'f Family>, format: Format) -> String {
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
    if format == Format::OpenMetrics {
        text.push_str("# EOF\n");
    }
    text
}

/// Writes what the family is. Only `OpenMetrics` knows units, and counters by their names without `_total`.
fn head(text: &mut String, family: &Family, format: Format) {
    let kind = family.samples.kind();
    let suffix = if format == Format::Text && kind == "counter" { "_total" } else { "" };
    let name = format!("{}{suffix}", family.name);
    let help = match format {
        Format::Text => family.help.replace('\\', "\\\\").replace('\n', "\\n"),
        Format::OpenMetrics => escaped(family.help),
    };
    text.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    if format == Format::OpenMetrics && family.name.ends_with(SECONDS) {
        text.push_str(&format!("# UNIT {name} seconds\n"));
    }
}

fn classes(text: &mut String, name: &str, labels: &Labels, histogram: &Histogram) {
    let bucket = format!("{name}_bucket");
    for (bound, count) in histogram.classes() {
        // `{:?}` writes 1 as `1.0`, as OpenMetrics wants it.
        let bound = bound.map_or_else(|| "+Inf".to_owned(), |bound| format!("{bound:?}"));
        sample(text, &bucket, labels, Some(&bound), &count.to_string());
    }
    sample(text, &format!("{name}_sum"), labels, None, &histogram.sum().to_string());
    sample(text, &format!("{name}_count"), labels, None, &histogram.count().to_string());
}

fn sample(text: &mut String, name: &str, labels: &Labels, bound: Option<&str>, value: &str) {
    text.push_str(name);
    let own = labels.iter().map(|(name, value)| (*name, value.as_str()));
    for (place, (label, value)) in own.chain(bound.map(|bound| ("le", bound))).enumerate() {
        text.push(if place == 0 { '{' } else { ',' });
        text.push_str(label);
        text.push_str("=\"");
        text.push_str(&escaped(value));
        text.push('"');
    }
    if !labels.is_empty() || bound.is_some() {
        text.push('}');
    }
    text.push(' ');
    text.push_str(value);
    text.push('\n');
}

/// Nothing in a value ends its quotes or its line.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn families() -> Vec<Family> {
        let mut histogram = Histogram::new(&[0.5, 60.0]);
        histogram.observe(1.0);
        vec![
            Family {
                name: "aof_a",
                help: "A \\ and\na line.",
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
# HELP aof_a_total A \\\\ and\\na line.
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
        assert_eq!(render(&families(), Format::Text), text);
    }

    #[test]
    fn open_metrics_has_units_and_an_end() {
        let text = render(&families(), Format::OpenMetrics);
        assert!(
            text.starts_with(
                "# HELP aof_a A \\\\ and\\na line.\n# TYPE aof_a counter\naof_a_total{"
            ),
            "{text}"
        );
        assert!(
            text.contains("# TYPE aof_c_seconds histogram\n# UNIT aof_c_seconds seconds\n"),
            "{text}"
        );
        assert!(text.ends_with("\n# EOF\n"), "{text}");
    }
}
