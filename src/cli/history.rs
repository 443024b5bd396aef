//! Commands about commits: `aof merge-driver`, `aof sync` and `aof verify`.

mod staged;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser;
use serde_json::json;

use crate::cli::{
    CliError, CliResult, DryRunOption, Output, Session, bold, counted, cyan, dim, green, indented,
    red, short, text_input, yellow,
};
use crate::domain::AgentId;
use crate::domain::ssh::trusted_keys::TrustedKeys;
use crate::files::allowed_signers;
use crate::files::printable::inert;
use crate::git::{HistoryOverride, Marks, Prompts};
use crate::history::merge_driver::{drive, is_virtual_base};
use crate::history::sync::outcome::{CommitLine, SyncEnd, SyncResult};
use crate::history::sync::sync_loop::{ForeignCommits, SyncOptions, SyncStart, sync};
use crate::history::unmerged::merge_unmerged;
use crate::history::verify::commit_archive::{
    JudgedPush, ProjectFolder, Update, pushed_value, verify_pushed,
};
use crate::history::verify::finding::HistoryFinding;
use crate::history::verify::history::{Range, RangeStart, Verification, verify};
use crate::project::named_branch::{UnpushedPointer, unpushed_pointer};
use crate::rules::replay::merge::{Dropped, Superseded};
use crate::system::terminal::quoted;
use crate::tasks::merge::versions::{Conflict, FileMerge, Versions};
use crate::tasks::plan::DryRun;

/// Merge two versions of a task file by their meaning, for git
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Git runs it, as `.gitattributes` and its configuration say; `aof init` sets both up. The result takes the place of OURS.

Exits with 1 where a person has to decide: what is disputed stands between git's markers.")]
pub(crate) struct MergeDriverArgs {
    /// What both sides had (%O); an empty file where they had nothing
    #[arg(required_unless_present_any = ["check_staged", "settle"])]
    base: Option<PathBuf>,
    /// The version that is merged into (%A)
    #[arg(required_unless_present_any = ["check_staged", "settle"])]
    ours: Option<PathBuf>,
    /// The version that comes in (%B)
    #[arg(required_unless_present_any = ["check_staged", "settle"])]
    theirs: Option<PathBuf>,
    /// Where the file is in the repository (%P)
    #[arg(required_unless_present_any = ["check_staged", "settle"])]
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
    /// Exit with 1 if the commit that is about to be made takes back what is committed of a task: for the hooks `pre-commit` and
    /// `pre-merge-commit`
    #[arg(long, conflicts_with_all = ["base", "ours", "theirs", "path", "settle"])]
    check_staged: bool,
    /// With `--settle`: show what would be done, and do nothing
    #[arg(long, requires = "settle")]
    dry_run: bool,
}

pub(crate) fn run_merge_driver(session: &Session, args: &MergeDriverArgs) -> CliResult {
    match (&args.base, &args.ours, &args.theirs, &args.path) {
        _ if args.settle => {
            merge_all_unmerged(session, if args.dry_run { DryRun::Yes } else { DryRun::No })
        }
        _ if args.check_staged => Ok(staged::check(session)),
        (Some(base), Some(ours), Some(theirs), Some(path)) => {
            // For git, 1 means a conflict; with 2, git's configuration merges the file as text.
            merge(session, args, [base, ours, theirs], path).map_err(|error| CliError::Command {
                code: "not_merged",
                problem: error.problem(),
                fix: Some("git merges it as text: resolve that by hand".to_owned()),
                exit_code: 2,
            })
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn merge(session: &Session, args: &MergeDriverArgs, files: [&PathBuf; 3], path: &str) -> CliResult {
    let read = |file: &PathBuf| {
        let path = session.directory.join(file);
        std::fs::read(&path).map_err(|cause| CliError::input(path.display(), &cause))
    };
    let [base, ours, theirs] = files.map(read);
    let (base, ours, theirs) = (base?, ours?, theirs?);
    let base = Some(&base[..]).filter(|base| !base.is_empty());
    let versions = Versions { base, ours: &ours, theirs: &theirs };
    // A git that does not know a placeholder passes it on literally.
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
    // The merge of a virtual base is not shown.
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
            "{ticket}: `{outcome}` by {agent} no longer counts: {by} ended the visit on the branch that is merged into"
        ));
    }
    for dropped in &merged.dropped {
        output.say(match dropped {
            Dropped::Claim { ticket, agent } => format!("{ticket}: {agent} no longer has it"),
            Dropped::Hold { ticket } => format!("{ticket}: it is no longer held"),
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
        format!("edit `{shown}`, then `git add {named}`; until then only this task waits");
    for conflict in &merged.conflicts {
        let problem = match conflict {
            Conflict::Key(key) => format!("both sides changed `{key}` differently"),
            Conflict::Body => "both sides changed the same lines of the text".to_owned(),
            Conflict::File(why) => format!("it was not merged by its meaning: {why}"),
            Conflict::OtherTask(other) => {
                fix = format!(
                    "`aof merge-driver --settle` merges both tasks; adding the file before that loses what was done with `{other}`"
                );
                format!("git takes it for the file of `{other}`, renamed; the two were not mixed")
            }
        };
        session.output.say(format!("{} {shown}: {}", red("conflict:"), inert(&problem)));
    }
    if !merged.conflicts.is_empty() {
        session.output.say(session.runnable(fix));
    }
}

fn merge_all_unmerged(session: &Session, mode: DryRun) -> CliResult {
    let workspace = session.workspace("merge-driver")?;
    let tasks = merge_unmerged(&workspace, mode)?;
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
        let (problem, fix) = task.problem_and_fix();
        let fix = session.runnable(fix);
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

/// The number of commits that are listed in each direction.
const FEW: usize = 10;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Any git remote will do. Nothing is forced and no commit is rewritten: the remote takes what is here only \
if nobody was faster; else it is fetched and merged again, at most ten times. Of two completions of one \
visit, the one that the remote had first counts; the other is listed, here and in the merge commit.

What you have not committed is never touched: where it is in the way, nothing happens, and you are told. \
Commits of yours that change more than tasks are pushed as well, but only you and git merge them.

Without a network nothing is lost: what is here waits, and the next sync brings it.
`git: {sync: true}` in project.yaml lets `aof watch` sync by itself, and claims count only once the remote \
has them. See docs/guides/teams.md.")]
pub(crate) struct SyncArgs {
    /// Sync with this remote
    #[arg(long, value_name = "NAME")]
    remote: Option<String>,
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

pub(crate) fn run_sync(session: &Session, args: &SyncArgs) -> CliResult {
    let workspace = session.workspace("sync")?;
    let mode = args.dry_run_option.mode();
    let options = SyncOptions {
        remote: args.remote.as_deref(),
        first: SyncStart::Fetch,
        foreign: ForeignCommits::Pushed,
        prompts: Prompts::AtTerminal,
        dry_run: mode,
    };
    let synced = sync(&workspace, &options)?;
    let pointer = unpushed_pointer(&workspace)?;
    if session.output.is_json() {
        let mut value = synced.value();
        if let Some(UnpushedPointer { problem, fix }) = &pointer {
            value["pointer"] = json!({"problem": problem, "fix": fix});
        }
        session.make_runnable(&mut value);
        session.output.change_data(value, mode);
    } else {
        let mut page = page(session, &synced, mode);
        if let Some(UnpushedPointer { problem, fix }) = pointer {
            page.push_str(&format!("{} {}\n  {}\n", yellow("!"), inert(&problem), inert(&fix)));
        }
        session.output.print(&page);
    }
    // Being offline is not a failure: the commits here wait.
    Ok(ExitCode::from(match synced.end {
        SyncEnd::Same | SyncEnd::Rehearsed | SyncEnd::Offline { .. } => 0,
        SyncEnd::Rejected { .. } => 1,
        SyncEnd::Manual(_) => 5,
        SyncEnd::Unsettled => 7,
    }))
}

fn page(session: &Session, synced: &SyncResult, mode: DryRun) -> String {
    let would = mode == DryRun::Yes;
    let mut lines = Vec::new();
    list(&mut lines, if would { "Would come" } else { "Came" }, &synced.received);
    list(&mut lines, if would { "Would go" } else { "Went" }, &synced.pushed);
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
            let [problem, fix] = [problem, fix].map(|text| indented(&session.runnable(text), "  "));
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

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof verify                        the whole history of the branch
  aof verify --since v1.4           what came since then
  aof verify origin/main..HEAD      what would be pushed
  aof verify --stdin                what is pushed, in a `pre-receive` hook (docs/guides/ci.md)
  aof verify --trusted-keys FILE    signatures by these keys alone, which the repository cannot change

Every commit is checked against the one before it. No entry of a history is changed or removed. Each new entry is what the engine \
decides by the rules that were committed before it, and the commit says of itself what the entry says. People may edit what is theirs.
Exits with 1 if anything is wrong.")]
pub(crate) struct VerifyArgs {
    /// The commits to check, as in `A..B`, or all that led to a commit
    #[arg(value_name = "RANGE", conflicts_with = "since", value_parser = NonEmptyStringValueParser::new())]
    range: Option<String>,
    /// Check only what came after this commit, which must still be part of the history
    #[arg(long, value_name = "REV", value_parser = NonEmptyStringValueParser::new())]
    since: Option<String>,
    /// Check what a push brings, as git tells its `pre-receive` hook: a line `OLD NEW REF` for each reference
    #[arg(long, conflicts_with_all = ["range", "since"])]
    stdin: bool,
    /// The project in this folder of the repository, relative to its top; `.` is the top. Needs no worktree
    #[arg(long, value_name = "FOLDER")]
    project: Option<ProjectFolder>,
    /// Trust only the keys in this `allowed_signers` file with signatures, whatever org.yaml says
    #[arg(long, value_name = "FILE")]
    trusted_keys: Option<PathBuf>,
    /// Fail at a squash, a commit that brings several steps of a task at once, even if the rules allow each
    #[arg(long)]
    strict: bool,
}

impl VerifyArgs {
    fn range(&self) -> Range {
        // `A..` and `..B` mean HEAD, as for git.
        let head = |text: &str| if text.is_empty() { "HEAD" } else { text }.to_owned();
        match self.range.as_deref().map(|range| (range, range.split_once(".."))) {
            Some((_, Some((other, until)))) => {
                Range { from: RangeStart::Excluding(head(other)), until: head(until) }
            }
            Some((until, None)) => Range { from: RangeStart::Beginning, until: until.to_owned() },
            None => Range {
                from: self.since.clone().map_or(RangeStart::Beginning, RangeStart::Ancestor),
                until: "HEAD".to_owned(),
            },
        }
    }
}

pub(crate) fn run_verify(session: &Session, args: &VerifyArgs) -> CliResult {
    let keys = args.trusted_keys.as_deref().map(trusted_keys).transpose()?;
    let (project, keys) = (args.project.as_ref(), keys.as_ref());
    if args.stdin {
        return verify_push(session, project, keys, args.strict);
    }
    let range = args.range();
    let mut verified = if project.is_some() || !session.is_in_worktree()? {
        session.commit_archive("verify")?.verify(project, &range, keys)?
    } else {
        verify(&session.workspace("verify")?, &range, keys)?
    };
    if args.strict {
        verified.refuse_squashes();
    }
    if session.output.is_json() {
        session.output.data(verified.value());
    } else {
        show(session.output, &verified);
    }
    Ok(exit_code(verified.open().next().is_none()))
}

/// Checks a push before it is accepted.
fn verify_push(
    session: &Session,
    project: Option<&ProjectFolder>,
    keys: Option<&TrustedKeys>,
    is_strict: bool,
) -> CliResult {
    let output = session.output;
    let commit_archive = session.commit_archive("verify")?;
    let updates: Result<Vec<Update>, _> = text_input::text("-")?.lines().map(str::parse).collect();
    let updates = updates.map_err(|fault| {
        let fix =
            "`--stdin` is for what git tells a `pre-receive` hook: `OLD NEW REF`, line by line";
        CliError::refused("bad_update", fault.to_string(), fix)
    })?;
    let mut pushed = verify_pushed(&commit_archive, project, &updates, keys)?;
    if is_strict {
        for one in &mut pushed {
            one.verified.refuse_squashes();
        }
    }
    if output.is_json() {
        output.data(pushed_value(&pushed));
    } else if pushed.is_empty() {
        output.line("nothing of a project is pushed");
    } else {
        for JudgedPush { reference, project, verified } in &pushed {
            let place = match project.as_str() {
                "" => String::new(),
                folder => format!(" in {folder}"),
            };
            output.line(bold(inert(&format!("{reference}{place}"))));
            show(output, verified);
        }
    }
    Ok(exit_code(pushed.iter().all(|one| one.verified.open().next().is_none())))
}

fn exit_code(holds: bool) -> ExitCode {
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Parses an `allowed_signers` file.
fn trusted_keys(file: &Path) -> CliResult<TrustedKeys> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|cause| CliError::input(&name, &cause))?;
    allowed_signers::parse(&text).map_err(|faults| {
        let lines = faults.iter().map(|fault| format!("{name}:{}: {}", fault.line, fault.problem));
        CliError::refused(
            "unreadable_keys",
            lines.collect::<Vec<_>>().join("\n"),
            "write one key a line, as in `human-ann namespaces=\"aof\" ssh-ed25519 AAAA..`; see `man ssh-keygen`, ALLOWED SIGNERS",
        )
    })
}

fn show(output: Output, verified: &Verification) {
    verified.findings.iter().for_each(|finding| output.line(finding_text(finding)));
    let note = |text: String| output.line(format!("{} {text}", yellow("note:")));
    for end in &verified.ends {
        let end = short(end);
        note(format!(
            "history ends at commit {end} here: earlier commits cannot be checked; `git fetch --unshallow` gets them"
        ));
    }
    for pretence in &verified.history_overrides {
        let text = match pretence {
            HistoryOverride::Grafts => {
                "`.git/info/grafts` replaces parents of commits here; that is ignored: `aof verify` checks the history that the \
                 commits name; delete the file unless you know what it is for"
            }
            HistoryOverride::Replacements => {
                "git replaces some objects here (`git replace --list`); that is ignored: `aof verify` checks the history that \
                 the commits name; `git replace --delete` takes one away"
            }
        };
        output.line(format!("{} {text}", yellow("warning:")));
    }
    if verified.renamed > 0 {
        let changes = counted(verified.renamed, "change");
        note(format!("{changes} made by rules whose hash this version computes differently"));
    }
    let unseen = verified.landed.iter().filter(|landed| !landed.is_here).count();
    if unseen > 0 {
        let landings = counted(unseen, "landing");
        note(format!(
            "{landings} not checked: the landed commit is not here; `git fetch` the branch it is on"
        ));
    }
    let changes = if verified.changes == 1 { "change" } else { "changes" };
    let commits = counted(verified.commits, "commit");
    let judged = format!("{commits}, {} {changes} of a task", verified.changes);
    output.line(match verified.open().count() {
        0 => format!("{}: {judged}", green("all is as the rules allow")),
        open => format!("{}: {judged}", red(format!("{} wrong", counted(open, "thing")))),
    });
}

fn finding_text(finding: &HistoryFinding) -> String {
    let head = match finding.covered {
        None if !finding.is_fault() => yellow("note:"),
        None => red("wrong:"),
        Some(_) => yellow("put right:"),
    };
    let task = finding.task.as_ref().map(|task| format!("{}: ", bold(task)));
    let mut text = format!(
        "{head} {}{} [{}]\n  commit   {} {}\n  by       {}, {}\n  expected {}\n  found    {}",
        task.unwrap_or_default(),
        finding.rule.sentence(),
        finding.rule,
        short(finding.commit),
        inert(&finding.subject),
        inert(&finding.author),
        finding.authored,
        inert(&finding.expected),
        inert(&finding.found),
    );
    if let Some(commit) = finding.covered {
        text.push_str(&format!("\n  put right by commit {}", short(commit)));
    }
    text
}
