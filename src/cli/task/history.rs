//! `aof history`: what happened to a task, by day; and the evidence of a signature.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use jiff::tz::TimeZone;
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::show::{NOT_SEEN, person};
use crate::cli::render::page::{TaskPage, warn_of_visit};
use crate::cli::{
    CliError, CliResult, Session, cyan, dim, exact_time, green, red, width, wrapped, yellow,
};
use crate::domain::{
    AgentId, Ending, GateId, OpenBranch, OpenVisit, Outcome, Status, Ticket, Timestamp, TypedTask,
    Visit, distinct,
};
use crate::files::event::render::{place_words, step_words};
use crate::files::printable::one_line;
use crate::history::verify::signatures::evidence;
use crate::project::workspace::Workspace;
use crate::rules::{NAMESPACE, Rules};
use crate::tasks::headers::lookup;
use crate::tasks::view::phrases::{day, lasting, name};
use crate::tasks::view::task_view::{HistoryView, history, history_value};

/// The greatest width of a line that people read.
const READABLE: usize = 100;
/// The width of a clock time with the space around it.
const TIME: usize = 9;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof history AOF-7qk
  aof history AOF-7qk@3 --export DIR      what was signed at that visit, for `ssh-keygen -Y verify`")]
pub(crate) struct HistoryArgs {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    task: TypedTask,
    /// Write what was signed at that visit, the signature and the keys into this folder, for `ssh-keygen -Y verify`
    #[arg(long, value_name = "DIR")]
    export: Option<PathBuf>,
}

pub(crate) fn run_history(session: &Session, args: &HistoryArgs) -> CliResult {
    let workspace = session.workspace("history")?;
    let ticket = lookup::ticket_to_read(&workspace, &args.task)?;
    if let Some(folder) = &args.export {
        return export(session, &workspace, &ticket, folder);
    }
    let (view, in_force) = history(&workspace, &ticket.task)?;
    session.warn_of_rules(&in_force);
    warn_of_visit(session, &ticket, &view.task);
    let page = HistoryPage {
        view: &view,
        rules: &in_force.rules,
        now: workspace.now(),
        is_exact: session.verbose,
    };
    if session.output.is_json() {
        session.output.data(history_value(&view));
    } else {
        session.output.page(&page.text());
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the files that `ssh-keygen` needs to check a signature.
fn export(session: &Session, workspace: &Workspace, ticket: &Ticket, folder: &Path) -> CliResult {
    let found = evidence(workspace, ticket)?;
    std::fs::create_dir_all(folder).map_err(|cause| CliError::output(folder, &cause))?;
    let files = [
        ("completion", found.text),
        ("completion.sig", format!("{}\n", found.signature)),
        ("allowed_signers", found.allowed_signers),
    ];
    for (name, text) in &files {
        let path = folder.join(name);
        // An existing file is never overwritten: it may be the list that ssh itself uses.
        let file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
        file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|cause| {
            if cause.kind() != ErrorKind::AlreadyExists {
                return CliError::output(&path, &cause);
            }
            let problem = format!("`{}` exists already, and is not overwritten", path.display());
            let fix = "name another folder, or one that does not exist yet";
            CliError::refused("file_exists", problem, fix)
        })?;
    }
    let (ticket, agent) = (found.ticket, found.agent);
    let check = format!(
        "ssh-keygen -Y verify -f allowed_signers -I {agent} -n {NAMESPACE} -s completion.sig < completion"
    );
    let folder = folder.display().to_string();
    let value = || {
        json!({
            "task": ticket,
            "agent": agent,
            "commit": found.commit,
            "folder": folder,
            "files": files.each_ref().map(|(name, _)| *name),
            "check": check,
        })
    };
    let text = || {
        format!(
            "{ticket}: what `{agent}` signed, and the keys that counted then\ncheck it in `{folder}`:\n  {check}\n"
        )
    };
    session.output.show(value, text);
    Ok(ExitCode::SUCCESS)
}

/// A line of the history, and those below it.
struct LogLine {
    at: Timestamp,
    /// True if it lasts until now.
    is_open: bool,
    who: String,
    act: String,
    text: String,
    seconds: Option<u64>,
    details: Vec<String>,
}

/// The history of a task, as people read it.
struct HistoryPage<'l> {
    view: &'l HistoryView,
    rules: &'l Rules,
    now: Timestamp,
    /// True if it has exact times.
    is_exact: bool,
}

impl HistoryPage<'_> {
    fn text(&self) -> String {
        let task = &self.view.task;
        let mut page = TaskPage::new(task);
        let lines = self.lines();
        let zone = TimeZone::system();
        let widest = |cell: fn(&LogLine) -> &str| lines.iter().map(|line| cell(line).width()).max();
        let who = widest(|line| &line.who).unwrap_or(0).min(16);
        let act = widest(|line| &line.act).unwrap_or(0).min(40);
        let start = TIME + who + 2 + act + 2;
        let widest = width().min(READABLE);
        let beside = widest.saturating_sub(start + 9);
        // At a narrow terminal, texts are on lines of their own.
        let is_narrow = beside < 16;
        let (indent, room) =
            if is_narrow { (4, widest.saturating_sub(4)) } else { (start, beside) };
        let indent = " ".repeat(indent);
        let mut last = String::new();
        for line in &lines {
            let heading = day(line.at, self.now, &zone);
            if heading != last && !line.is_open {
                page.head(&heading);
                last = heading;
            }
            let clock = line.at.to_zoned(zone.clone()).strftime("%H:%M").to_string();
            let clock = if line.is_open { "now" } else { &clock };
            let pad = |cell: &str, width: usize| " ".repeat(width.saturating_sub(cell.width()));
            let mut texts = wrapped(&line.text, room).into_iter();
            let seconds = line.seconds.map(lasting).unwrap_or_default();
            let act = format!("{}{}", painted(&line.act), pad(&line.act, act));
            let row = if is_narrow {
                format!("  {clock:5}  {}  {}  {seconds}", line.who, act.trim_end())
            } else {
                let first = texts.next().unwrap_or_default();
                let (who, rest) = (pad(&line.who, who), pad(&first, room));
                format!("  {clock:5}  {}{who}  {act}  {first}{rest}{seconds:>7}", line.who)
            };
            page.line(row.trim_end());
            texts
                .filter(|text| !text.is_empty())
                .for_each(|text| page.line(format!("{indent}{text}")));
            if self.is_exact && !line.is_open {
                page.line(format!("{indent}{}", dim(exact_time(line.at))));
            }
            let room = width().saturating_sub(indent.len());
            let details = line.details.iter().flat_map(|text| wrapped(text, room));
            details.for_each(|text| page.line(format!("{indent}{text}")));
        }
        page.line("");
        for line in wrapped(&self.sum(), widest) {
            page.line(line);
        }
        page.into_text()
    }

    fn name(&self, agent: Option<&AgentId>) -> String {
        agent.map(|agent| name(self.rules, agent).to_owned()).unwrap_or_default()
    }

    /// Returns the lines, oldest first.
    fn lines(&self) -> Vec<LogLine> {
        let task = &self.view.task;
        let simple = |at, who: String, act: &str, text: String| LogLine {
            at,
            is_open: false,
            who,
            act: act.to_owned(),
            text,
            seconds: None,
            details: Vec::new(),
        };
        let created =
            simple(task.created, self.name(task.created_by.as_ref()), "created", String::new());
        let mut lines = vec![created];
        let visits = task.history.iter().enumerate();
        lines.extend(
            visits.map(|(place, visit)| self.visit(visit, self.view.named.contains(&place))),
        );
        lines.extend(self.view.comments.iter().map(|comment| {
            let (name, text) = (person(self.rules, &comment.by), one_line(&comment.text));
            simple(comment.at, name, "comment", text)
        }));
        lines.extend(task.routing.claimed.zip(task.gate.as_ref()).map(|(at, open)| {
            let act = format!("took it at {}", open.current);
            simple(at, self.name(task.routing.agent.as_ref()), &act, String::new())
        }));
        lines.sort_by_key(|line| line.at);
        lines.extend(task.gate.as_ref().map(|open| self.open(open)));
        lines
    }

    fn visit(&self, visit: &Visit, is_named: bool) -> LogLine {
        let names =
            |gates: &[GateId]| gates.iter().map(GateId::as_str).collect::<Vec<_>>().join(", ");
        let left = visit.to.as_ref().filter(|_| !visit.stays());
        let place = |to| {
            let item = visit.to_item.map(|item| format!(", {item}")).unwrap_or_default();
            let round = visit.round.map(|round| format!(", round {round}")).unwrap_or_default();
            format!("{}{item}{round}", place_words(to))
        };
        let to = left.map(place);
        let act = step_words(&visit.station().to_string(), visit.outcome.as_str(), to.as_deref());
        let mut details: Vec<String> =
            visit.blockers.iter().map(|point| format!("- {}", one_line(point))).collect();
        details.extend(visit.rejection_notes.as_ref().map(|notes| one_line(notes)));
        if !visit.skipped.is_empty() {
            details.push(dim(format!("passed over: {}", names(&visit.skipped))));
        }
        if let Some(join) = visit.join {
            let left = &visit.unfinished;
            let left = (!left.is_empty()).then(|| format!(", not finished: {}", names(left)));
            details.push(dim(format!("{join}{}", left.unwrap_or_default())));
        }
        details.extend(
            visit
                .signature
                .as_ref()
                .map(|by| dim(format!("signed with {}", by.key().fingerprint()))),
        );
        if is_named {
            details.push(dim(NOT_SEEN));
        }
        LogLine {
            at: visit.exited,
            is_open: false,
            who: self.name(visit.agent.as_ref()),
            act,
            text: one_line(visit.summary.trim()),
            seconds: Some(visit.duration()),
            details,
        }
    }

    fn open(&self, open: &OpenVisit) -> LogLine {
        let task = &self.view.task;
        let earlier = task
            .history
            .iter()
            .filter(|visit| visit.gate == open.current && visit.branch.is_none());
        let item = open.item.map(|item| format!(", {item}")).unwrap_or_default();
        let times = match earlier.count() {
            0 => String::new(),
            1 => ", second time".to_owned(),
            2 => ", third time".to_owned(),
            more => format!(", time {}", more + 1),
        };
        let branch = |branch: &OpenBranch| {
            let agent = branch.agent.as_ref().map(|agent| format!(", {}", name(self.rules, agent)));
            format!(
                "{} ({}): {}{}",
                branch.id,
                branch.role,
                branch.status,
                agent.unwrap_or_default()
            )
        };
        let mut details: Vec<String> = open.branches.iter().map(branch).collect();
        details.extend(
            task.blockers.iter().map(|blocker| format!("- {}", one_line(&blocker.to_string()))),
        );
        let is_blocked = task.status == Status::Blocked;
        LogLine {
            at: self.now,
            is_open: true,
            who: self.name(task.routing.agent.as_ref()),
            act: format!(
                "{} {}{item}{times}",
                if is_blocked { "blocked at" } else { "at" },
                open.current
            ),
            text: String::new(),
            seconds: self.view.open_seconds,
            details,
        }
    }

    /// Returns how long it was at each gate, and how often it was sent back.
    fn sum(&self) -> String {
        let task = &self.view.task;
        let open = task.gate.as_ref().map(|open| &open.current);
        let gates = distinct(task.history.iter().map(|visit| &visit.gate).chain(open));
        let of = |gate: &GateId| {
            let of_gate = |visit: &&Visit| visit.gate == *gate && !visit.leaves_open();
            let ended: u64 = task.history.iter().filter(of_gate).map(Visit::duration).sum();
            let now = self.view.open_seconds.filter(|_| open == Some(gate)).unwrap_or(0);
            format!("{gate} {}", lasting(ended + now))
        };
        let gates: Vec<String> = gates.map(of).collect();
        let is_rejection =
            |visit: &&Visit| visit.outcome == Ending::Completed(Outcome::NeedsReview);
        let back = match task.history.iter().filter(is_rejection).count() {
            0 => "",
            1 => " Sent back once.",
            2 => " Sent back twice.",
            _ => " Sent back more than twice.",
        };
        if gates.is_empty() {
            return "It is at no gate yet.".to_owned();
        }
        format!("By gate: {}.{back}", gates.join(", "))
    }
}

/// Returns an act in its colour.
fn painted(act: &str) -> String {
    match act {
        back if back.starts_with("sent back") => red(back),
        blocked if blocked.starts_with("blocked") => yellow(blocked),
        done if done.ends_with("→ done") => green(done),
        open if open.starts_with("at ") => cyan(open),
        other => other.to_owned(),
    }
}
