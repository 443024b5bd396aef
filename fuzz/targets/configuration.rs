//! project.yaml and org.yaml are read and judged, whatever stands in them; what is wrong is told at a place that exists.

#![no_main]

use aof::files::config::configuration::{Source, read};
use aof::files::diagnostic::{ColorMode, Diagnostic};
use aof::rules::Rules;
use libfuzzer_sys::fuzz_target;

// org.yaml, a zero byte, project.yaml.
fuzz_target!(|bytes: &[u8]| {
    let mut files = bytes.splitn(2, |byte| *byte == 0);
    let (org, project) = (files.next().unwrap_or_default(), files.next().unwrap_or_default());
    let source = |name: &str, bytes: &[u8]| Source { name: name.to_owned(), bytes: bytes.to_vec() };
    let reading = read(&[source("org.yaml", org), source("project.yaml", project)]);
    let shown = |diagnostic: &Diagnostic| {
        assert!(diagnostic.line >= 1 && diagnostic.column >= 1, "{diagnostic:?}");
        assert!(!diagnostic.render(ColorMode::Plain).is_empty(), "it can be shown");
    };
    reading.faults.iter().for_each(shown);
    let configuration = reading.configuration;
    let findings = match Rules::new(configuration.project.clone(), configuration.org.clone()) {
        Ok((_, findings)) => findings,
        Err(findings) => {
            assert!(!findings.is_empty(), "what is refused has a reason");
            findings
        }
    };
    for own in findings {
        let (range, help) = (own.range.as_ref(), own.help.as_deref());
        shown(&configuration.diagnostic(
            own.severity,
            own.code,
            &own.at,
            range,
            &own.message,
            help,
        ));
    }
});
