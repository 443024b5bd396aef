//! `aof sync`

use std::process::ExitCode;

use crate::cli::{CliResult, Rehearsal, Session, bold, cyan, dim, green, indented, short, yellow};
use crate::files::printable::inert;
use crate::git::Prompts;
use crate::history::sync::outcome::{CommitLine, SyncEnd, Synced};
use crate::history::sync::sync_run::{ForeignCommits, SyncOptions, SyncStart, sync};
use crate::tasks::plan::DryRun;

/// How many commits are listed each way.
const FEW: usize = 10;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Any git remote will do. Nothing is forced and no commit is rewritten: the remote takes what is here only
if nobody was faster; else it is fetched and merged again, at most ten times. Of two completions of one
visit, the one that the remote had first counts; the other is listed, here and in the merge commit.

What you have not committed is never touched: where it is in the way, nothing happens, and you are told.
Commits of yours that change more than tasks are pushed as well, but only you and git merge them.

Without a network nothing is lost: what is here waits, and the next sync brings it.
`git: {sync: true}` in project.yaml lets `aof watch` sync by itself, and claims count only once the remote
has them. See docs/guides/teams.md.")]
pub(crate) struct SyncArgs {
    /// Sync with this remote
    #[arg(long, value_name = "NAME")]
    remote: Option<String>,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &SyncArgs) -> CliResult {
    let workspace = session.workspace("sync")?;
    let mode = args.rehearsal.mode();
    let wish = SyncOptions {
        remote: args.remote.as_deref(),
        first: SyncStart::Fetch,
        strangers: ForeignCommits::Offered,
        prompts: Prompts::AtTerminal,
        dry_run: mode,
    };
    let synced = sync(&workspace, &wish)?;
    if session.output.is_json() {
        let mut value = synced.value();
        session.git_said_in(&mut value);
        session.output.data_of_act(value, mode);
    } else {
        session.output.print(&page(session, &synced, mode));
    }
    // Being offline is no failure: what is here waits.
    Ok(ExitCode::from(match synced.end {
        SyncEnd::Same | SyncEnd::Rehearsed | SyncEnd::Offline { .. } => 0,
        SyncEnd::Rejected { .. } => 1,
        SyncEnd::Left(_) => 5,
        SyncEnd::Unsettled => 7,
    }))
}

fn page(session: &Session, synced: &Synced, mode: DryRun) -> String {
    let would = mode == DryRun::Yes;
    let mut lines = Vec::new();
    list(&mut lines, if would { "Would come" } else { "Came" }, &synced.came);
    list(&mut lines, if would { "Would go" } else { "Went" }, &synced.went);
    if let Some(merge) = synced.merge.filter(|_| !would) {
        lines.push(format!("{} as {}", bold("Merged"), dim(short(merge))));
    }
    if !synced.superseded.is_empty() {
        lines.push(format!("{}, because the remote had another one first", bold("Superseded")));
    }
    for loss in &synced.superseded {
        lines.push(format!("  {} {}", yellow("!"), inert(&loss.what)));
    }
    let upstream = inert(&synced.upstream.name());
    match (synced.trouble(), &synced.end) {
        (Some((problem, fix)), _) => {
            let [problem, fix] = [problem, fix].map(|text| indented(&session.git_said(text), "  "));
            lines.push(format!("{} {problem}\n  {fix}", yellow("!")));
        }
        (None, SyncEnd::Rehearsed) => lines.push("dry run: nothing was changed".to_owned()),
        (None, _) if synced.is_idle() => {
            lines.push(green(format!("nothing to do: the same as {upstream}")));
        }
        (None, _) => lines.push(green(format!("in step with {upstream}"))),
    }
    lines.join("\n") + "\n"
}

fn list(lines: &mut Vec<String>, title: &str, commits: &[CommitLine]) {
    if !commits.is_empty() {
        lines.push(bold(title));
    }
    for line in commits.iter().take(FEW) {
        let author = dim(format!("({})", inert(&line.author)));
        lines.push(format!("  {} {} {author}", cyan(short(line.commit)), inert(&line.subject)));
    }
    if commits.len() > FEW {
        lines.push(format!("  ... and {} more", commits.len() - FEW));
    }
}
