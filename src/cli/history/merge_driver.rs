//! `aof merge-driver`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::cli::{CliError, CliResult, Session, red, yellow};
use crate::domain::AgentId;
use crate::files::printable::inert;
use crate::git::{GitError, Marks, Repository};
use crate::history::merge_driver::commit_check::broken_histories;
use crate::history::merge_driver::driver::{drive, is_virtual_base};
use crate::history::merge_driver::settle::settle;
use crate::project::error::ProjectError;
use crate::rules::merge::{Dropped, Superseded};
use crate::system::shell::{all_quoted, quoted};
use crate::tasks::merge::versions::{Conflict, FileMerge, Versions};
use crate::tasks::plan::DryRun;

/// Merge two versions of a task file by their meaning, for git
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Git runs it, as `.gitattributes` and its configuration say; `aof init` sets both up. The result takes the place of OURS.

Exits with 1 where a person has to decide: what is disputed stands between git's markers.")]
pub(crate) struct Args {
    /// What both sides had (%O); an empty file where they had nothing
    #[arg(required_unless_present_any = ["check_staged", "message", "settle"])]
    base: Option<PathBuf>,
    /// The version that is merged into (%A)
    #[arg(required_unless_present_any = ["check_staged", "message", "settle"])]
    ours: Option<PathBuf>,
    /// The version that comes in (%B)
    #[arg(required_unless_present_any = ["check_staged", "message", "settle"])]
    theirs: Option<PathBuf>,
    /// Where the file is in the repository (%P)
    #[arg(required_unless_present_any = ["check_staged", "message", "settle"])]
    path: Option<String>,
    /// How long conflict markers are (%L)
    #[arg(long, value_name = "N", default_value = "7")]
    marker_size: String,
    /// What our side is called in markers (%X)
    #[arg(long, value_name = "LABEL", default_value = "ours", allow_hyphen_values = true)]
    ours_label: String,
    /// What their side is called in markers (%Y)
    #[arg(long, value_name = "LABEL", default_value = "theirs", allow_hyphen_values = true)]
    theirs_label: String,
    /// Merge by their meaning the task files that git left unmerged, and stage them: where the driver was not set up in time, or git
    /// did not see that a finished task had moved into the archive
    #[arg(long, conflicts_with_all = ["base", "ours", "theirs", "path"])]
    settle: bool,
    /// Exit with 1 if the commit that is about to be made takes entries out of a task's history: for the hooks `pre-commit` and
    /// `pre-merge-commit`
    #[arg(long, conflicts_with_all = ["base", "ours", "theirs", "path", "settle"])]
    check_staged: bool,
    /// Does nothing: hooks of an earlier version call it
    #[arg(long, hide = true, num_args = 1..=2)]
    message: Option<Vec<PathBuf>>,
    /// With `--settle`: show what would be done, and do nothing
    #[arg(long, requires = "settle")]
    dry_run: bool,
}

pub(crate) fn run(session: &Session, args: &Args) -> CliResult {
    match (&args.base, &args.ours, &args.theirs, &args.path) {
        _ if args.settle => {
            settle_all(session, if args.dry_run { DryRun::Yes } else { DryRun::No })
        }
        _ if args.check_staged => Ok(check_staged(session)),
        (Some(base), Some(ours), Some(theirs), Some(path)) => {
            merge(session, args, [base, ours, theirs], path)
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn merge(session: &Session, args: &Args, files: [&PathBuf; 3], path: &str) -> CliResult {
    let read = |file: &PathBuf| {
        let path = session.directory.join(file);
        std::fs::read(&path).map_err(|cause| CliError::input(path.display(), &cause))
    };
    let [base, ours, theirs] = files.map(read);
    let (base, ours, theirs) = (base?, ours?, theirs?);
    let base = Some(&base[..]).filter(|base| !base.is_empty());
    let versions = Versions { base, ours: &ours, theirs: &theirs };
    // A git that does not know a placeholder passes it on as it stands.
    let label = |label: &str, default: &str| {
        if label.starts_with('%') { default } else { label }.to_owned()
    };
    let marks = Marks {
        size: args.marker_size.parse().unwrap_or(Marks::default().size),
        ours: label(&args.ours_label, "ours"),
        theirs: label(&args.theirs_label, "theirs"),
    };
    let open = |root: &Path| session.workspace_at(root, "merge-driver");
    let merged = drive(&open, &session.directory, path, versions, &marks)?;
    let place = session.directory.join(files[1]);
    std::fs::write(&place, &merged.bytes).map_err(|cause| CliError::output(&place, &cause))?;
    // Nobody sees a virtual base.
    if !is_virtual_base(&marks) {
        show_merge(session, path, &merged);
    }
    Ok(if merged.conflicts.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show_merge(session: &Session, path: &str, merged: &FileMerge) {
    let output = session.output;
    for Superseded { ticket, visit, by } in &merged.superseded {
        let who = |agent: &Option<AgentId>| {
            agent.as_ref().map_or("nobody".to_owned(), AgentId::to_string)
        };
        let (outcome, agent, by) = (&visit.outcome, who(&visit.agent), who(by));
        output.say(format!(
            "{ticket}: `{outcome}` by {agent} counts no more: the visit was ended by {by} on the branch that is merged into"
        ));
    }
    for dropped in &merged.dropped {
        output.say(match dropped {
            Dropped::Claim { ticket, agent } => format!("{ticket}: {agent} has it no more"),
            Dropped::Hold { ticket } => format!("{ticket}: it is not held any more"),
            Dropped::Unblocking { ticket } => format!("{ticket}: it is blocked again"),
        });
    }
    let (shown, named) = (inert(path), inert(&quoted(path)));
    for comment in &merged.left_out {
        session.output.say(format!(
            "{shown}: a comment found no place, since its line is gone or another one stands there: `{}`",
            inert(comment)
        ));
    }
    let mut fix =
        format!("edit `{shown}`, then `git add {named}`; until then this task waits, and no other");
    for conflict in &merged.conflicts {
        let problem = match conflict {
            Conflict::Key(key) => format!("both sides changed `{key}`, each otherwise"),
            Conflict::Body => "both sides changed the same lines of the text".to_owned(),
            Conflict::File(why) => format!("it was not merged by its meaning: {why}"),
            Conflict::OtherTask(other) => {
                fix = format!(
                    "`aof merge-driver --settle` merges both tasks; what is added before that loses what was done with `{other}`"
                );
                format!("git takes it for the file of `{other}`, renamed; the two were not mixed")
            }
        };
        session.output.say(format!("{} {shown}: {}", red("conflict:"), inert(&problem)));
    }
    if !merged.conflicts.is_empty() {
        session.output.say(session.git_said(fix));
    }
}

fn settle_all(session: &Session, mode: DryRun) -> CliResult {
    let workspace = session.workspace("merge-driver")?;
    let tasks = settle(&workspace, mode)?;
    let mut code = ExitCode::SUCCESS;
    for task in &tasks {
        let merge = task.state.merge();
        let shown = inert(&task.path);
        if merge.is_some_and(|merge| merge.conflicts.is_empty()) {
            let would = if mode == DryRun::Yes { "would be " } else { "" };
            session.output.line(format!("{shown}: {would}merged and staged"));
        } else {
            code = ExitCode::FAILURE;
        }
        if let Some(merge) = merge {
            show_merge(session, &task.path, merge);
            continue;
        }
        let (problem, fix) = task.told();
        let fix = session.git_said(fix);
        session.output.say(format!("{} {shown}: {problem}\n{fix}", red("conflict:")));
    }
    if tasks.is_empty() {
        session.output.line("git left no task file unmerged");
    }
    if mode == DryRun::Yes {
        session.output.say("dry run: nothing was written");
    }
    Ok(code)
}

/// Refuses a commit that takes entries out of a history. What cannot be judged is committed all the same.
fn check_staged(session: &Session) -> ExitCode {
    let broken = Repository::discover(&session.directory)
        .map_err(ProjectError::from)
        .and_then(|repository| broken_histories(&repository));
    let paths = match broken {
        Ok(paths) if paths.is_empty() => return ExitCode::SUCCESS,
        // `git --git-dir` keeps git's folder where no project is found.
        Err(ProjectError::Git(GitError::NoRepository { .. })) => return ExitCode::SUCCESS,
        Err(error) => {
            let why = inert(&session.git_said(error.problem())).replace('\n', " ");
            session.output.say(format!(
                "{} {why}; `aof verify` judges the commit once it is made",
                yellow("not judged:")
            ));
            return ExitCode::SUCCESS;
        }
        Ok(paths) => paths,
    };
    let fix = format!(
        "`git restore --staged {}` puts back what is committed; then commit again",
        all_quoted(paths.iter().map(String::as_str))
    );
    session.output.say(format!(
        "{} this would take entries out of the history of {}: what is staged is older than what is committed, or was changed by hand\n{}",
        red("not committed:"),
        inert(&paths.join(", ")),
        inert(&session.git_said(fix))
    ));
    ExitCode::FAILURE
}
