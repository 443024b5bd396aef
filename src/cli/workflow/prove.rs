//! `aof workflow prove`

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::replay::replay;
use crate::cli::render::changes;
use crate::cli::{
    CliError, CliResult, Session, bold, counted, cyan, dim, green, red, width, wrapped, yellow,
};
use crate::domain::{WorkflowName, listed};
use crate::files::printable::inert;
use crate::project::rule_files::{check_worktree, worktree_rule_files};
use crate::project::rule_lookup::find_workflow;
use crate::rules::prover::{
    self, Absence, Alarm, PromiseReport, ProofVerdict, ProverReport, prove_workflow,
};

/// The most acts of a story that are shown.
const MOST_ACTS: usize = 15;
/// The most agents that are named as indispensable.
const MOST_AGENTS: usize = 4;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof workflow prove              the default workflow, as in the worktree
  aof workflow prove release      exit status 6 if a fault is certain
  aof workflow prove --replay story && git -C story log")]
pub(crate) struct ProveArgs {
    /// The workflow; the project's default if none is named
    name: Option<WorkflowName>,
    /// Make a project in this folder, and do the first story there through the real commands, commit by commit
    #[arg(long, value_name = "DIR", conflicts_with = "json")]
    replay: Option<PathBuf>,
}

pub(crate) fn run(session: &Session, args: &ProveArgs) -> CliResult {
    let workspace = session.workspace("workflow prove")?;
    let (rules, diagnostics) = check_worktree(&workspace.repository)?;
    let Some(rules) = rules else {
        return Ok(changes::show_diagnostics(session, &diagnostics, ""));
    };
    let workflow =
        find_workflow(&rules, args.name.as_ref().unwrap_or(&rules.project.default_workflow))?;
    let report = prove_workflow(&rules, workflow, prover::MOST_STATES);
    let value = || {
        let mut value = json!(report);
        value["workflow"] = json!(workflow.name);
        value
    };
    session.output.show(value, || text(&workflow.name, &report));
    if let Some(folder) = &args.replay {
        let told = report.alarms.iter().find(|alarm| !alarm.story.is_empty());
        let Some(alarm) = told else {
            let fix = "`--replay` does the story of a fault";
            return Err(CliError::refused("no_story", "there is no fault with a story", fix));
        };
        let files = worktree_rule_files(&workspace.repository)?;
        session.output.line(format!(
            "\nreplayed in {}: {}",
            folder.display(),
            inert(&alarm.message)
        ));
        replay(session, (&rules, &files), &alarm.story, folder)?;
    }
    Ok(if report.is_refuted() { ExitCode::from(changes::INVALID) } else { ExitCode::SUCCESS })
}

/// Returns the report for people: the answers first, then the alarms with their stories.
fn text(name: &WorkflowName, report: &ProverReport) -> String {
    let mut lines = vec![bold(name)];
    let mut line = |name: &str, text: String| {
        lines.push(format!("  {}{}", cyan(format!("{name:<12}")), hung(14, &text)));
    };
    let states = counted(report.states, "state");
    line(
        "can end",
        match report.ends {
            ProofVerdict::Proved => format!(
                "{} from each of {states}, by agents and people who exist",
                green("proved:")
            ),
            ProofVerdict::Refuted => format!("{} a task can get stuck; see below", red("refuted:")),
            ProofVerdict::May => format!(
                "{} a task can get stuck, depending on what conditions read; see below",
                yellow("may not:")
            ),
            ProofVerdict::Unknown => format!(
                "{} {}",
                yellow("not proved:"),
                report.unexplored.as_deref().unwrap_or_default()
            ),
        },
    );
    line("needs", indispensable(report));
    line("costs", cost(report));
    line(
        "all used",
        match report.alive {
            ProofVerdict::Proved => {
                let assumed = if report.either_way.is_empty() { "" } else { ", as assumed below" };
                let all = "each gate, branch, route and condition matters";
                format!("{} {all}{assumed}", green("proved:"))
            }
            ProofVerdict::Refuted => {
                format!("{} something never happens; see below", red("refuted:"))
            }
            ProofVerdict::May if report.ends == ProofVerdict::Refuted => {
                format!("{} tasks get stuck before", yellow("not proved:"))
            }
            ProofVerdict::May | ProofVerdict::Unknown => {
                format!("{} not everything was explored", yellow("not proved:"))
            }
        },
    );
    if !report.promises.is_empty() {
        line("promises", report.promises.iter().map(promise).collect::<Vec<_>>().join("\n"));
    }
    if !report.either_way.is_empty() {
        let places = listed(&report.either_way);
        line(
            "assumed",
            format!(
                "the conditions of {places} may hold or not at any time: the prover does not know when they hold"
            ),
        );
    }
    for alarm in &report.alarms {
        lines.push(format!("\n{}", alarm_text(alarm).trim_end()));
    }
    lines.join("\n") + "\n"
}

/// Returns an alarm with its story and its fix, for people.
pub(crate) fn alarm_text(alarm: &Alarm) -> String {
    let word = if alarm.is_certain { red("error:") } else { yellow("may be:") };
    let mut lines = vec![format!("{word} {}", hung(7, &inert(&alarm.message)))];
    let left = alarm.story.len().saturating_sub(MOST_ACTS);
    // Its first act says what task it is, and its end what goes wrong.
    for (number, act) in alarm.story.iter().enumerate() {
        if number == 0 || number > left {
            lines.push(format!("  {:>2}. {}", number + 1, hung(6, &inert(&act.text))));
        } else if number == 1 {
            lines.push(dim(format!("      (acts that are not shown: {left}; `--json` has all)")));
        }
    }
    lines.push(format!("  {} {}", dim("fix:"), hung(7, &alarm.fix)));
    lines.join("\n") + "\n"
}

fn promise(promise: &PromiseReport) -> String {
    let PromiseReport { name, verdict, why, story: _ } = promise;
    let name = inert(name);
    match (verdict, why) {
        (ProofVerdict::Proved, _) => format!("{} {name}", green("proved:")),
        (ProofVerdict::Refuted, _) => format!("{} {name}; see below", red("refuted:")),
        (_, why) => {
            format!("{} {name}: {}", yellow("not proved:"), why.as_deref().unwrap_or_default())
        }
    }
}

/// Returns who cannot be absent.
fn indispensable(report: &ProverReport) -> String {
    let staffing = &report.staffing;
    let mut sentences = Vec::new();
    if !staffing.closed.is_empty() {
        let gates = listed(&staffing.closed);
        sentences.push(format!("more agents: nobody can pass {gates}, on any way"));
    } else if staffing.absences.is_empty() && staffing.is_whole {
        sentences.push("no single agent: each gate and way stays open without any one".to_owned());
    }
    if staffing.gates == 0 {
        return "not counted: it has too many gates".to_owned();
    }
    if !staffing.is_whole {
        sentences.push("the ways to the end are not counted: there are too many".to_owned());
    }
    let sentence = |Absence { agent, gates, ways }: &Absence| {
        let ways = format!("{ways} of {} ways", staffing.ways);
        let is_told = staffing.is_whole && staffing.ways > 1;
        let with_ways = if is_told { format!(" ({ways})") } else { String::new() };
        match &gates[..] {
            [] => format!("without {agent}, {ways} are closed"),
            [gate] => format!("without {agent}, `{gate}` can never pass{with_ways}"),
            _ => format!(
                "without {agent}, {} of {} gates can never pass{with_ways}",
                gates.len(),
                staffing.gates
            ),
        }
    };
    sentences.extend(staffing.absences.iter().take(MOST_AGENTS).map(sentence));
    let left = staffing.absences.len().saturating_sub(MOST_AGENTS);
    if left > 0 {
        sentences.push(format!("and {left} more"));
    }
    sentences.join("\n")
}

fn cost(report: &ProverReport) -> String {
    let cost = &report.cost;
    let without = if cost.is_counted { "without limit" } else { "not counted" };
    let most = |number: Option<u64>| {
        number.map_or(without.to_owned(), |number| format!("at most {number}"))
    };
    let mut text = format!(
        "visits: {}; starts of agents: {}; times sent back before a person is asked: {}",
        most(cost.visits),
        most(cost.starts),
        most(cost.rejections)
    );
    if !cost.is_counted {
        text.push_str("\nit has too many gates or returns to count them");
    }
    for setting in &cost.unlimited {
        text.push_str(&format!("\n{setting} would limit it"));
    }
    text
}

/// Returns the text in lines that fit, each but the first indented.
fn hung(indent: usize, text: &str) -> String {
    let room = width().saturating_sub(indent).max(20);
    let lines = text.lines().flat_map(|line| wrapped(line, room)).collect::<Vec<_>>();
    lines.join(&format!("\n{}", " ".repeat(indent)))
}
