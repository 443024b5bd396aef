//! `aof verify`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser;

use crate::cli::{
    CliError, CliResult, Output, Session, bold, counted, green, red, short, text_input, yellow,
};
use crate::domain::ssh::trusted_keys::TrustedKeys;
use crate::files::allowed_signers;
use crate::files::printable::inert;
use crate::git::Pretence;
use crate::history::verify::commit_archive::ProjectFolder;
use crate::history::verify::commit_archive::{JudgedPush, Update, pushed_value, verify_pushed};
use crate::history::verify::finding::HistoryFinding;
use crate::history::verify::history::{Range, RangeStart, Verified, verify};

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
}

impl VerifyArgs {
    fn range(&self) -> Range {
        // `A..` and `..B` mean HEAD, as to git.
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

pub(crate) fn run(session: &Session, args: &VerifyArgs) -> CliResult {
    let keys = args.trusted_keys.as_deref().map(trusted_keys).transpose()?;
    let (project, keys) = (args.project.as_ref(), keys.as_ref());
    if args.stdin {
        return verify_push(session, project, keys);
    }
    let range = args.range();
    let verified = if project.is_some() || !session.is_in_worktree()? {
        session.past("verify")?.verify(project, &range, keys)?
    } else {
        verify(&session.workspace("verify")?, &range, keys)?
    };
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
) -> CliResult {
    let output = session.output;
    let past = session.past("verify")?;
    let updates: Result<Vec<Update>, _> = text_input::text("-")?.lines().map(str::parse).collect();
    let updates = updates.map_err(|fault| {
        let fix =
            "`--stdin` is for what git tells a `pre-receive` hook: `OLD NEW REF`, line by line";
        CliError::refused("bad_update", fault.to_string(), fix)
    })?;
    let pushed = verify_pushed(&past, project, &updates, keys)?;
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

/// Reads an `allowed_signers` file.
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

fn show(output: Output, verified: &Verified) {
    verified.findings.iter().for_each(|wrong| output.line(finding(wrong)));
    let note = |text: String| output.line(format!("{} {text}", yellow("note:")));
    for end in &verified.ends {
        let end = short(end);
        note(format!(
            "history ends at commit {end} here: what was before cannot be judged; `git fetch --unshallow` brings it"
        ));
    }
    for pretence in &verified.pretences {
        let text = match pretence {
            Pretence::Grafts => {
                "git is told other parents of commits here (`.git/info/grafts`); that is ignored: what is judged is the history that the \
                 commits name; delete the file unless you know what it is for"
            }
            Pretence::Replacements => {
                "git shows other objects in place of some here (`git replace --list`); that is ignored: what is judged is the history that \
                 the commits name; `git replace --delete` takes one away"
            }
        };
        output.line(format!("{} {text}", yellow("warning:")));
    }
    if verified.renamed > 0 {
        let changes = counted(verified.renamed, "change");
        note(format!("{changes} made by rules that this version calls by another hash"));
    }
    let changes = if verified.changes == 1 { "change" } else { "changes" };
    let commits = counted(verified.commits, "commit");
    let judged = format!("{commits}, {} {changes} of a task", verified.changes);
    output.line(match verified.open().count() {
        0 => format!("{}: {judged}", green("all is as the rules allow")),
        open => format!("{}: {judged}", red(format!("{} wrong", counted(open, "thing")))),
    });
}

fn finding(wrong: &HistoryFinding) -> String {
    let head = match wrong.covered {
        None if !wrong.rule.is_fault() => yellow("note:"),
        None => red("wrong:"),
        Some(_) => yellow("put right:"),
    };
    let task = wrong.task.as_ref().map(|task| format!("{}: ", bold(task)));
    let mut text = format!(
        "{head} {}{} [{}]\n  commit   {} {}\n  by       {}, {}\n  expected {}\n  found    {}",
        task.unwrap_or_default(),
        wrong.rule.sentence(),
        wrong.rule,
        short(wrong.commit),
        inert(&wrong.subject),
        inert(&wrong.author),
        wrong.authored,
        inert(&wrong.expected),
        inert(&wrong.found),
    );
    if let Some(commit) = wrong.covered {
        text.push_str(&format!("\n  put right by commit {}", short(commit)));
    }
    text
}
