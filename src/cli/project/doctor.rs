//! `aof doctor`

use std::process::ExitCode;

use crate::cli::error::CliError;
use crate::cli::input::arguments::Rehearsal;
use crate::cli::render::output::{BOLD, DIM, GREEN, RED, YELLOW, styled};
use crate::cli::session::Session;
use crate::files::printable::inert;
use crate::health::doctor::{Outcome, Treated, doctor_value, leave, look_through, treat};
use crate::project::issue::Weight;
use crate::storage::watcher_presence::is_watched;
use crate::tasks::apply::change::DryRun;

/// So many things of one kind are shown before it is enough.
const FEW: usize = 5;

/// Find everything that is wrong with the project around its tasks, and mend what can be mended
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof doctor                   what is wrong, why it matters, and what to do
  aof doctor --fix --dry-run   what `--fix` would do
  aof doctor --fix             do it

Nothing that is a person's is touched: what is theirs to decide is only told. Exits with 1 if something is wrong that was not mended;
advice alone is none.")]
pub(crate) struct Args {
    /// Mend what can be mended without asking anybody
    #[arg(long)]
    fix: bool,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let mut workspace = session.workspace("doctor")?;
    let issues = look_through(&workspace, is_watched(&workspace.paths))?;
    let treated = match (args.fix, args.rehearsal.mode()) {
        (false, DryRun::No) => leave(issues),
        (_, mode) => treat(&mut workspace, issues, mode),
    };
    if session.output.is_json() {
        session.output.data(doctor_value(&treated));
    } else {
        session.output.print(&page(&treated));
    }
    Ok(if treated.iter().any(Treated::is_wrong) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn page(treated: &[Treated]) -> String {
    let mut text = String::new();
    for alike in treated.chunk_by(|a, b| a.issue.code == b.issue.code && a.outcome == b.outcome) {
        text.extend(alike.iter().take(FEW).map(shown));
        if alike.len() > FEW {
            text.push_str(&format!(
                "... and {} more of the kind [{}]\n",
                alike.len() - FEW,
                alike[0].issue.code
            ));
        }
    }
    text + &end(treated)
}

fn shown(treated: &Treated) -> String {
    let Treated { issue, outcome } = treated;
    let head = match (outcome, issue.weight) {
        (Outcome::Cured, _) => styled(GREEN, "mended:"),
        (Outcome::Curable, _) => styled(YELLOW, "would mend:"),
        (Outcome::Uncured(_), _) => styled(RED, "not mended:"),
        (Outcome::Told, Weight::Wrong) => styled(RED, "wrong:"),
        (Outcome::Told, Weight::Advice) => styled(YELLOW, "advice:"),
    };
    let mut text =
        format!("{head} {} {}\n", lines(&issue.problem), styled(DIM, format!("[{}]", issue.code)));
    if matches!(outcome, Outcome::Told | Outcome::Uncured(_)) {
        text.push_str(&format!("  why  {}\n", lines(&issue.why)));
    }
    match outcome {
        Outcome::Told => text.push_str(&format!("  fix  {}\n", lines(&issue.fix))),
        Outcome::Uncured(error) => text.push_str(&format!("  but  {}\n", lines(error))),
        Outcome::Cured | Outcome::Curable => {}
    }
    text
}

fn end(treated: &[Treated]) -> String {
    let wrong = treated.iter().filter(|one| one.is_wrong()).count();
    let curable = treated
        .iter()
        .filter(|one| one.outcome == Outcome::Told && one.issue.cure.is_some())
        .count();
    if wrong == 0 {
        let well = if treated.is_empty() { "all is well" } else { "nothing is wrong" };
        return format!("{}\n", styled(GREEN, well));
    }
    let things = if wrong == 1 {
        "1 thing is wrong".to_owned()
    } else {
        format!("{wrong} things are wrong")
    };
    let offer = match curable {
        0 => String::new(),
        _ => format!("; `aof doctor --fix` mends {curable} of what was found"),
    };
    format!("{}{offer}\n", styled(BOLD, things))
}

fn lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(inert).collect();
    lines.join("\n       ")
}
