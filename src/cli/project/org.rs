//! `aof org ...`

use std::ops::ControlFlow;
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};

use super::org_show;
use crate::cli::render::changes::followed;
use crate::cli::render::findings::{self, INVALID};
use crate::cli::{CliResult, Rehearsal, Session, cyan, green, merged, red, short};
use crate::files::config::configuration::ORG_FILE;
use crate::files::printable::inert;
use crate::project::active_rules::{RulesReport, Since, rules_report};
use crate::project::error::reason_of;
use crate::project::rule_files::check_worktree;
use crate::tasks::automatic::{RuleChanges, follow_rules};
use crate::tasks::plan::DryRun;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum OrgCommand {
    /// Show the roles, who is in them, what they have to do, and who you are
    Show(org_show::OrgShowArgs),
    /// Check org.yaml as it is in the worktree
    Validate,
    /// Check the committed rules, and let every task follow them now
    Reload(ReloadArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
No daemon needs to be told: every command reads the committed rules. This one says which are in force and since when. It does at \
once what `aof watch`, and the next command that changes a task, do anyway when the rules have changed:
  a task whose gate is gone goes to the nearest earlier one (an entry `moved`, a commit of its own)
  a task whose gate has another role is given to that role
  a task whose role has lost everybody is blocked, and goes on when there is somebody again
What an agent has claimed stays with it, unless it may not complete it any more.

Examples:
  aof org reload --dry-run      what would be done
  git commit -m 'qa is gone' -- org.yaml && aof org reload")]
pub(crate) struct ReloadArgs {
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, command: &OrgCommand) -> CliResult {
    match command {
        OrgCommand::Show(args) => org_show::run(session, args),
        OrgCommand::Validate => validate(session),
        OrgCommand::Reload(args) => reload(session, args.rehearsal.mode()),
    }
}

fn validate(session: &Session) -> CliResult {
    let workspace = session.workspace("org validate")?;
    let (rules, mut diagnostics) = check_worktree(&workspace.repository)?;
    diagnostics.retain(|diagnostic| diagnostic.file == ORG_FILE);
    let valid = match &rules {
        Some(rules) => {
            format!("{} roles, {} agents", rules.org.roles.len(), rules.org.all_agents().len())
        }
        None => format!("{ORG_FILE}; other rules are not, see `aof workflow validate`"),
    };
    Ok(findings::show_diagnostics(session, &diagnostics, &valid))
}

fn reload(session: &Session, mode: DryRun) -> CliResult {
    let mut workspace = session.workspace("org reload")?;
    let report = rules_report(&workspace)?;
    let settled =
        follow_rules(&mut workspace, session.wait, mode, &mut |_| ControlFlow::Continue(()))?;
    if session.output.is_json() {
        session.output.data_of_act(value(&report, &settled), mode);
    } else {
        show(session, &report, &settled, mode);
    }
    for (task, error) in &settled.troubled {
        let problem = session.git_said(error.problem());
        session.warn(&inert(&format!("`{task}` cannot follow: {problem}")));
    }
    let code = findings::tell_unreadable(session, &settled.unreadable);
    Ok(match (report.valid, settled.troubled.is_empty()) {
        (false, _) => ExitCode::from(INVALID),
        (true, false) => ExitCode::FAILURE,
        (true, true) => code,
    })
}

fn show(session: &Session, report: &RulesReport, settled: &RuleChanges, mode: DryRun) {
    let output = session.output;
    output.say_diagnostics(&report.diagnostics);
    let since = report.since.as_ref();
    let since = since.map_or_else(|| "no rules are committed".to_owned(), rules_of);
    if report.valid {
        output.line(format!("{}: {since}", green("in force")));
    } else {
        let error = red("error:");
        output.line(format!("{error} the committed rules are invalid, and not in force"));
        output.line(format!("still in force: {since}"));
    }
    if !report.uncommitted.is_empty() {
        output.line(format!(
            "not in force until committed: {}; see what it would change with `aof workflow diff`",
            inert(&report.uncommitted.join(", "))
        ));
    }
    for changed in &settled.changed {
        output.line(format!("{}: {}", cyan(&changed.after.task.id), inert(&followed(changed))));
    }
    let count = settled.changed.len();
    let tasks = if count == 1 { "1 task" } else { &format!("{count} tasks") };
    let follow = if count == 1 { "follows" } else { "follow" };
    output.line(match (mode, count) {
        (_, 0) => "every task is where they want it".to_owned(),
        (DryRun::No, _) => format!("{tasks} {follow} them now"),
        (DryRun::Yes, _) => format!("{tasks} would follow them (dry run: nothing was written)"),
    });
}

fn rules_of(since: &Since) -> String {
    let at = since.at.strftime("%Y-%m-%d %H:%M");
    let (commit, author) = (short(since.commit), inert(&since.author));
    format!("the rules of commit {commit}, {at} by {author} ({})", inert(&since.subject))
}

fn value(report: &RulesReport, settled: &RuleChanges) -> Value {
    let changed = settled.changed.iter().map(|changed| {
        let task = &changed.after.task;
        json!({
            "task": task.id,
            "what": followed(changed),
            "gate": task.gate.as_ref().map(|open| &open.current),
            "role": task.routing.role,
            "agent": task.routing.agent,
            "status": task.status,
            "commit": changed.commit,
        })
    });
    let troubled = settled.troubled.iter();
    let troubled = troubled.map(|(task, error)| json!({"task": task, "reason": reason_of(error)}));
    let more = json!({
        "changed": changed.collect::<Vec<_>>(),
        "troubled": troubled.collect::<Vec<_>>(),
        "unreadable": findings::unreadable_values(&settled.unreadable),
    });
    merged(report.to_value(), more)
}
