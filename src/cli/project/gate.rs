//! `aof gate ...`

use anstyle::Style;
use clap::Subcommand;

use crate::cli::render::findings;
use crate::cli::render::table::{Cell, Table};
use crate::cli::{CYAN, CliResult, DIM, RED, Session, YELLOW, first_of, length, width};
use crate::files::printable::inert;
use crate::observability::gate_report::{GateReport, gate_report_value, gate_status};

/// How many ids are named.
const FEW: usize = 5;

#[derive(Debug, Subcommand)]
pub(crate) enum GateCommand {
    /// Show what waits at each gate, and how long tasks stay there
    Status,
}

pub(crate) fn run(session: &Session, command: &GateCommand) -> CliResult {
    let GateCommand::Status = command;
    let (workspace, in_force) = session.open("gate status")?;
    let report = gate_status(&workspace, &in_force);
    session.output.show(|| gate_report_value(&report), || drawn(&report));
    let what = match &report.elsewhere[..] {
        [] => None,
        [_] => Some("task is at none of these gates"),
        _ => Some("tasks are at none of these gates"),
    };
    if let Some(what) = what.filter(|_| !session.output.is_json()) {
        let (count, names) = (report.elsewhere.len(), first_of(&report.elsewhere, FEW));
        session.output.say(inert(&format!("{count} {what}: {names}; see `aof why ID`")));
    }
    Ok(findings::tell_unreadable(session, &report.unreadable))
}

fn drawn(report: &GateReport) -> String {
    let several = report.rows.iter().any(|row| row.workflow != report.rows[0].workflow);
    let time = |seconds: Option<u64>| Cell::from(seconds.map_or("-".to_owned(), length));
    let table = Table::of(&report.rows)
        .left("WORKFLOW", |row| if several { Cell::from(&row.workflow) } else { Cell::from("") })
        .left("GATE", |row| Cell::styled(CYAN, &row.gate))
        .left("ROLE", |row| Cell::styled(DIM, row.role.as_deref().unwrap_or_default()))
        .extra(0)
        .right("WAITING", |row| row.waiting.into())
        .right("IN PROGRESS", |row| row.in_progress.into())
        .right("BLOCKED", |row| match row.blocked {
            0 => Cell::from(0),
            count => Cell::styled(YELLOW, count),
        })
        .right("OLDEST", |row| time(row.oldest))
        .right("MEDIAN", |row| time(row.median))
        .extra(1)
        .right("REJECTED", |row| match row.rejection_rate {
            None => Cell::from("-"),
            Some(rate) => {
                let style = if rate > 0.5 { RED } else { Style::new() };
                Cell::styled(style, format!("{:.0}%", rate * 100.0))
            }
        });
    table.render(width())
}
