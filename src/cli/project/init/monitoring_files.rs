//! What `aof init --observability` did with `monitoring/`.

use serde_json::{Value, json};

use crate::cli::output::{BOLD, CYAN, styled};
use crate::cli::session::Session;
use crate::setup::monitoring::{Equipment, Monitored};
use crate::tasks::apply::change::DryRun;

/// Shows what became of each file, and what to do with them.
pub(crate) fn show(session: &Session, monitored: &Monitored, mode: DryRun) {
    let output = session.output;
    let adds = monitored.of(Equipment::New).next().is_some();
    let commit =
        monitored.commit.map(|id| format!(", commit {:.7}", id.to_string())).unwrap_or_default();
    output.line(match (adds, mode) {
        (false, _) => "alerts, dashboard and runbook: nothing to add".to_owned(),
        (true, DryRun::Yes) => "would add alerts, a dashboard and a runbook".to_owned(),
        (true, DryRun::No) => format!("added alerts, a dashboard and a runbook{commit}"),
    });
    for (file, fate) in &monitored.files {
        let fate = match fate {
            Equipment::New => "new",
            Equipment::Unchanged => "as it was",
            Equipment::Kept => "yours, left as it is",
            Equipment::TakenAway => {
                "taken away, which is not committed: commit that first to have it anew"
            }
            Equipment::Ignored => "left out: git ignores it",
        };
        output.line(format!(
            "  {}  {}  ({fate})",
            styled(CYAN, format!("{:<29}", file.place())),
            file.what()
        ));
    }
    if mode == DryRun::No && adds {
        output.line(format!("\n{}", styled(BOLD, "try next:")));
        for (command, what) in [
            ("aof watch --metrics 127.0.0.1:9464", "serve the metrics"),
            (
                "prometheus --config.file monitoring/prometheus.yml",
                "scrape them, and evaluate the alerts",
            ),
        ] {
            output.line(format!("  {command:<50}  {what}"));
        }
    }
}

/// Returns the same for programs.
pub(crate) fn value(monitored: &Monitored) -> Value {
    let of = |fate| monitored.of(fate).map(|file| json!(file.place())).collect::<Vec<_>>();
    json!({
        "written": of(Equipment::New),
        "unchanged": of(Equipment::Unchanged),
        "kept": of(Equipment::Kept),
        "takenAway": of(Equipment::TakenAway),
        "ignored": of(Equipment::Ignored),
        "commit": monitored.commit.map(|commit| commit.to_string()),
    })
}
