//! `aof org reload`

use std::ops::ControlFlow;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::arguments::Rehearsal;
use crate::cli::error::CliError;
use crate::cli::output::{CYAN, GREEN, RED, styled};
use crate::cli::render::changes::followed;
use crate::cli::render::findings;
use crate::cli::session::Session;
use crate::domain::{AgentId, RoleId};
use crate::files::diagnostic::diagnostic::render_all;
use crate::files::printable::inert;
use crate::project::error::reason::reason_of;
use crate::project::rules_report::{RulesReport, Since, rules_report};
use crate::tasks::apply::change::DryRun;
use crate::tasks::automatic::rule_changes::{Settled, settle_rules};

/// The exit code of invalid rules.
const INVALID: u8 = 6;

/// Check the committed rules, and have every task follow them now
#[derive(Debug, clap::Args)]
#[command(after_help = "\
There is no daemon to be told: every command reads the committed rules. This one says which are in force and since when, and does \
at once what `aof watch`, and the next command that changes a task, do anyway where the rules have changed:
  a task whose gate is gone goes to the nearest earlier one (an entry `moved`, a commit of its own)
  a task whose gate has another role is given to that role
  a task whose role has lost everybody is blocked, and set going when there is somebody again
What an agent has claimed stays with it, unless it may not complete it any more.

Examples:
  aof org reload --dry-run      what would be done
  git commit -m 'qa is gone' -- org.yaml && aof org reload")]
pub(crate) struct Args {
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let mut workspace = session.workspace("org reload")?;
    let report = rules_report(&workspace)?;
    let mode = args.rehearsal.mode();
    let settled =
        settle_rules(&mut workspace, session.wait, mode, &mut |_| ControlFlow::Continue(()))?;
    if session.output.is_json() {
        session.output.data(value(&report, &settled, mode));
    } else {
        show(session, &report, &settled, mode);
    }
    for (task, error) in &settled.troubled {
        session.warn(&inert(&format!(
            "`{task}` cannot follow: {}",
            session.git_said(error.problem())
        )));
    }
    let unread = findings::tell_unreadable(session, &settled.unreadable);
    Ok(match (report.valid, settled.troubled.is_empty()) {
        (false, _) => ExitCode::from(INVALID),
        (true, false) => ExitCode::FAILURE,
        (true, true) => unread,
    })
}

fn show(session: &Session, report: &RulesReport, settled: &Settled, mode: DryRun) {
    let output = session.output;
    if !report.diagnostics.is_empty() {
        output.say(format!("{}\n", render_all(&report.diagnostics, output.paint()).trim_end()));
    }
    let since =
        report.since.as_ref().map_or_else(|| "no rules are committed".to_owned(), of_commit);
    if report.valid {
        output.line(format!("{}: {since}", styled(GREEN, "in force")));
    } else {
        output.line(format!(
            "{} the committed rules are invalid, and not in force",
            styled(RED, "error:")
        ));
        output.line(format!("still in force: {since}"));
    }
    if !report.uncommitted.is_empty() {
        output.line(format!(
            "not in force until committed: {}; see what it would change with `aof workflow diff`",
            inert(&report.uncommitted.join(", "))
        ));
    }
    for changed in &settled.changed {
        output.line(format!(
            "{}: {}",
            styled(CYAN, &changed.after.task.id),
            inert(&followed(changed))
        ));
    }
    let count = settled.changed.len();
    output.line(match (mode, count) {
        (_, 0) => "every task stands where they have it".to_owned(),
        (DryRun::No, 1) => "1 task follows them now".to_owned(),
        (DryRun::No, _) => format!("{count} tasks follow them now"),
        (DryRun::Yes, 1) => "1 task would follow them (dry run: nothing was written)".to_owned(),
        (DryRun::Yes, _) => {
            format!("{count} tasks would follow them (dry run: nothing was written)")
        }
    });
}

fn of_commit(since: &Since) -> String {
    let at = since.at.strftime("%Y-%m-%d %H:%M");
    let commit = &since.commit.to_string()[..7];
    format!(
        "the rules of commit {commit}, {at} by {} ({})",
        inert(&since.author),
        inert(&since.subject)
    )
}

fn value(report: &RulesReport, settled: &Settled, mode: DryRun) -> Value {
    let mut value = report.to_value();
    let changed = settled.changed.iter().map(|changed| {
        let task = &changed.after.task;
        json!({
            "task": task.id.as_str(),
            "what": followed(changed),
            "gate": task.gate.as_ref().map(|open| open.current.as_str()),
            "role": task.routing.role.as_ref().map(RoleId::as_str),
            "agent": task.routing.agent.as_ref().map(AgentId::as_str),
            "status": task.status.as_str(),
            "commit": changed.commit.map(|commit| commit.to_string()),
        })
    });
    value["changed"] = changed.collect();
    let troubled = settled
        .troubled
        .iter()
        .map(|(task, error)| json!({"task": task.as_str(), "reason": reason_of(error)}));
    value["troubled"] = troubled.collect();
    value["unreadable"] = findings::unreadable_values(&settled.unreadable).into();
    if mode == DryRun::Yes {
        value["dryRun"] = json!(true);
    }
    value
}
