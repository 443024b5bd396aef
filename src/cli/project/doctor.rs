//! `aof doctor`.

use std::process::ExitCode;

use crate::cli::{CliResult, DryRunOption, Session, bold, dim, green, indented, red, yellow};
use crate::health::doctor::{
    HandledIssue, RepairOutcome, doctor_value, find_issues, repair_issues, report_issues,
};
use crate::project::issue::Weight;
use crate::storage::lock::is_watched;
use crate::tasks::plan::DryRun;

/// The number of issues of one kind that are shown.
pub(super) const FEW: usize = 5;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof doctor                   what is wrong, why it matters, and what to do
  aof doctor --fix --dry-run   what `--fix` would do
  aof doctor --fix             do it

It never touches what a person has to decide: that is only reported. Exits with 1 if something is wrong that was not repaired; \
advice alone does not count.")]
pub(crate) struct DoctorArgs {
    /// Repair what can be repaired without asking anybody
    #[arg(long)]
    fix: bool,
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

pub(crate) fn run_doctor(session: &Session, args: &DoctorArgs) -> CliResult {
    let mut workspace = session.workspace("doctor")?;
    let issues = find_issues(&workspace, is_watched(&workspace.paths))?;
    let handled = match (args.fix, args.dry_run_option.mode()) {
        (false, DryRun::No) => report_issues(issues),
        (_, mode) => repair_issues(&mut workspace, issues, mode),
    };
    session.output.show(|| doctor_value(&handled), || doctor_page(session, &handled));
    Ok(if handled.iter().any(HandledIssue::is_wrong) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn doctor_page(session: &Session, handled: &[HandledIssue]) -> String {
    let mut text = String::new();
    for alike in handled.chunk_by(|a, b| a.issue.code == b.issue.code && a.outcome == b.outcome) {
        text.extend(alike.iter().take(FEW).map(|handled| issue_text(session, handled)));
        if alike.len() > FEW {
            let (more, code) = (alike.len() - FEW, &alike[0].issue.code);
            text.push_str(&format!("... and {more} more of the kind [{code}]\n"));
        }
    }
    text + &summary(handled)
}

fn issue_text(session: &Session, handled: &HandledIssue) -> String {
    let HandledIssue { issue, outcome } = handled;
    let head = match (outcome, issue.weight) {
        (RepairOutcome::Repaired, _) => green("repaired:"),
        (RepairOutcome::Repairable, _) => yellow("would repair:"),
        (RepairOutcome::Failed(_), _) => red("not repaired:"),
        (RepairOutcome::Reported, Weight::Wrong) => red("wrong:"),
        (RepairOutcome::Reported, Weight::Advice) => yellow("advice:"),
    };
    let lines = |text: &str| indented(text, "       ");
    let code = dim(format!("[{}]", issue.code));
    let problem = session.with_times(&issue.problem);
    let mut text = format!("{head} {} {code}\n", lines(&problem));
    if matches!(outcome, RepairOutcome::Reported | RepairOutcome::Failed(_)) {
        text.push_str(&format!("  why  {}\n", lines(&issue.why)));
    }
    match outcome {
        RepairOutcome::Reported => {
            text.push_str(&format!("  fix  {}\n", lines(&issue.fix.to_string())));
        }
        RepairOutcome::Failed(error) => text.push_str(&format!("  but  {}\n", lines(error))),
        RepairOutcome::Repaired | RepairOutcome::Repairable => {}
    }
    text
}

fn summary(handled: &[HandledIssue]) -> String {
    let count = |is: &dyn Fn(&HandledIssue) -> bool| handled.iter().filter(|one| is(one)).count();
    let wrong = match count(&HandledIssue::is_wrong) {
        0 if handled.is_empty() => return format!("{}\n", green("all is well")),
        0 => return format!("{}\n", green("nothing is wrong")),
        1 => "1 thing is wrong".to_owned(),
        wrong => format!("{wrong} things are wrong"),
    };
    let repairable =
        count(&|one| one.outcome == RepairOutcome::Reported && one.issue.repair.is_some());
    let offer = match repairable {
        0 => String::new(),
        _ => format!("; `aof doctor --fix` repairs {repairable} of what was found"),
    };
    format!("{}{offer}\n", bold(wrong))
}
