//! `aof verify`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser;

use crate::cli::error::CliError;
use crate::cli::input::text;
use crate::cli::render::output::{BOLD, GREEN, RED, YELLOW, styled};
use crate::cli::session::Session;
use crate::domain::ssh::trusted_keys::TrustedKeys;
use crate::files::allowed_signers;
use crate::files::printable::inert;
use crate::git::Pretence;
use crate::history::verify::finding::Finding;
use crate::history::verify::history::{Range, RangeStart, Verified, verify};
use crate::history::verify::project_commits::ProjectFolder;
use crate::history::verify::pushed::{Pushed, Update, pushed_value, verify_pushed};

/// Prove from git that every step of every task is one that its rules allow
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof verify                        the whole history of the branch
  aof verify --since v1.4           what came since then
  aof verify origin/main..HEAD      what would be pushed
  aof verify --stdin                what is pushed, in a `pre-receive` hook (docs/guides/ci.md)
  aof verify --trusted-keys FILE    signatures by these keys alone, which the repository cannot change

Every commit is judged by the one before it: no entry of a history is changed or removed, each new one is what the engine decides by
the rules that were committed before it, and the commit says of itself what the entry says. People's edits of what is theirs are fine.
Exits with 1 if anything is wrong.")]
pub(crate) struct Args {
    /// The commits to judge, as in `A..B`, or all that led to a commit
    #[arg(value_name = "RANGE", conflicts_with = "since", value_parser = NonEmptyStringValueParser::new())]
    range: Option<String>,
    /// Judge only what came after this commit, which has to be a part of the history still
    #[arg(long, value_name = "REV", value_parser = NonEmptyStringValueParser::new())]
    since: Option<String>,
    /// Judge what a push brings, as git tells its `pre-receive` hook: a line `OLD NEW REF` for each reference
    #[arg(long, conflicts_with_all = ["range", "since"])]
    stdin: bool,
    /// The project in this folder of the repository, seen from its top; `.` is the top. Needs no worktree
    #[arg(long, value_name = "FOLDER")]
    project: Option<ProjectFolder>,
    /// Trust only the keys in this `allowed_signers` file with signatures, whatever org.yaml says
    #[arg(long, value_name = "FILE")]
    trusted_keys: Option<PathBuf>,
}

impl Args {
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

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let anchor = args.trusted_keys.as_deref().map(trusted).transpose()?;
    if args.stdin {
        return pushed(session, args.project.as_ref(), anchor.as_ref());
    }
    let range = args.range();
    let verified = if args.project.is_some() || !session.is_in_worktree()? {
        session.past("verify")?.verify(args.project.as_ref(), &range, anchor.as_ref())?
    } else {
        verify(&session.workspace("verify")?, &range, anchor.as_ref())?
    };
    if session.output.is_json() {
        session.output.data(verified.value());
    } else {
        show(session, &verified);
    }
    Ok(if verified.open().next().is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Judges a push, before it is accepted.
fn pushed(
    session: &Session,
    project: Option<&ProjectFolder>,
    anchor: Option<&TrustedKeys>,
) -> Result<ExitCode, CliError> {
    let past = session.past("verify")?;
    let updates: Result<Vec<Update>, _> = text::text("-")?.lines().map(str::parse).collect();
    let updates = updates.map_err(|fault| CliError::Unfit {
        code: "bad_update",
        problem: fault.to_string(),
        fix: "`--stdin` is for what git tells a `pre-receive` hook: `OLD NEW REF`, line by line"
            .to_owned(),
    })?;
    let pushed = verify_pushed(&past, project, &updates, anchor)?;
    if session.output.is_json() {
        session.output.data(pushed_value(&pushed));
    } else if pushed.is_empty() {
        session.output.line("nothing of a project is pushed");
    }
    for Pushed { reference, project, verified } in
        pushed.iter().filter(|_| !session.output.is_json())
    {
        let place = if project.as_str().is_empty() {
            String::new()
        } else {
            format!(" in {}", project.as_str())
        };
        session.output.line(styled(BOLD, inert(&format!("{reference}{place}"))));
        show(session, verified);
    }
    let holds = pushed.iter().all(|one| one.verified.open().next().is_none());
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Reads the keys that are trusted from outside.
fn trusted(file: &Path) -> Result<TrustedKeys, CliError> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file)
        .map_err(|cause| CliError::Input { name: name.clone(), cause })?;
    allowed_signers::parse(&text).map_err(|faults| {
        let lines = faults.iter().map(|fault| format!("{name}:{}: {}", fault.line, fault.problem));
        CliError::Unfit {
            code: "unreadable_keys",
            problem: lines.collect::<Vec<_>>().join("\n"),
            fix: "write one key a line, as in `human-ann namespaces=\"aof\" ssh-ed25519 AAAA..`; see `man ssh-keygen`, ALLOWED SIGNERS"
                .to_owned(),
        }
    })
}

fn show(session: &Session, verified: &Verified) {
    for wrong in &verified.findings {
        session.output.line(finding(wrong));
    }
    for end in &verified.ends {
        let end = &end.to_string()[..7];
        let text = format!(
            "history ends at commit {end} here: what was before cannot be judged; `git fetch --unshallow` brings it"
        );
        session.output.line(format!("{} {text}", styled(YELLOW, "note:")));
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
        session.output.line(format!("{} {text}", styled(YELLOW, "warning:")));
    }
    if verified.renamed > 0 {
        let text = format!(
            "{} made by rules that this version calls by another hash",
            count(verified.renamed, "change")
        );
        session.output.line(format!("{} {text}", styled(YELLOW, "note:")));
    }
    let judged = format!(
        "{}, {}",
        count(verified.commits, "commit"),
        count(verified.changes, "change of a task")
    );
    let open = verified.open().count();
    session.output.line(match open {
        0 => format!("{}: {judged}", styled(GREEN, "all is as the rules allow")),
        _ => format!("{}: {judged}", styled(RED, format!("{} wrong", count(open, "thing")))),
    });
}

fn finding(wrong: &Finding) -> String {
    let head = match wrong.covered {
        None if !wrong.rule.is_fault() => styled(YELLOW, "note:"),
        None => styled(RED, "wrong:"),
        Some(_) => styled(YELLOW, "put right:"),
    };
    let task = wrong
        .task
        .as_ref()
        .map(|task| format!("{}: ", styled(BOLD, task.as_str())))
        .unwrap_or_default();
    let mut text = format!(
        "{head} {task}{} [{}]\n  commit   {} {}\n  by       {}, {}\n  expected {}\n  found    {}",
        wrong.rule.sentence(),
        wrong.rule,
        &wrong.commit.to_string()[..7],
        inert(&wrong.subject),
        inert(&wrong.author),
        wrong.authored,
        inert(&wrong.expected),
        inert(&wrong.found),
    );
    if let Some(commit) = wrong.covered {
        text.push_str(&format!("\n  put right by commit {}", &commit.to_string()[..7]));
    }
    text
}

fn count(number: usize, noun: &str) -> String {
    match (number, noun.split_once(' ')) {
        (1, _) => format!("1 {noun}"),
        (_, Some((first, rest))) => format!("{number} {first}s {rest}"),
        (_, None) => format!("{number} {noun}s"),
    }
}
