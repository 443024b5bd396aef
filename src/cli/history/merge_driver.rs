//! `aof merge-driver`

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::cli::error::CliError;
use crate::cli::output::{RED, YELLOW, styled};
use crate::cli::session::Session;
use crate::domain::{AgentId, TaskId};
use crate::files::printable::inert;
use crate::git::{GitError, Marks};
use crate::history::merge::merge::{Conflict, FileMerge, Versions};
use crate::history::merge_driver::driver::{Driven, Purpose, drive};
use crate::history::merge_driver::message::list_superseded;
use crate::history::merge_driver::replayed::{Refused, refused_as_staged};
use crate::history::merge_driver::settle::{End, Settled, done_anew, settle};
use crate::history::merge_driver::taken_back::{TakenBack, would_take_back};
use crate::history::merge_driver::unfinished::{Unfinished, would_commit_unfinished};
use crate::project::error::error::OpsError;
use crate::rules::merge::{Dropped, Superseded};
use crate::system::shell::{all_quoted, quoted};
use crate::tasks::apply::change::DryRun;

/// Merge two versions of a task file by their meaning, for git
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Git runs it, as `.gitattributes` and its configuration say; `aof init` sets both up. The result takes the place of OURS.

Exits with 1 where a person has to decide: what is disputed stands between git's markers. In a rebase, cherry-pick or revert also where
the rules refuse the commit at its new place: then OURS stays as it is.")]
pub(crate) struct Args {
    /// What both sides had (%O); an empty file where they had nothing
    #[arg(required_unless_present_any = ["message", "settle"])]
    base: Option<PathBuf>,
    /// The version that is merged into (%A)
    #[arg(required_unless_present_any = ["message", "settle"])]
    ours: Option<PathBuf>,
    /// The version that comes in (%B)
    #[arg(required_unless_present_any = ["message", "settle"])]
    theirs: Option<PathBuf>,
    /// Where the file is in the repository (%P)
    #[arg(required_unless_present_any = ["message", "settle"])]
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
    #[arg(long, conflicts_with_all = ["base", "ours", "theirs", "path", "message"])]
    settle: bool,
    /// List in this message what the merge under way supersedes, and exit with 1 where a commit that is rebased, picked or reverted cannot
    /// stand, or would take back what was committed since git looked: for a `prepare-commit-msg` hook, with what git tells it
    #[arg(long, value_name = "FILE", num_args = 1..=2, conflicts_with_all = ["base", "ours", "theirs", "path"])]
    message: Option<Vec<PathBuf>>,
    /// With `--settle`: show what would be done, and do nothing
    #[arg(long, requires = "settle")]
    dry_run: bool,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    if args.settle {
        return settle_all(session, if args.dry_run { DryRun::Yes } else { DryRun::No });
    }
    match (&args.message, &args.base, &args.ours, &args.theirs, &args.path) {
        (Some(message), ..) => list(session, message),
        (None, Some(base), Some(ours), Some(theirs), Some(path)) => {
            merge(session, args, [base, ours, theirs], path)
        }
        _ => Ok(ExitCode::FAILURE),
    }
}

fn merge(
    session: &Session,
    args: &Args,
    files: [&PathBuf; 3],
    path: &str,
) -> Result<ExitCode, CliError> {
    let [base, ours, theirs] = files.map(|file| read(session, file));
    let (base, ours, theirs) = (base?, ours?, theirs?);
    let versions = Versions {
        base: Some(&base[..]).filter(|base| !base.is_empty()),
        ours: &ours,
        theirs: &theirs,
    };
    // A git that does not know a placeholder hands it on as it stands.
    let label =
        |said: &str, default: &str| if said.starts_with('%') { default } else { said }.to_owned();
    let marks = Marks {
        size: args.marker_size.parse().unwrap_or(Marks::default().size),
        ours: label(&args.ours_label, "ours"),
        theirs: label(&args.theirs_label, "theirs"),
    };
    let open = |root: &Path| session.workspace_at(root, "merge-driver");
    let purpose = Purpose::of(marks);
    let merged = match drive(&open, &session.directory, path, versions, &purpose)? {
        Driven::Merged(merged) => merged,
        Driven::Refused(refused) => {
            tell_refused(session, Some(path), &refused);
            return Ok(ExitCode::FAILURE);
        }
    };
    let place = session.directory.join(files[1]);
    std::fs::write(&place, &merged.bytes).map_err(|cause| CliError::output(&place, &cause))?;
    // What is merged for git alone is nobody's to know or to solve.
    if purpose != Purpose::Base {
        tell(session, path, &merged);
    }
    Ok(if merged.conflicts.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says why a commit that git makes again cannot stand, and how to go on.
fn tell_refused(session: &Session, path: Option<&str>, refused: &Refused) {
    tell_superseded(session, &refused.superseded);
    let at = path.map(|path| format!(" {}:", inert(path))).unwrap_or_default();
    let (problem, fix) = (inert(&refused.problem()), inert(&session.git_said(refused.fix())));
    session.output.say(format!("{}{at} {problem}\n{fix}", styled(RED, "conflict:")));
}

fn tell_superseded(session: &Session, superseded: &[Superseded]) {
    for Superseded { ticket, visit, by } in superseded {
        let who =
            |agent: &Option<AgentId>| agent.as_ref().map_or("nobody", AgentId::as_str).to_owned();
        session.output.say(format!(
            "{ticket}: `{}` by {} counts no more: the visit was ended by {} on the branch that is merged into",
            visit.outcome,
            who(&visit.agent),
            who(by)
        ));
    }
}

fn tell(session: &Session, path: &str, merged: &FileMerge) {
    tell_superseded(session, &merged.superseded);
    for dropped in &merged.dropped {
        session.output.say(match dropped {
            Dropped::Claim { ticket, agent } => format!("{ticket}: {agent} has it no more"),
            Dropped::Hold { ticket } => format!("{ticket}: it is not held any more"),
            Dropped::Unblocking { ticket } => format!("{ticket}: it is blocked again"),
        });
    }
    for comment in &merged.left_out {
        let (path, comment) = (inert(path), inert(comment));
        session.output.say(format!(
            "{path}: a comment found no place, since its line is gone or another one stands there: `{comment}`"
        ));
    }
    for conflict in &merged.conflicts {
        let what = match conflict {
            Conflict::Key(key) => format!("both sides changed `{key}`, each otherwise"),
            Conflict::Body => "both sides changed the same lines of the text".to_owned(),
            Conflict::File(why) => format!("it was not merged by its meaning: {why}"),
            Conflict::OtherTask(other) => {
                tell_mixed(session, path, other);
                continue;
            }
        };
        let path = inert(path);
        session.output.say(format!("{} {path}: {}", styled(RED, "conflict:"), inert(&what)));
    }
    if merged.conflicts.iter().any(|conflict| !matches!(conflict, Conflict::OtherTask(_))) {
        let what = format!(
            "edit `{}`, then `git add {}`; until then this task waits, and no other",
            inert(path),
            inert(&quoted(path))
        );
        session.output.say(session.git_said(what));
    }
}

/// Says that git has two tasks for one. Whoever stages what stands there now loses what was done with the other one.
fn tell_mixed(session: &Session, path: &str, other: &TaskId) {
    session.output.say(format!(
        "{} {}: git takes it for the file of `{other}`, renamed; nothing of the two was mixed\n{}",
        styled(RED, "conflict:"),
        inert(path),
        session.git_said(format!(
            "`aof merge-driver --settle` brings both right; what is added before that loses what was done with `{other}`"
        ))
    ));
}

fn settle_all(session: &Session, mode: DryRun) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("merge-driver")?;
    let settled = settle(&workspace, mode)?;
    let mut code = ExitCode::SUCCESS;
    for Settled { path, end } in &settled {
        let (shown, named) = (inert(path), inert(&quoted(path)));
        let (what, fix): (&str, _) = match end {
            End::Merged(merge) if merge.conflicts.is_empty() => {
                let would = if mode == DryRun::Yes { "would be " } else { "" };
                session.output.line(format!("{shown}: {would}merged and staged"));
                tell(session, path, merge);
                continue;
            }
            End::Merged(merge) => {
                tell(session, path, merge);
                code = ExitCode::FAILURE;
                continue;
            }
            End::Refused(refused) => {
                tell_refused(session, Some(path), refused);
                code = ExitCode::FAILURE;
                continue;
            }
            End::Removed => (
                "one side changed it, and the other removed it",
                format!("keep it with `git add {named}`, or let it go with `git rm {named}`"),
            ),
            End::Touched => (
                "somebody has changed it by hand, so it is left as it is",
                format!(
                    "`git add {named}` when all is solved; or begin anew with `git checkout --merge {named}`"
                ),
            ),
            End::MixedAndTouched => (
                "git took it for the file of another task, renamed, and somebody has changed it by hand since",
                format!(
                    "keep what you wrote elsewhere, take it away with `rm {named}`, and settle again: `aof merge-driver --settle`"
                ),
            ),
            End::Unknown(other) => (
                &*format!(
                    "git took it for the file of `{other}`, renamed, and does not tell what the two were"
                ),
                inert(&done_anew(&workspace, path)),
            ),
            End::Waits(other) => (
                &*format!("git took it for the file of `{other}`, renamed"),
                format!("solve `{other}` first, and settle again: `aof merge-driver --settle`"),
            ),
            End::Lawless => (
                "the branch that is merged into has no rules that are valid",
                format!("solve it by hand, then `git add {named}`"),
            ),
        };
        session.output.say(format!(
            "{} {shown}: {what}\n{}",
            styled(RED, "conflict:"),
            session.git_said(fix)
        ));
        code = ExitCode::FAILURE;
    }
    if settled.is_empty() {
        session.output.line("git left no task file unmerged");
    }
    if mode == DryRun::Yes {
        session.output.say("dry run: nothing was written");
    }
    Ok(code)
}

/// Has the message of a merge list what it supersedes, and no more. Whether one is under way git's folder tells, and not where the message is from: it
/// may be given on the command line. Whatever else git makes a message for is left as it is; but a commit that git makes again is refused
/// where it cannot stand: git commits nothing then.
fn list(session: &Session, message: &[PathBuf]) -> Result<ExitCode, CliError> {
    let [file, ..] = message else { return Ok(ExitCode::FAILURE) };
    let bytes = read(session, file)?;
    // What is judged goes by lines that git wrote, whatever the others are in (`i18n.commitEncoding`).
    let text = String::from_utf8_lossy(&bytes);
    let open = |root: &Path| session.workspace_at(root, "merge-driver");
    let refused = refused_as_staged(&open, &session.directory, &text);
    let left = would_commit_unfinished(&open, &session.directory);
    let taken_back = would_take_back(&open, &session.directory);
    // What cannot be judged keeps nobody from committing.
    let unjudged = [refused.as_ref().err(), left.as_ref().err(), taken_back.as_ref().err()];
    if let Some(error) = unjudged.into_iter().flatten().find(|error| !is_no_project(error)) {
        tell_unjudged(session, error);
    }
    let (refused, left, taken_back) =
        (refused.unwrap_or_default(), left.unwrap_or_default(), taken_back.unwrap_or_default());
    for refused in &refused {
        tell_refused(session, None, refused);
    }
    if let Some(Unfinished { first }) = &left {
        let finish = first.as_ref().map_or_else(
            || "`aof doctor --fix` finishes it; then commit".to_owned(),
            |first| {
                let first = session.git_said(format!("`{first}`"));
                format!("{first} first: as long as that is so, nothing can finish it; then `aof doctor --fix` does, and you can commit")
            },
        );
        session.output.say(format!(
            "{} a command of aof was stopped in the middle of a change, and this would commit what it left as yours\n{}",
            styled(RED, "not committed:"),
            inert(&finish)
        ));
    }
    // Whatever a killed command left is finished first.
    let TakenBack { earlier, out } = if left.is_some() { TakenBack::default() } else { taken_back };
    if !earlier.is_empty() {
        tell_taken_back(session, &earlier);
    }
    if !out.is_empty() {
        tell_taken_out(session, &out);
    }
    if left.is_some() || !refused.is_empty() || !earlier.is_empty() || !out.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    // Only what is understood can be given back with more in it.
    let Cow::Borrowed(text) = text else { return Ok(ExitCode::SUCCESS) };
    let after = match list_superseded(&open, &session.directory, text) {
        Err(error) if is_no_project(&error) => return Ok(ExitCode::SUCCESS),
        listed => listed?,
    };
    if after != text {
        let place = session.directory.join(file);
        std::fs::write(&place, after).map_err(|cause| CliError::output(&place, &cause))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what was committed while git was at the person's commit, and would be taken back.
fn tell_taken_back(session: &Session, paths: &[String]) {
    let names: Vec<&str> = paths.iter().map(String::as_str).collect();
    let fix = format!(
        "`git restore --staged {}` has git's index have what is committed; then commit again",
        all_quoted(names.iter().copied())
    );
    session.output.say(format!(
        "{} git's index has an earlier version of {}, which nobody staged: a command of aof was faster than git, and this would take back \
         what it has committed\n{}",
        styled(RED, "not committed:"),
        inert(&names.join(", ")),
        inert(&session.git_said(fix))
    ));
}

/// Says which tasks would not be in git any more, though their files stand.
fn tell_taken_out(session: &Session, paths: &[String]) {
    let names: Vec<&str> = paths.iter().map(String::as_str).collect();
    let fix = format!(
        "`git restore --staged {}` has git's index have what is committed; then commit again. Where nobody is to have it any more, remove \
         the file as well",
        all_quoted(names.iter().copied())
    );
    session.output.say(format!(
        "{} this would take {} out of git, though it stands here: somebody took it out of git's index, or git had read that before it \
         came\n{}",
        styled(RED, "not committed:"),
        inert(&names.join(", ")),
        inert(&session.git_said(fix))
    ));
}

/// Says in a line why a commit is made without having been judged.
fn tell_unjudged(session: &Session, error: &OpsError) {
    let why = inert(&session.git_said(error.problem())).replace('\n', " ");
    session.output.say(format!(
        "{} {why}; `aof verify` judges the commit once it is made",
        styled(YELLOW, "not judged:")
    ));
}

/// Whoever keeps git's folder elsewhere (`git --git-dir`) has no project that aof finds, and commits all the same.
fn is_no_project(error: &OpsError) -> bool {
    matches!(error, OpsError::Git(GitError::NoRepository { .. }))
}

fn read(session: &Session, file: &Path) -> Result<Vec<u8>, CliError> {
    let path = session.directory.join(file);
    std::fs::read(&path).map_err(|cause| CliError::input(path.display().to_string(), &cause))
}
