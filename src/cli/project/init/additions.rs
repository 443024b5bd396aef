//! The additions to a project beside its rules, as `aof init` shows them: files for coding agents and for monitoring.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::{Output, bold, cyan, of_commit, yellow};
use crate::files::printable::inert;
use crate::setup::agent_files::AgentFile;
use crate::setup::agent_wiring::{WiredAgents, WiredFile, Wiring};
use crate::setup::monitoring::{MonitoringFate, MonitoringFile, MonitoringReport};
use crate::tasks::plan::DryRun;

/// The width of the paths of a new project.
const NARROW: usize = 22;
/// The width of the paths of coding agents.
const WIDE: usize = 33;

/// The additions to the project besides its rules: files for agents and for monitoring.
pub(super) struct Added {
    pub agents: Option<WiredAgents>,
    pub monitoring: Option<MonitoringReport>,
}

impl Added {
    /// Adds the additions to the JSON of the command.
    pub(super) fn put(&self, value: &mut Value) {
        if let Some(wired) = &self.agents {
            value["agents"] = agents_value(wired);
        }
        if let Some(monitored) = &self.monitoring {
            let places =
                |fate| monitored.with_fate(fate).map(MonitoringFile::place).collect::<Vec<_>>();
            value["observability"] = json!({
                "written": places(MonitoringFate::New),
                "unchanged": places(MonitoringFate::Unchanged),
                "kept": places(MonitoringFate::Kept),
                "takenAway": places(MonitoringFate::TakenAway),
                "ignored": places(MonitoringFate::Ignored),
                "commit": monitored.commit,
            });
        }
    }

    /// Shows the additions to an existing project.
    pub(super) fn show(&self, output: Output, mode: DryRun) {
        if let Some(wired) = &self.agents {
            show_agents(output, wired, mode);
        }
        match (&self.monitoring, &self.agents) {
            (Some(monitored), None) => show_monitoring(output, monitored, mode),
            (Some(monitored), Some(_)) => show_monitored(output, WIDE, monitored),
            (None, _) => {}
        }
        if self.agents.as_ref().is_some_and(WiredAgents::changes) && mode == DryRun::No {
            let next = "start one here, and say \"take the next task\" (--hooks keeps Claude Code at it; more: aof init --help)";
            output.line(format!("{} {next}", bold("next:")));
        }
        self.show_details(output, mode);
    }

    /// Shows the additions to a new project, a line for each.
    pub(super) fn show_items(&self, output: Output) {
        if let Some(wired) = &self.agents {
            let changed = wired.files.iter().filter(|file| file.fate.changes());
            let mut paths = changed.map(|file| file.path.as_str());
            let path = match (paths.next(), paths.count()) {
                (Some(first), 0) => first.to_owned(),
                (Some(first), others) => format!("{first} and {others} more"),
                (None, _) => AgentFile::Instructions.places()[0].to_owned(),
            };
            let commit = of_commit(wired.commit);
            item(output, &path, &format!("connect coding agents{}{commit}", as_agent(wired)));
        }
        if let Some(monitored) = &self.monitoring {
            show_monitored(output, NARROW, monitored);
        }
    }

    /// Shows each changed line in a dry run, and the files that were left alone.
    pub(super) fn show_details(&self, output: Output, mode: DryRun) {
        let Some(wired) = &self.agents else { return };
        if mode == DryRun::Yes {
            wired.files.iter().for_each(|file| show_change(output, file));
        }
        show_refused(output, wired);
    }

    /// Returns the exit code: 6 for files that cannot be merged, 5 for uncommitted changes, 1 for ignored files.
    pub(super) fn exit_code(&self) -> ExitCode {
        let refused = self.agents.iter().flat_map(WiredAgents::refused);
        let codes = refused.map(|(_, obstacle)| match obstacle.code {
            "unmergeable_file" | "unreadable_file" => 6,
            "ignored_file" => 1,
            _ => 5,
        });
        ExitCode::from(codes.max().unwrap_or(0))
    }
}

/// Shows in one line what was done with the files for monitoring.
fn show_monitored(output: Output, width: usize, monitored: &MonitoringReport) {
    let all = MonitoringFile::ALL.len();
    let what = match monitored.with_fate(MonitoringFate::New).count() {
        0 => "nothing to add".to_owned(),
        new if new == all => "alerts, a dashboard and a runbook".to_owned(),
        new => format!("{new} of {all} files for alerts, a dashboard and a runbook"),
    };
    row(output, width, "monitoring/", &format!("{what}{}", of_commit(monitored.commit)));
}

fn agents_value(wired: &WiredAgents) -> Value {
    let of = |wanted: fn(&Wiring) -> bool| -> Vec<&str> {
        let files = wired.files.iter().filter(|file| wanted(&file.fate));
        files.map(|file| file.path.as_str()).collect()
    };
    let refused = wired.refused().map(|(file, obstacle)| {
        json!({
            "path": file.path,
            "error": obstacle.code,
            "message": format!("{}\n\n{}", obstacle.problem, obstacle.fix),
            "snippet": file.file.snippet(wired.agent.as_ref()),
        })
    });
    json!({
        "written": of(|fate| matches!(fate, Wiring::Written { .. })),
        "unchanged": of(|fate| matches!(fate, Wiring::Unchanged)),
        "refused": refused.collect::<Vec<_>>(),
        "commit": wired.commit,
    })
}

fn show_agents(output: Output, wired: &WiredAgents, mode: DryRun) {
    let summary = match (wired.changes(), mode, wired.refused().count()) {
        (true, DryRun::Yes, _) => "would connect coding agents",
        (true, DryRun::No, _) => "connected coding agents",
        (false, _, 0) => "nothing to change: coding agents are connected",
        (false, ..) => "nothing was changed",
    };
    output.line(format!("{summary}{}{}", as_agent(wired), of_commit(wired.commit)));
    for files in wired.files.chunk_by(|one, next| one.file.reader() == next.file.reader()) {
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let mut fates: Vec<&str> = files.iter().map(|file| fate(&file.fate)).collect();
        fates.dedup();
        let what = format!("{}  ({})", files[0].file.reader(), fates.join(", "));
        row(output, WIDE, &paths.join(", "), &what);
    }
}

/// Returns the action on a file of coding agents, in a word or two.
fn fate(fate: &Wiring) -> &'static str {
    match fate {
        Wiring::Unchanged => "as it was",
        Wiring::Written { before: Some(_), .. } => "changed",
        Wiring::Written { before: None, .. } => "new",
        Wiring::Refused(_) => "left alone, see below",
    }
}

fn as_agent(wired: &WiredAgents) -> String {
    wired.agent.as_ref().map(|agent| format!(" as {}", cyan(agent))).unwrap_or_default()
}

fn show_refused(output: Output, wired: &WiredAgents) {
    for (file, obstacle) in wired.refused() {
        output.say(format!("{} {}", yellow("left alone:"), inert(&obstacle.problem)));
        output.say(format!("{} {}", bold("hint:"), inert(&obstacle.fix)));
        let is_text = matches!(file.file, AgentFile::Instructions | AgentFile::ClaudeInstructions);
        if obstacle.code == "ignored_file" || obstacle.code.ends_with("_file") && !is_text {
            let snippet = file.file.snippet(wired.agent.as_ref());
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

fn show_monitoring(output: Output, monitored: &MonitoringReport, mode: DryRun) {
    let adds = monitored.with_fate(MonitoringFate::New).next().is_some();
    output.line(match (adds, mode) {
        (false, _) => "alerts, dashboard and runbook: nothing to add".to_owned(),
        (true, DryRun::Yes) => "would add alerts, a dashboard and a runbook".to_owned(),
        (true, DryRun::No) => {
            format!("added alerts, a dashboard and a runbook{}", of_commit(monitored.commit))
        }
    });
    for (file, fate) in &monitored.files {
        let fate = match fate {
            MonitoringFate::New => "new",
            MonitoringFate::Unchanged => "as it was",
            MonitoringFate::Kept => "yours, left as it is",
            MonitoringFate::TakenAway => {
                "deleted, which is not committed: commit that first to have it again"
            }
            MonitoringFate::Ignored => "left out: git ignores it",
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

/// Shows a line about a file or folder of a new project.
pub(super) fn item(output: Output, path: &str, what: &str) {
    row(output, NARROW, path, what);
}

fn row(output: Output, width: usize, path: &str, what: &str) {
    output.line(format!("  {}  {what}", cyan(inert(&format!("{path:<width$}")))));
}
