//! `aof sync`

use std::process::ExitCode;

use serde_json::json;

use crate::cli::error::CliError;
use crate::cli::input::arguments::Rehearsal;
use crate::cli::render::output::{BOLD, CYAN, DIM, GREEN, YELLOW, styled};
use crate::cli::session::Session;
use crate::files::printable::inert;
use crate::git::Prompts;
use crate::history::sync::outcome::{CommitLine, SyncEnd, Synced};
use crate::history::sync::rounds::{First, Strangers};
use crate::history::sync::rounds::{Wish, sync};
use crate::tasks::apply::change::DryRun;

/// So many commits are listed each way.
const FEW: usize = 10;

/// Bring this clone and its remote together: get what others did, merge it by meaning, give what you did
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Any git remote will do. Nothing is forced and no commit is rewritten: the remote takes what is here only
if nobody was faster; else it is fetched and merged again, at most ten times. Of two completions of one
visit, the one that the remote had first counts; the other is listed, here and in the merge commit.

What you have not committed is never touched: where it is in the way, nothing happens, and you are told.
Commits of yours that change more than tasks go along, but are merged by nobody but you and git.

Without a network nothing is lost: what is here waits, and the next sync brings it.
`git: {sync: true}` in project.yaml has `aof watch` sync by itself, and claims count only once the remote
has them. See docs/guides/teams.md.")]
pub(crate) struct Args {
    /// Sync with this remote
    #[arg(long, value_name = "NAME")]
    remote: Option<String>,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("sync")?;
    let mode = args.rehearsal.mode();
    let wish = Wish {
        remote: args.remote.as_deref(),
        first: First::Fetch,
        strangers: Strangers::Offered,
        prompts: Prompts::AtTerminal,
        dry_run: mode,
    };
    let synced = sync(&workspace, &wish)?;
    if session.output.is_json() {
        let mut value = synced.value();
        if mode == DryRun::Yes {
            value["dryRun"] = json!(true);
        }
        session.git_said_in(&mut value);
        session.output.data(value);
    } else {
        session.output.print(&page(session, &synced, mode));
    }
    Ok(ExitCode::from(code(&synced.end)))
}

/// Being offline is no failure: what is here waits. What people have to see to is.
fn code(end: &SyncEnd) -> u8 {
    match end {
        SyncEnd::Same | SyncEnd::Rehearsed | SyncEnd::Offline { .. } => 0,
        SyncEnd::Rejected { .. } => 1,
        SyncEnd::Left(_) => 5,
        SyncEnd::Unsettled => 7,
    }
}

fn page(session: &Session, synced: &Synced, mode: DryRun) -> String {
    let upstream = inert(&synced.upstream.name());
    let would = mode == DryRun::Yes;
    let mut text = String::new();
    list(&mut text, if would { "Would come" } else { "Came" }, &synced.came);
    list(&mut text, if would { "Would go" } else { "Went" }, &synced.went);
    if let Some(merge) = synced.merge.filter(|_| !would) {
        text.push_str(&format!(
            "{} as {}\n",
            styled(BOLD, "Merged"),
            styled(DIM, &merge.to_string()[..7])
        ));
    }
    if !synced.superseded.is_empty() {
        text.push_str(&format!(
            "{}, because the remote had another one first\n",
            styled(BOLD, "Superseded")
        ));
        for loss in &synced.superseded {
            text.push_str(&format!("  {} {}\n", styled(YELLOW, "!"), inert(&loss.what)));
        }
    }
    text.push_str(&end(session, synced, &upstream));
    text
}

fn list(text: &mut String, title: &str, lines: &[CommitLine]) {
    if lines.is_empty() {
        return;
    }
    text.push_str(&format!("{}\n", styled(BOLD, title)));
    for line in lines.iter().take(FEW) {
        let commit = &line.commit.to_string()[..7];
        let author = styled(DIM, format!("({})", inert(&line.author)));
        text.push_str(&format!("  {} {} {author}\n", styled(CYAN, commit), inert(&line.subject)));
    }
    if lines.len() > FEW {
        text.push_str(&format!("  ... and {} more\n", lines.len() - FEW));
    }
}

fn end(session: &Session, synced: &Synced, upstream: &str) -> String {
    match (synced.trouble(), &synced.end) {
        (Some((problem, fix)), _) => {
            let [problem, fix] = [problem, fix].map(|text| indented(&session.git_said(text)));
            format!("{} {problem}\n  {fix}\n", styled(YELLOW, "!"))
        }
        (None, SyncEnd::Rehearsed) => "dry run: nothing was changed\n".to_owned(),
        (None, _) if synced.is_idle() => {
            format!("{}\n", styled(GREEN, format!("nothing to do: the same as {upstream}")))
        }
        (None, _) => format!("{}\n", styled(GREEN, format!("in step with {upstream}"))),
    }
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(inert).collect();
    lines.join("\n  ")
}
