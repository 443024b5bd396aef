//! What `aof init --agents` did with the files of coding agents.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::render::output::{BOLD, CYAN, YELLOW, styled};
use crate::cli::session::Session;
use crate::files::printable::inert;
use crate::setup::agent_files::AgentFile;
use crate::setup::agent_wiring::{Wired, WiredFile, Wiring};
use crate::tasks::apply::change::DryRun;

/// Shows what became of each file, and what is to be written by hand.
pub(crate) fn show(session: &Session, wired: &Wired, mode: DryRun) {
    let output = session.output;
    let refused = wired.refused().count();
    let commit =
        wired.commit.map(|id| format!(", commit {:.7}", id.to_string())).unwrap_or_default();
    let told = match (wired.changes(), mode, refused) {
        (true, DryRun::Yes, _) => "would tell coding agents how to work on tasks",
        (true, DryRun::No, _) => "told coding agents how to work on tasks",
        (false, _, 0) => "coding agents know how to work on tasks already: nothing to change",
        (false, ..) => "nothing was changed",
    };
    output.line(format!("{told}{commit}"));
    for file in &wired.files {
        let (path, what) = (inert(file.path.as_str()), file.file.what());
        let fate = match &file.fate {
            Wiring::Unchanged => "  (as it was)",
            Wiring::Written { before: Some(_), .. } => "  (changed)",
            Wiring::Written { before: None, .. } => "  (new)",
            Wiring::Refused(_) => "  (left alone, see below)",
        };
        output.line(format!("  {}  {what}{fate}", styled(CYAN, format!("{path:<21}"))));
    }
    if mode == DryRun::Yes {
        wired.files.iter().for_each(|file| show_change(session, file));
    }
    for (file, obstacle) in wired.refused() {
        output.say(format!("{} {}", styled(YELLOW, "left alone:"), inert(&obstacle.problem)));
        output.say(format!("{} {}", styled(BOLD, "hint:"), inert(&obstacle.fix)));
        let is_text = matches!(file.file, AgentFile::Instructions | AgentFile::ClaudeInstructions);
        let by_hand =
            obstacle.code == "ignored_file" || obstacle.code.ends_with("_file") && !is_text;
        if by_hand {
            output.say(format!(
                "or write it by hand into `{}`:\n{}",
                file.path,
                indented("  ", &file.file.snippet())
            ));
        }
    }
}

/// Shows the lines that go and come in one file; those around them are as they were.
fn show_change(session: &Session, file: &WiredFile) {
    let Wiring::Written { before, after } = &file.fate else { return };
    let (old, new): (Vec<&str>, Vec<&str>) =
        (before.as_deref().unwrap_or_default().lines().collect(), after.lines().collect());
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    session.output.line(format!("\n{}", inert(file.path.as_str())));
    for (sign, lines) in [("-", &old[..old.len() - end]), ("+", &new[..new.len() - end])] {
        for line in lines {
            session.output.line(inert(&format!("{sign} {line}")));
        }
    }
}

fn indented(before: &str, text: &str) -> String {
    text.lines().map(|line| format!("{before}{line}")).collect::<Vec<_>>().join("\n")
}

/// Returns the exit code: files that cannot be merged are invalid, and what is not committed is a conflict.
pub(crate) fn exit_code(wired: &Wired) -> ExitCode {
    let codes = wired.refused().map(|(_, obstacle)| match obstacle.code {
        "unmergeable_file" | "unreadable_file" => 6,
        "ignored_file" => 1,
        _ => 5,
    });
    ExitCode::from(codes.max().unwrap_or(0))
}

/// Returns the same for programs.
pub(crate) fn value(wired: &Wired) -> Value {
    let of = |wanted: fn(&Wiring) -> bool| -> Vec<&str> {
        wired
            .files
            .iter()
            .filter(|file| wanted(&file.fate))
            .map(|file| file.path.as_str())
            .collect()
    };
    let refused = wired.refused().map(|(file, obstacle)| {
        json!({
            "path": file.path.as_str(),
            "error": obstacle.code,
            "message": format!("{}\n\n{}", obstacle.problem, obstacle.fix),
            "snippet": file.file.snippet(),
        })
    });
    json!({
        "written": of(|fate| matches!(fate, Wiring::Written { .. })),
        "unchanged": of(|fate| matches!(fate, Wiring::Unchanged)),
        "refused": refused.collect::<Vec<_>>(),
        "commit": wired.commit.map(|commit| commit.to_string()),
    })
}
