//! `aof show`: a task as a page. At a terminal its Markdown is rendered; a pipe gets it as it is written, without our markers.

use std::io::IsTerminal;
use std::process::ExitCode;

use anstream::adapter::strip_str;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::columns::NARROW;
use crate::cli::render::markdown::rendered;
use crate::cli::render::page::{TaskPage, branches, not_adopted, plan_facts, warn_of_visit};
use crate::cli::render::table::cut;
use crate::cli::{
    BLUE, CliResult, Session, cyan, dim, exact_time, green, indented, red, styled, width, yellow,
};
use crate::domain::{AgentId, Ending, Link, Outcome, Status, TaskId, Timestamp, TypedTask, Visit};
use crate::files::printable::{inert, one_line};
use crate::files::task_file::{Origin, body_parts};
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::{Workspace, acting_agent};
use crate::rules::{Escalation, Rules, escalation, explained, standing_reviews};
use crate::tasks::headers::listing::{ListScope, read_all};
use crate::tasks::headers::lookup;
use crate::tasks::headers::summary::{ChildProgress, TaskSummary};
use crate::tasks::headers::waiting::decisions_at;
use crate::tasks::state::acceptance::{test_lines, tests_in_worktree};
use crate::tasks::view::code_commits::{CodeCommit, LATEST, code_commits};
use crate::tasks::view::phrases::{self, ShortIds, TurnKind, ago, lasting, name};
use crate::tasks::view::task_view::{TaskView, named_entries, show, summary_of};

/// The greatest width of a text that people read.
const READABLE: usize = 88;
/// The number of the latest visits that the last line shows.
const FEW: usize = 6;
/// The columns around the title of a related task: the label, spaces, and how many parts are done.
const AROUND_TITLE: usize = 26;
/// The columns around the subject of a commit, besides its author, time and branch.
const AROUND_SUBJECT: usize = 13;
/// The least columns for a title or a subject.
const NARROWEST: usize = 8;
/// The note on a person whose commit has only the name.
pub(super) const NOT_SEEN: &str = "named, not seen";

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    task: TypedTask,
}

pub(crate) fn run_show(session: &Session, args: &ShowArgs) -> CliResult {
    let workspace = session.workspace("show")?;
    let ticket = lookup::ticket_to_read(&workspace, &args.task)?;
    let (view, in_force) = show(&workspace, &ticket.task)?;
    session.warn_of_rules(&in_force);
    warn_of_visit(session, &ticket, &view.file.task);
    if let Some(frozen) = &view.frozen {
        let problem = &frozen.problem;
        session.warn(&inert(&format!("it is frozen: {problem}; this is what HEAD has")));
        session.output.say(format!("  {}", inert(&frozen.fix)));
    }
    if let Err(error @ ProjectError::InvalidTests { .. }) =
        tests_in_worktree(&workspace, &ticket.task, &view.path, &view.file)
    {
        session.warn(&format!("{error}: `aof test {}` says why", ticket.task));
    }
    let task = &view.file.task;
    let named = named_entries(&workspace, &in_force, &view.path, task)?;
    if session.output.is_json() {
        let mut value = view.value(&workspace, &in_force.rules);
        for place in &named {
            value["gateHistory"][*place]["namedNotSeen"] = json!(true);
        }
        if !view.children.is_empty() {
            let states =
                view.children.iter().map(|child| (child.id.to_string(), json!(child.state())));
            value["children"] = Value::Object(states.collect());
        }
        if let Some(frozen) = view.frozen {
            value["frozen"] = json!(frozen.fields);
        }
        session.output.data(value);
    } else {
        let reader = acting_agent(&workspace, &in_force.rules.org, None, true).ok();
        let page = ShownTask {
            workspace: &workspace,
            in_force: &in_force,
            view: &view,
            reader,
            is_exact: session.verbose,
        };
        let named = named.iter().map(|place| &task.history[*place]).collect::<Vec<_>>();
        let commits = code_commits(&workspace, &in_force.rules, &task.id).unwrap_or_else(|error| {
            session.warn(&inert(&format!("the commits that name it cannot be read: {error}")));
            Vec::new()
        });
        session.output.page(&page.text(&named, &commits));
    }
    Ok(ExitCode::SUCCESS)
}

/// A task and its surroundings, to be shown as a page.
struct ShownTask<'p> {
    workspace: &'p Workspace,
    in_force: &'p InForce,
    view: &'p TaskView,
    reader: Option<AgentId>,
    /// True if it has exact times.
    is_exact: bool,
}

impl ShownTask<'_> {
    fn text(&self, named: &[&Visit], commits: &[CodeCommit]) -> String {
        let (view, rules) = (self.view, &self.in_force.rules);
        let task = &view.file.task;
        let mut page = TaskPage::new(task);
        page.line(self.state());
        let branches = branches(rules, task);
        if !branches.is_empty() {
            page.head("Branches");
            page.facts(&branches);
        }
        let blockers = task.blockers.iter().map(|blocker| explained(rules, blocker));
        page.section("Blocked by", &blockers.collect::<Vec<_>>());
        self.add_points(&mut page);
        let parts = body_parts(view.file.body());
        let texts = task.description.as_deref().into_iter().chain(parts.texts.iter().copied());
        for text in texts.filter(|text| !text.trim().is_empty()) {
            page.line("");
            // Markdown for programs keeps its columns.
            markdown(&mut page, text, if std::io::stdout().is_terminal() { "  " } else { "" });
        }
        page.section("Tests", &test_lines(&view.file));
        if !parts.comments.is_empty() {
            page.head("Comments");
        }
        for comment in &parts.comments {
            page.line(format!("  {}, {}", person(rules, &comment.by), self.ago(comment.at)));
            markdown(&mut page, &comment.text, "    ");
        }
        self.add_commits(&mut page, commits);
        page.line("");
        page.columns(&self.facts(named));
        let way = self.way();
        if !way.is_empty() {
            page.line("");
            page.line(way);
        }
        page.into_text()
    }

    fn ago(&self, at: Timestamp) -> String {
        ago(at, self.workspace.now(), &TimeZone::system())
    }

    fn turn(&self, task: &TaskSummary) -> (String, TurnKind) {
        let rules = &self.in_force.rules;
        let reader = self.reader.as_ref();
        let waits = reader.is_some_and(|reader| {
            let path = &self.view.path;
            task.id == self.view.file.task.id
                && !decisions_at(self.workspace, self.in_force, task, path, reader).is_empty()
        });
        let turn =
            phrases::turn(task, rules, self.workspace.now(), reader, waits, &ShortIds::default());
        (turn.phrase, turn.kind)
    }

    /// Returns the line below the title: the gate, whose turn it is, since when, and what people planned.
    fn state(&self) -> String {
        let view = self.view;
        let task = &view.file.task;
        if view.file.origin == Origin::HandMade {
            return not_adopted(view.context.as_ref().map(|context| &context.gate));
        }
        let (now, zone) = (self.workspace.now(), &self.in_force.rules.project.timezone);
        let mut summary = TaskSummary::of(&view.file);
        summary.follow(&self.in_force.rules);
        summary.awaited.clone_from(&view.awaited);
        let (phrase, kind) = self.turn(&summary);
        let phrase = inert(&phrase);
        let phrase = match kind {
            TurnKind::Stopped => yellow(&phrase),
            TurnKind::Ended if task.status == Status::Complete => green(&phrase),
            TurnKind::You => styled(BLUE, &phrase),
            _ => phrase,
        };
        let lasting = |since: Timestamp| match now.as_second() - since.as_second() {
            ..60 => "just now".to_owned(),
            seconds => lasting(seconds.unsigned_abs()),
        };
        let mut parts = match &task.gate {
            Some(open) => {
                let item = open.item.map(|item| format!(", {item}")).unwrap_or_default();
                let gate = format!("{}{item}", cyan(&open.current));
                vec![gate, format!("{phrase} {}", lasting(open.entered)).trim_start().to_owned()]
            }
            None => vec![format!("{phrase} {}", self.ago(task.updated))],
        };
        parts.extend(plan_facts(task, now, zone));
        if !task.plan.assignee.is_empty() && !phrase.contains("for ") {
            parts.push(format!("for {}", self.assignees().join(", ")));
        }
        in_lines(&parts)
    }

    fn assignees(&self) -> Vec<String> {
        let rules = &self.in_force.rules;
        let shown = |named: &String| match rules.org.agent_named(named) {
            Some(agent) => name(rules, agent).to_owned(),
            None => one_line(named),
        };
        self.view.file.task.plan.assignee.iter().map(shown).collect()
    }

    /// Adds what reviews still want.
    fn add_points(&self, page: &mut TaskPage) {
        let rules = &self.in_force.rules;
        let reviews = standing_reviews(&self.view.file.task);
        if reviews.is_empty() {
            return;
        }
        page.head("Open points");
        for (review, _) in reviews {
            let by = review.from_agent.as_ref().map(|agent| format!("{} at ", name(rules, agent)));
            let from = dim(format!(
                "{}{}, {}",
                by.unwrap_or_default(),
                review.from_gate,
                self.ago(review.timestamp)
            ));
            for (place, point) in review.blockers.iter().enumerate() {
                let from = if place == 0 { format!("    {from}") } else { String::new() };
                page.line(format!("  [ ] {}{from}", indented(point.trim(), "      ")));
            }
            if let Some(notes) = &review.notes {
                markdown(page, notes, "      ");
            }
        }
    }

    /// Adds the latest commits that name the task; with exact times, all of them.
    fn add_commits(&self, page: &mut TaskPage, commits: &[CodeCommit]) {
        if commits.is_empty() {
            return;
        }
        page.head("Commits");
        let shown = if self.is_exact { commits.len() } else { LATEST.min(commits.len()) };
        for commit in &commits[..shown] {
            let mut from = format!("{}, {}", one_line(&commit.author), self.ago(commit.time));
            from.extend(commit.branches.first().map(|name| format!(", on {}", one_line(name))));
            let room = width().saturating_sub(AROUND_SUBJECT);
            let from = cut(&from, room.saturating_sub(NARROWEST));
            let room = room.saturating_sub(from.width());
            let (id, subject) = (cyan(commit.short()), one_line(&commit.subject));
            page.line(format!("  {id}  {}  {}", cut(&subject, room), dim(from)));
        }
        if shown < commits.len() {
            let (more, id) = (commits.len() - shown, &self.view.file.task.id);
            page.line(format!("  and {more} more: aof show {id} -v"));
        }
    }

    /// Returns the relations to other tasks, and the facts that are seldom needed.
    fn facts(&self, named: &[&Visit]) -> Vec<(&'static str, String)> {
        let (view, rules) = (self.view, &self.in_force.rules);
        let task = &view.file.task;
        let mut facts = Vec::new();
        facts.extend(escalation(task, None).map(|reason| {
            let Escalation { role, from, from_role: _, since, why } = reason;
            let from = from.map(|agent| format!(" from {}", name(rules, &agent)));
            let why = one_line(&why);
            (
                "Escalated",
                format!("to {role}{}, {}: {why}", from.unwrap_or_default(), self.ago(since)),
            )
        }));
        let answer = task.gate.as_ref().and_then(|open| open.answer.as_deref());
        facts.extend(answer.map(|text| ("Unblocked", one_line(text))));
        if rules.is_drifted(task) {
            let drifted = "the task came here under earlier rules; `aof why` says what that means";
            facts.push(("Rules", drifted.to_owned()));
        }
        facts.extend(self.relations());
        let plan = &task.plan;
        facts.extend(plan.milestone.as_ref().map(|name| ("Milestone", one_line(name))));
        let link = |link: &Link| {
            let request = link.request().map(|request| one_line(&request) + "  ");
            ("Link", request.unwrap_or_default() + &one_line(&link.to_string()))
        };
        facts.extend(plan.links.iter().map(link));
        facts.extend(task.work().map(|work| ("Work", work.to_string())));
        let is_shown = |key: &str| plan.priority.is_some() || key != "priority";
        let metadata = task.metadata.iter().filter(|(key, _)| is_shown(key));
        let metadata = metadata.map(|(key, value)| match value.as_str() {
            Some(text) => format!("{key}={}", one_line(text)),
            None => format!("{key}={value}"),
        });
        facts.push(("Metadata", inert(&metadata.collect::<Vec<_>>().join(", "))));
        if rules.project.workflows.len() > 1 {
            facts.push(("Workflow", task.routing.workflow.to_string()));
        }
        facts.extend(task.created_by.as_ref().map(|agent| ("Made by", agent.to_string())));
        facts.extend(named.iter().filter_map(|visit| {
            let (station, outcome) = (visit.station(), &visit.outcome);
            let agent = visit.agent.as_ref()?;
            Some(("People", format!("{agent}: {NOT_SEEN} ({outcome} at {station})")))
        }));
        if self.is_exact {
            facts.push(("Created", exact_time(task.created)));
            facts.push(("Updated", exact_time(task.updated)));
        }
        facts.push(("File", inert(&self.workspace.git_commands.path(&view.path))));
        facts.retain(|(_, fact)| !fact.is_empty());
        facts
    }

    /// Returns the tasks around this one. Only for a terminal are all tasks read to find those that wait for this one.
    fn relations(&self) -> Vec<(&'static str, String)> {
        let task = &self.view.file.task;
        let around = std::io::stdout().is_terminal();
        let around = around.then(|| read_all(self.workspace, self.in_force, ListScope::All));
        let all = || around.iter().flat_map(|listing| &listing.tasks).map(|(task, _)| &**task);
        let parts_of = |id: &TaskId| -> Vec<&TaskSummary> {
            all().filter(|other| other.parent.as_ref() == Some(id)).collect()
        };
        let read = |id: &TaskId| summary_of(self.workspace, self.in_force, id);
        let line = |id: &TaskId, other: Option<&TaskSummary>| match other {
            None => format!("{id}  (not found)"),
            Some(other) => {
                let (phrase, _) = self.turn(other);
                let gate = other.current_gate().filter(|_| width() >= NARROW);
                let gate = gate.map(|gate| format!("{gate}  ")).unwrap_or_default();
                let place = format!("{gate}{}", inert(&phrase));
                let taken = AROUND_TITLE + id.as_str().len() + place.width();
                let room = width().saturating_sub(taken).max(NARROWEST);
                format!("{}  {}  {place}", cyan(id), cut(&one_line(&other.title), room))
            }
        };
        let mut found = Vec::new();
        if let Some(parent) = &task.parent {
            let parts = parts_of(parent);
            let done =
                ChildProgress::of(&parts.iter().map(|part| (*part).clone()).collect::<Vec<_>>());
            let is_left_out = parts.is_empty() || width() < NARROW;
            let done = if is_left_out { String::new() } else { format!("  {done} done") };
            found.push(("Part of", line(parent, read(parent).as_ref()) + &done));
        }
        for id in &task.depends_on {
            found.push(("After", line(id, read(id).as_ref())));
        }
        let waits_for_this =
            |other: &&TaskSummary| other.depends_on.contains(&task.id) && !other.is_finished();
        found.extend(
            all().filter(waits_for_this).map(|other| ("Before", line(&other.id, Some(other)))),
        );
        let parts = parts_of(&task.id);
        let parts: Vec<&TaskSummary> =
            if parts.is_empty() { self.view.children.iter().collect() } else { parts };
        found.extend(parts.iter().map(|part| ("Part", line(&part.id, Some(part)))));
        found
    }

    /// Returns the gates that it passed, with how long it was there, and the present one.
    fn way(&self) -> String {
        let task = &self.view.file.task;
        let first = task.history.len().saturating_sub(FEW);
        let step = |visit: &Visit| {
            let station = visit.station();
            match &visit.outcome {
                Ending::Completed(Outcome::NeedsReview) => {
                    format!("{station}: {}", red("sent back"))
                }
                Ending::Completed(Outcome::Complete | Outcome::Decision(_)) => {
                    format!("{station} {} {}", green("✓"), lasting(visit.duration()))
                }
                other => format!("{station}: {other}"),
            }
        };
        let mut steps: Vec<String> = task.history[first..].iter().map(step).collect();
        if first > 0 {
            steps.insert(0, "...".to_owned());
        }
        if let (Some(open), false) = (&task.gate, steps.is_empty()) {
            steps.push(format!("> {}", open.current));
        }
        in_lines(&steps)
    }
}

/// Returns coloured texts with two spaces between them, on as many lines as the terminal needs.
fn in_lines(parts: &[String]) -> String {
    let (mut lines, mut used) = (String::new(), 0_usize);
    for part in parts {
        let taken = strip_str(part).to_string().width();
        let is_first = lines.is_empty();
        let fits = used.saturating_add(2 + taken) <= width();
        lines.push_str(if is_first {
            ""
        } else if fits {
            "  "
        } else {
            "\n"
        });
        used = if is_first || !fits { taken } else { used + 2 + taken };
        lines.push_str(part);
    }
    lines
}

/// Returns the name of whoever wrote a comment.
pub(super) fn person(rules: &Rules, written: &str) -> String {
    match written.parse() {
        Ok(agent) => name(rules, &agent).to_owned(),
        Err(_) => one_line(written),
    }
}

/// Adds a text: rendered at a terminal, else as it is written.
fn markdown(page: &mut TaskPage, text: &str, indent: &str) {
    let is_terminal = std::io::stdout().is_terminal();
    let text = if is_terminal {
        rendered(text, width().min(READABLE).saturating_sub(indent.len()))
    } else {
        inert(text.trim_matches(['\n', '\r']))
    };
    for line in text.lines() {
        page.line(format!("{indent}{line}").trim_end());
    }
}
