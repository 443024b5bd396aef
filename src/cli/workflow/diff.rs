//! `aof workflow diff`

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::error::CliError;
use crate::cli::output::{GREEN, RED, YELLOW, bold, cyan, dim, short, styled};
use crate::cli::render::findings;
use crate::cli::session::Session;
use crate::files::diagnostic::diagnostic::render_all;
use crate::files::printable::inert;
use crate::git::CommitId;
use crate::rules::{Difference, DifferenceKind, RuleSubject};
use crate::setup::rules_diff::{Fate as TaskFate, Prospect, RulesDiff, Turn, diff_rules};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without REV, the rules in force are compared with those of the worktree, which count once they are committed. With REV, the rules of \
that commit are compared with those in force. It exits 6 if the rules of the worktree are invalid.

Examples:
  aof workflow diff             what committing project.yaml, org.yaml and workflows/ would do
  aof workflow diff HEAD~5      what has changed since
  aof workflow diff --json")]
pub(crate) struct WorkflowDiffArgs {
    /// A commit, a branch or a tag to compare the rules in force with
    #[arg(value_name = "REV")]
    revision: Option<String>,
}

pub(crate) fn run(session: &Session, args: &WorkflowDiffArgs) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("workflow diff")?;
    let diff = diff_rules(&workspace, args.revision.as_deref())?;
    let output = session.output;
    if output.is_json() {
        output.data(value(&diff));
    } else {
        if !diff.diagnostics.is_empty() {
            output.say(format!("{}\n", render_all(&diff.diagnostics, output.paint()).trim_end()));
        }
        output.print(&page(&diff));
    }
    Ok(findings::tell_unreadable(session, &diff.unreadable))
}

fn page(diff: &RulesDiff) -> String {
    let named = |commit: Option<CommitId>, otherwise: &str| {
        commit.map_or_else(|| otherwise.to_owned(), |commit| format!("commit {}", short(commit)))
    };
    let (from, to) = (named(diff.from, "no rules"), named(diff.to, "the worktree"));
    let mut text = format!("{}\n", dim(format!("from the rules of {from} to those of {to}")));
    if diff.differences.is_empty() {
        text.push_str("the rules decide the same\n");
    }
    let mut about = None;
    for difference in &diff.differences {
        let subject = subject(&difference.of);
        if difference.gate.is_some() && about.as_ref() != Some(&subject) {
            text.push_str(&format!("{}\n", bold(&subject)));
        }
        text.push_str(&line(difference));
        about = Some(subject);
    }
    if !diff.prospects.is_empty() {
        text.push_str(&format!("\n{}\n", bold("Tasks")));
    }
    text.extend(diff.prospects.iter().map(of_task));
    let rest = diff.untouched;
    text + &match (diff.prospects.len(), rest) {
        (0, 0) => "\nno task is under way\n".to_owned(),
        (_, 0) => String::new(),
        (0, 1) => "\nthe one task under way stays as it is\n".to_owned(),
        (0, _) => format!("\nall {rest} tasks under way stay as they are\n"),
        (_, 1) => "  1 other stays as it is\n".to_owned(),
        (_, _) => format!("  {rest} others stay as they are\n"),
    }
}

fn subject(of: &RuleSubject) -> String {
    match of {
        RuleSubject::Workflow(name) => format!("workflow {name}"),
        RuleSubject::Role(role) => format!("role {role}"),
    }
}

fn line(difference: &Difference) -> String {
    let (sign, style) = match difference.kind {
        DifferenceKind::Added => ("+", GREEN),
        DifferenceKind::Removed => ("-", RED),
        DifferenceKind::Changed => ("~", YELLOW),
    };
    let what = match &difference.what[..] {
        [] => String::new(),
        what => inert(&format!(": {}", what.join(", "))),
    };
    let (indent, name) = match &difference.gate {
        Some(gate) => ("  ", format!("gate {gate}")),
        None => ("", subject(&difference.of)),
    };
    format!("{indent}{} {name}{what}\n", styled(style, sign))
}

fn of_task(prospect: &Prospect) -> String {
    let what = match &prospect.fate {
        TaskFate::Stays => "stays".to_owned(),
        TaskFate::Moves { to: Some(to), why } => format!("goes to {to}: {why}"),
        TaskFate::Moves { to: None, why } => format!("ends: {why}"),
        TaskFate::Follows { what, details } if details.is_empty() => what.clone(),
        TaskFate::Follows { what, details } => format!("{what}: {}", details.join("; ")),
        TaskFate::Stranded => "its workflow is gone, and nobody can move it".to_owned(),
    };
    let mut text = format!("  {}  {}  {}\n", cyan(&prospect.task), prospect.gate, inert(&what));
    for Turn { outcome, before, after } in &prospect.turns {
        text.push_str(&format!("    {outcome} leads to {after}, no longer to {before}\n"));
    }
    text
}

fn value(diff: &RulesDiff) -> Value {
    let differences = diff.differences.iter().map(|difference| {
        let (workflow, role) = match &difference.of {
            RuleSubject::Workflow(name) => (Some(name), None),
            RuleSubject::Role(role) => (None, Some(role)),
        };
        json!({
            "workflow": workflow,
            "role": role,
            "gate": difference.gate,
            "kind": difference.kind.as_str(),
            "what": difference.what,
        })
    });
    json!({
        "from": diff.from,
        "to": diff.to,
        "differences": differences.collect::<Vec<_>>(),
        "tasks": diff.prospects.iter().map(task_value).collect::<Vec<_>>(),
        "untouched": diff.untouched,
        "diagnostics": findings::diagnostic_values(&diff.diagnostics),
        "unreadable": findings::unreadable_values(&diff.unreadable),
    })
}

fn task_value(prospect: &Prospect) -> Value {
    let (fate, to, what) = match &prospect.fate {
        TaskFate::Stays => ("stays", Some(&prospect.gate), Vec::new()),
        TaskFate::Moves { to, why } => ("moves", to.as_ref(), vec![why]),
        TaskFate::Follows { what, details } => {
            ("follows", Some(&prospect.gate), [what].into_iter().chain(details).collect())
        }
        TaskFate::Stranded => ("stranded", None, Vec::new()),
    };
    let turn = |Turn { outcome, before, after }: &Turn| json!({"outcome": outcome, "before": before, "after": after});
    json!({
        "task": prospect.task,
        "title": prospect.title,
        "gate": prospect.gate,
        "fate": fate,
        "to": to,
        "what": what,
        "outcomes": prospect.turns.iter().map(turn).collect::<Vec<_>>(),
    })
}
