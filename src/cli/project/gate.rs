//! `aof gate ...`

use std::process::ExitCode;

use clap::Subcommand;

use crate::cli::error::CliError;
use crate::cli::output::{CYAN, DIM, RED, YELLOW, width};
use crate::cli::render::findings;
use crate::cli::render::table::{Cell, Column, Table};
use crate::cli::session::Session;
use crate::cli::time::length;
use crate::files::printable::inert;
use crate::observability::gate_report::{GateReport, gate_report_value, gate_status};

/// How many ids are named.
const FEW: usize = 5;

#[derive(Debug, Subcommand)]
pub(crate) enum GateCommand {
    /// Show what waits at each gate, and how long tasks stay there
    Status,
}

pub(crate) fn run(session: &Session, command: &GateCommand) -> Result<ExitCode, CliError> {
    let GateCommand::Status = command;
    let workspace = session.workspace("gate status")?;
    let in_force = session.rules(&workspace)?;
    let report = gate_status(&workspace, &in_force);
    if session.output.is_json() {
        session.output.data(gate_report_value(&report));
    } else {
        session.output.print(&table(&report).render(width()));
        tell_elsewhere(session, &report.elsewhere);
    }
    Ok(findings::tell_unreadable(session, &report.unreadable))
}

/// Prints the tasks that no row counts.
fn tell_elsewhere(session: &Session, ids: &[String]) {
    let what = match ids {
        [] => return,
        [_] => "task is at none of these gates",
        _ => "tasks are at none of these gates",
    };
    let more = if ids.len() > FEW { ", ..." } else { "" };
    let names = ids[..ids.len().min(FEW)].join(", ");
    session.output.say(inert(&format!("{} {what}: {names}{more}; see `aof why ID`", ids.len())));
}

fn table(report: &GateReport) -> Table {
    let mut table = Table::new(&[
        Column::left("WORKFLOW"),
        Column::left("GATE"),
        Column::left("ROLE").extra(0),
        Column::right("WAITING"),
        Column::right("IN PROGRESS"),
        Column::right("BLOCKED"),
        Column::right("OLDEST"),
        Column::right("MEDIAN").extra(1),
        Column::right("REJECTED"),
    ]);
    let several = report.rows.iter().any(|row| row.workflow != report.rows[0].workflow);
    let time = |seconds: Option<u64>| seconds.map_or_else(|| "-".to_owned(), length);
    for row in &report.rows {
        let rejected = row.rejection_rate.map(|rate| (rate, format!("{:.0}%", rate * 100.0)));
        table.row([
            Cell::from(if several { row.workflow.as_str() } else { "" }),
            Cell::styled(CYAN, &row.gate),
            Cell::styled(DIM, row.role.as_deref().unwrap_or_default()),
            Cell::from(row.waiting),
            Cell::from(row.in_progress),
            if row.blocked > 0 { Cell::styled(YELLOW, row.blocked) } else { Cell::from(0) },
            Cell::from(time(row.oldest)),
            Cell::from(time(row.median)),
            match rejected {
                None => Cell::from("-"),
                Some((rate, text)) if rate > 0.5 => Cell::styled(RED, text),
                Some((_, text)) => Cell::from(text),
            },
        ]);
    }
    table
}
