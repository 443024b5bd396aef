//! What `aof init --agents` and `--observability` did with the files of coding agents and with `monitoring/`.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::{Output, Session, bold, cyan, of_commit, yellow};
use crate::files::printable::inert;
use crate::setup::agent_files::AgentFile;
use crate::setup::agent_wiring::{Wired, WiredFile, Wiring};
use crate::setup::monitoring::MonitoringFile;
use crate::setup::monitoring::{Equipment, Monitored};
use crate::tasks::plan::DryRun;

/// What was added to the project besides its rules.
pub(crate) struct Added {
    pub agents: Option<Wired>,
    pub monitoring: Option<Monitored>,
}

impl Added {
    /// Adds it to the JSON of the command.
    pub(crate) fn put(&self, value: &mut Value) {
        if let Some(wired) = &self.agents {
            value["agents"] = agents_value(wired);
        }
        if let Some(monitored) = &self.monitoring {
            let of = |fate| monitored.of(fate).map(MonitoringFile::place).collect::<Vec<_>>();
            value["observability"] = json!({
                "written": of(Equipment::New),
                "unchanged": of(Equipment::Unchanged),
                "kept": of(Equipment::Kept),
                "takenAway": of(Equipment::TakenAway),
                "ignored": of(Equipment::Ignored),
                "commit": monitored.commit,
            });
        }
    }

    /// Shows it, each part behind `gap`.
    pub(crate) fn show(&self, session: &Session, mode: DryRun, gap: &str) {
        if let Some(wired) = &self.agents {
            session.output.print(gap);
            show_agents(session.output, wired, mode);
        }
        if let Some(monitored) = &self.monitoring {
            session.output.print(gap);
            show_monitoring(session.output, monitored, mode);
        }
    }

    /// Returns the exit code: files that cannot be merged are invalid, uncommitted changes are a conflict.
    pub(crate) fn exit_code(&self) -> ExitCode {
        let refused = self.agents.iter().flat_map(Wired::refused);
        let codes = refused.map(|(_, obstacle)| match obstacle.code {
            "unmergeable_file" | "unreadable_file" => 6,
            "ignored_file" => 1,
            _ => 5,
        });
        ExitCode::from(codes.max().unwrap_or(0))
    }
}

fn agents_value(wired: &Wired) -> Value {
    let of = |wanted: fn(&Wiring) -> bool| -> Vec<&str> {
        let files = wired.files.iter().filter(|file| wanted(&file.fate));
        files.map(|file| file.path.as_str()).collect()
    };
    let refused = wired.refused().map(|(file, obstacle)| {
        json!({
            "path": file.path,
            "error": obstacle.code,
            "message": format!("{}\n\n{}", obstacle.problem, obstacle.fix),
            "snippet": file.file.snippet(),
        })
    });
    json!({
        "written": of(|fate| matches!(fate, Wiring::Written { .. })),
        "unchanged": of(|fate| matches!(fate, Wiring::Unchanged)),
        "refused": refused.collect::<Vec<_>>(),
        "commit": wired.commit,
    })
}

fn show_agents(output: Output, wired: &Wired, mode: DryRun) {
    let told = match (wired.changes(), mode, wired.refused().count()) {
        (true, DryRun::Yes, _) => "would tell coding agents how to work on tasks",
        (true, DryRun::No, _) => "told coding agents how to work on tasks",
        (false, _, 0) => "coding agents know how to work on tasks already: nothing to change",
        (false, ..) => "nothing was changed",
    };
    output.line(format!("{told}{}", of_commit(wired.commit)));
    for file in &wired.files {
        let fate = match &file.fate {
            Wiring::Unchanged => "  (as it was)",
            Wiring::Written { before: Some(_), .. } => "  (changed)",
            Wiring::Written { before: None, .. } => "  (new)",
            Wiring::Refused(_) => "  (left alone, see below)",
        };
        let path = cyan(format!("{:<21}", inert(file.path.as_str())));
        output.line(format!("  {path}  {}{fate}", file.file.what()));
    }
    if mode == DryRun::Yes {
        wired.files.iter().for_each(|file| show_change(output, file));
    }
    for (file, obstacle) in wired.refused() {
        output.say(format!("{} {}", yellow("left alone:"), inert(&obstacle.problem)));
        output.say(format!("{} {}", bold("hint:"), inert(&obstacle.fix)));
        let is_text = matches!(file.file, AgentFile::Instructions | AgentFile::ClaudeInstructions);
        if obstacle.code == "ignored_file" || obstacle.code.ends_with("_file") && !is_text {
            let snippet = file.file.snippet();
            let lines = snippet.lines().map(|line| format!("\n  {line}"));
            let lines = lines.collect::<Vec<_>>().concat();
            output.say(format!("or write it by hand into `{}`:{lines}", file.path));
        }
    }
}

/// Shows the removed and the added lines of one file.
fn show_change(output: Output, file: &WiredFile) {
    let Wiring::Written { before, after } = &file.fate else { return };
    let old: Vec<&str> = before.as_deref().unwrap_or_default().lines().collect();
    let new: Vec<&str> = after.lines().collect();
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    output.line(format!("\n{}", inert(file.path.as_str())));
    for (sign, lines) in [("-", &old[..old.len() - end]), ("+", &new[..new.len() - end])] {
        for line in lines {
            output.line(inert(&format!("{sign} {line}")));
        }
    }
}

fn show_monitoring(output: Output, monitored: &Monitored, mode: DryRun) {
    let adds = monitored.of(Equipment::New).next().is_some();
    output.line(match (adds, mode) {
        (false, _) => "alerts, dashboard and runbook: nothing to add".to_owned(),
        (true, DryRun::Yes) => "would add alerts, a dashboard and a runbook".to_owned(),
        (true, DryRun::No) => {
            format!("added alerts, a dashboard and a runbook{}", of_commit(monitored.commit))
        }
    });
    for (file, fate) in &monitored.files {
        let fate = match fate {
            Equipment::New => "new",
            Equipment::Unchanged => "as it was",
            Equipment::Kept => "yours, left as it is",
            Equipment::TakenAway => {
                "deleted, which is not committed: commit that first to have it anew"
            }
            Equipment::Ignored => "left out: git ignores it",
        };
        let place = cyan(format!("{:<29}", file.place()));
        output.line(format!("  {place}  {}  ({fate})", file.what()));
    }
    if mode == DryRun::No && adds {
        output.line(format!("\n{}", bold("try next:")));
        let (watch, prometheus) = (
            "aof watch --metrics 127.0.0.1:9464",
            "prometheus --config.file monitoring/prometheus.yml",
        );
        output.line(format!("  {watch:<50}  serve the metrics"));
        output.line(format!("  {prometheus}  scrape them, and evaluate the alerts"));
    }
}
