//! The answers of the server: reads what a page shows, makes the page, and does what a form asks for.

use std::sync::Arc;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::tz::TimeZone;
use maud::Markup;
use serde_json::json;

use super::access::LinkKind;
use super::request::{Asked, PageAnswer, WebFault, is_here, no_notice, page_answer, see_and_say};
use crate::board::model::act::{ActDone, BoardAct, perform};
use crate::board::model::activity::latest_activity;
use crate::board::model::columns::BoardView;
use crate::board::model::figures::project_figures;
use crate::board::model::page::{
    TaskDetails, read_log, task_diff, task_log, task_page as read_task,
};
use crate::board::pages::board_page::waiting::{Looked, waiting};
use crate::board::pages::board_page::{self, BoardQuery, list};
use crate::board::pages::forms::Posted;
use crate::board::pages::layout::{LISTED, NavPage, PageContent, PageFrame, PageLinks, PageNotice};
use crate::board::pages::markdown::markdown;
use crate::board::pages::task_page::{diff as work_page, edit as text_page};
use crate::board::pages::{figures_page, project_pages, task_page, workflow_svg};
use crate::domain::{
    AgentId, CompletionId, GateId, PublicKey, TaskId, Ticket, Workflow, WorkflowName, counted,
};
use crate::git::PromptPlace;
use crate::health::context::{CheckContext, View};
use crate::health::overview::{overview, status_lists};
use crate::history::verify::history::{Range, RangeStart, verify};
use crate::operations::CallFault;
use crate::operations::completion::completion;
use crate::operations::table::COMPLETE;
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::proofs::alarms;
use crate::project::rule_lookup::find_workflow;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::storage::lock::is_watched;
use crate::storage::random::ulid;
use crate::tasks::complete::{Signing, what_to_sign};
use crate::tasks::headers::mentions::note_seen;
use crate::tasks::view::code_commits::code_commits;
use crate::tasks::view::phrases;
use crate::tasks::view::task_view::show;

/// The number of acts after which the activity ends: earlier ones are in `aof events`.
const MOST_SKIPPED: usize = 100_000;

impl Asked {
    pub(super) fn workspace(&self) -> Result<Workspace, WebFault> {
        Ok(self.project().opener.open()?)
    }

    /// Returns the agent in whose name the visitor acts.
    pub(super) fn you(&self) -> Result<AgentId, WebFault> {
        if let Some(agent) = &self.visitor.agent {
            return Ok(agent.clone());
        }
        self.acting_here()?.map_err(|why| WebFault {
            status: StatusCode::FORBIDDEN,
            problem: format!("you only look: {why}"),
            fix: None,
        })
    }

    /// Returns the agent in whose name a browser acts, or the reason why it is read-only.
    fn acting_here(&self) -> Result<Result<AgentId, String>, WebFault> {
        let why = "the link was asked for without a terminal; `aof serve --link` at a terminal prints one that acts";
        Ok(match (&self.reader()?.you, self.visitor.link()) {
            (Ok(_), Some(LinkKind::Looks)) => Err(why.to_owned()),
            (you, _) => you.clone(),
        })
    }

    /// Returns the board, and the frame of each page.
    fn frame(&self, page: Option<NavPage>) -> Result<(Arc<BoardView>, PageFrame), WebFault> {
        let reader = self.reader()?;
        let state = reader.state();
        let notice = |text, is_refusal| PageNotice { text, fix: None, is_refusal, undo: None };
        let trouble = state.trouble.map(|text| notice(text, true));
        let text = self.notice.clone();
        let text = text.map(|(text, undo)| PageNotice { undo, ..notice(text, false) });
        let board = state.board.ok_or_else(|| WebFault {
            status: StatusCode::SERVICE_UNAVAILABLE,
            problem: trouble
                .as_ref()
                .map_or("the board is being read".to_owned(), |text| text.text.clone()),
            fix: Some("fix that, and load the page again".to_owned()),
        })?;
        let project = self.project();
        let you = self.acting_here()?;
        // Rules that cannot be read now take nothing away from what the board shows.
        let in_force = you.is_ok().then(|| self.workspace().ok()?.rules().ok()).flatten();
        let has_passkey = |you: &AgentId| {
            let keys = in_force.iter().flat_map(|rules| rules.rules.org.signing_keys(you));
            keys.into_iter().any(|key| key.passkey_of(&self.host()).is_some())
        };
        let signs = you.as_ref().is_ok_and(has_passkey);
        let frame = PageFrame {
            links: PageLinks::at_server(&project.slug),
            slug: project.slug.clone(),
            project: board.project.clone().unwrap_or_else(|| project.slug.clone()),
            projects: self.site.projects.iter().map(|project| project.slug.clone()).collect(),
            page,
            here: self.here.clone(),
            you: Some(you),
            form_token: self.visitor.form_token.clone(),
            health: self.health(&state.version),
            version: state.version,
            at: (self.site.clock)(),
            zone: board.zone.clone().unwrap_or(TimeZone::UTC),
            full_names: board.full_names.clone(),
            waiting: board.waiting_count(),
            has_logins: self.site.users.as_ref().is_some_and(|users| users.header.is_none()),
            signs,
            notice: trouble.or(text),
        };
        Ok((board, frame))
    }

    fn answer(&self, frame: &PageFrame, title: &str, content: &PageContent) -> Response {
        let response = page_answer(&frame.page(title, content));
        if self.notice.is_some() { no_notice(response) } else { response }
    }
}

/// Answers with a page of the whole project.
pub(super) fn page(asked: &Asked, page: NavPage) -> PageAnswer {
    let (board, frame) = asked.frame(Some(page))?;
    let given = |name: &str| asked.query.get(name).cloned();
    let query = BoardQuery {
        text: given("q").unwrap_or_default().trim().to_owned(),
        whole: given("whole"),
        workflow: given("workflow"),
        sort: given("sort"),
        group: given("group"),
        open: given("open"),
        only: given("only").filter(|only| !only.is_empty()),
        skip: given("skip").and_then(|skip| skip.parse().ok()).unwrap_or_default(),
    };
    let content = project_page(&asked.workspace()?, &frame, &board, &query, page)?;
    Ok(asked.answer(&frame, page.title(), &content))
}

/// Returns the content of a page of the whole project.
pub(super) fn project_page(
    workspace: &Workspace,
    frame: &PageFrame,
    board: &BoardView,
    query: &BoardQuery,
    page: NavPage,
) -> Result<PageContent, ProjectError> {
    Ok(match page {
        NavPage::Board => board_page::board(frame, board, query),
        NavPage::List => list::list(frame, board, query),
        NavPage::Waiting => {
            let id = query.open.as_ref().and_then(|id| id.parse::<TaskId>().ok());
            let is_there = |id: &TaskId| board.decisions.iter().any(|one| one.ticket.task == *id);
            let look = |id: TaskId| {
                let page = read_task(workspace, &id).ok()?;
                Some(Looked { diff: task_diff(workspace, &id), page })
            };
            waiting(frame, board, query, id.filter(is_there).and_then(look).as_ref())
        }
        NavPage::Status => {
            let watched = is_watched(&workspace.paths);
            let context = CheckContext::read(workspace, View::Status, watched)?;
            let you = frame.you.as_ref().and_then(|you| you.as_ref().ok());
            let rules = context.project().map(|project| &*project.in_force.rules);
            let lists = status_lists(&context, you);
            project_pages::status(frame, rules, &overview(&context)?, &lists)
        }
        NavPage::Verify => {
            let range = Range { from: RangeStart::Beginning, until: "HEAD".to_owned() };
            project_pages::verification(frame, &verify(workspace, &range, None)?)
        }
        NavPage::Statistics => {
            let page = figures_page(&project_figures(workspace)?, &|id| frame.links.task(id));
            PageContent::titled(NavPage::Statistics.title(), page)
        }
        NavPage::Activity => {
            let in_force = workspace.rules()?;
            let known = in_force.rules.org.all_agents();
            let only = query.only.as_deref().unwrap_or_default();
            let skip = query.skip.min(MOST_SKIPPED);
            let found = latest_activity(workspace, &in_force.rules, only, skip + LISTED + 1)?;
            let found = found.get(skip..).unwrap_or_default();
            let title = |task: &TaskId| match board.card(task) {
                Some(card) => card.title.clone(),
                None => show(workspace, task)
                    .map_or(String::new(), |(view, _)| view.file.task.title.clone()),
            };
            project_pages::activity(frame, query, found, &known, &title)
        }
        NavPage::Workflow => {
            let in_force = workspace.rules()?;
            let name = &in_force.rules.project.default_workflow;
            workflow_page(
                frame,
                board,
                (workspace, &in_force),
                find_workflow(&in_force.rules, name)?,
            )?
        }
    })
}

/// Returns the page of one workflow.
pub(super) fn workflow_page(
    frame: &PageFrame,
    board: &BoardView,
    (workspace, in_force): (&Workspace, &InForce),
    workflow: &Workflow,
) -> Result<PageContent, ProjectError> {
    let rules = &in_force.rules;
    let alarms = alarms(workspace, in_force, workflow)?;
    let counts = |gate: &GateId| tasks_at(board, &workflow.name, gate);
    let graph = workflow_svg(rules, workflow, &counts, None, &alarms);
    Ok(project_pages::workflow(frame, board, (rules, workflow), (&graph, &alarms)))
}

pub(super) fn workflow(asked: &Asked) -> PageAnswer {
    let (board, frame) = asked.frame(Some(NavPage::Workflow))?;
    let (workspace, name) = (asked.workspace()?, asked.named("workflow")?);
    let in_force = workspace.rules()?;
    let workflow = find_workflow(&in_force.rules, &name)?;
    let content = workflow_page(&frame, &board, (&workspace, &in_force), workflow)?;
    Ok(asked.answer(&frame, name.as_str(), &content))
}

/// Returns the number of tasks of a workflow at a gate.
pub(super) fn tasks_at(board: &BoardView, workflow: &WorkflowName, gate: &GateId) -> usize {
    let here = board.cards().filter(|card| card.workflow == *workflow);
    here.filter(|card| card.gate.as_ref() == Some(gate)).count()
}

pub(super) fn task(asked: &Asked) -> PageAnswer {
    let workspace = asked.workspace()?;
    let page = read_task(&workspace, &asked.named("task")?)?;
    // A person who opens the page sees the comment that mentions them.
    if let (Ok(Ok(you)), false) = (asked.acting_here(), asked.is_live)
        && let Some(at) = asked.reader()?.see(&page.id, asked.site.clock)
    {
        // If that fails, it is shown once more.
        let _ = note_seen(&workspace.paths, &you, &page.id, at);
    }
    show_task(asked, &page, None, None)
}

fn show_task(
    asked: &Asked,
    page: &TaskDetails,
    kept: Option<&Posted>,
    refusal: Option<PageNotice>,
) -> PageAnswer {
    let (board, mut frame) = asked.frame(None)?;
    frame.notice = refusal.or(frame.notice);
    let in_force = asked.workspace()?.rules()?;
    let rules = &in_force.rules;
    let graph = graph_of(rules, page, &board);
    let mut page = page.clone();
    let workspace = asked.workspace()?;
    read_log(&workspace, &mut page)?;
    page.sheet.commits = code_commits(&workspace, rules, &page.id).unwrap_or_default();
    let page = &page;
    let id = fresh_id(asked)?;
    let content = task_page::task(&frame, page, &board, Some(&id), kept, &graph);
    Ok(asked.answer(&frame, &page.title, &content))
}

/// Returns the workflow of a task, with the task's gate marked; empty if the rules no longer have the workflow.
pub(super) fn graph_of(rules: &Rules, page: &TaskDetails, board: &BoardView) -> Markup {
    let counts = |gate: &GateId| tasks_at(board, &page.workflow, gate);
    let workflow = find_workflow(rules, &page.workflow);
    let drawn = workflow.map(|flow| workflow_svg(rules, flow, &counts, page.gate.as_ref(), &[]));
    drawn.unwrap_or_default()
}

/// Returns the id of a completion that may be made from the page.
pub(super) fn fresh_id(asked: &Asked) -> Result<CompletionId, WebFault> {
    Ok(ulid((asked.site.clock)()).map_err(ProjectError::from)?)
}

/// Answers with the text that a passkey must sign for a completion, and the passkeys that may. If none may, it is sent unsigned.
pub(super) fn to_sign(asked: &Asked, posted: &Posted) -> PageAnswer {
    let workspace = asked.workspace()?;
    let page = read_task(&workspace, &asked.named("task")?)?;
    let act = posted.act(Some(&page)).map_err(|why| WebFault::conflict(&why))?;
    let Some(ticket) = act.ticket.filter(|_| *act.operation == COMPLETE) else {
        return Err(WebFault::conflict("only a completion is signed"));
    };
    let completion = completion(&act.given, &ticket, &asked.you()?, workspace.now());
    let wanted = what_to_sign(&workspace, &completion.map_err(CallFault::into_error)?)?;
    let host = asked.host();
    let key = |key: &PublicKey| {
        let credential = key.passkey_of(&host)?;
        Some(json!({"credential": credential, "key": key.to_string()}))
    };
    let keys: Vec<_> = wanted.keys.iter().filter_map(key).collect();
    let ticket = wanted.ticket.to_string();
    Ok(Json(json!({"text": wanted.text, "ticket": ticket, "host": host, "keys": keys}))
        .into_response())
}

/// Answers with the page where a passkey is made.
pub(super) fn passkey(asked: &Asked) -> PageAnswer {
    let (_, frame) = asked.frame(None)?;
    let org = asked.workspace()?.rules()?.rules.org.clone();
    let keys = frame.you.iter().flatten().flat_map(|you| org.signing_keys(you));
    let host = asked.host();
    let known = keys.filter(|key| key.passkey_of(&host).is_some()).map(PublicKey::fingerprint);
    let content = text_page::passkey(&frame, &host, &known.collect::<Vec<_>>());
    Ok(asked.answer(&frame, "Passkey", &content))
}

pub(super) fn edit(asked: &Asked) -> PageAnswer {
    show_edit(asked, None, None)
}

fn show_edit(asked: &Asked, kept: Option<&Posted>, refusal: Option<PageNotice>) -> PageAnswer {
    let page = read_task(&asked.workspace()?, &asked.named("task")?)?;
    let (_, mut frame) = asked.frame(None)?;
    frame.notice = refusal.or(frame.notice);
    let content = text_page::edit(&frame, &page, kept);
    Ok(asked.answer(&frame, &format!("Edit {}", page.id), &content))
}

pub(super) fn new(asked: &Asked) -> PageAnswer {
    show_new(asked, None, None)
}

fn show_new(asked: &Asked, kept: Option<&Posted>, refusal: Option<PageNotice>) -> PageAnswer {
    let (_, mut frame) = asked.frame(None)?;
    frame.notice = refusal.or(frame.notice);
    let in_force = asked.workspace()?.rules()?;
    let workflows = in_force.rules.project.workflows.iter().map(|flow| flow.name.to_string());
    let content = text_page::new(&frame, &workflows.collect::<Vec<_>>(), kept);
    Ok(asked.answer(&frame, "New task", &content))
}

pub(super) fn diff(asked: &Asked) -> PageAnswer {
    let workspace = asked.workspace()?;
    let page = read_task(&workspace, &asked.named("task")?)?;
    let diff = task_diff(&workspace, &page.id);
    let (_, frame) = asked.frame(None)?;
    let content = work_page::diff(&frame, &page, &diff);
    Ok(asked.answer(&frame, &format!("Work on {}", page.id), &content))
}

pub(super) fn log(asked: &Asked) -> PageAnswer {
    let workspace = asked.workspace()?;
    let page = read_task(&workspace, &asked.named("task")?)?;
    let commits = task_log(&workspace, &page.id);
    let (_, frame) = asked.frame(None)?;
    let content = work_page::log(&frame, &page, &commits);
    Ok(asked.answer(&frame, &format!("Commits of {}", page.id), &content))
}

/// Answers with a text as the page would show it.
#[expect(clippy::unnecessary_wraps, reason = "all forms have one signature")]
pub(super) fn preview(_: &Asked, posted: &Posted) -> PageAnswer {
    Ok(page_answer(&markdown(posted.text("body"))))
}

/// Does what a form of a task asks for, and shows the task in its new state.
pub(super) fn act(asked: &Asked, posted: &Posted) -> PageAnswer {
    let id: TaskId = asked.named("task")?;
    let page = read_task(&asked.workspace()?, &id)?;
    let told = posted
        .choice(&page)
        .map(|choice| format!("{}: {}", id.local(), phrases::acted(&choice.label, &choice.leads)));
    let back = posted.text("back");
    carry_out(asked, back, (posted.act(Some(&page)), told), |refusal| {
        // The task may have moved meanwhile.
        let page = read_task(&asked.workspace()?, &id)?;
        show_task(asked, &page, Some(posted), Some(refusal))
    })
}

pub(super) fn save(asked: &Asked, posted: &Posted) -> PageAnswer {
    let page = read_task(&asked.workspace()?, &asked.named("task")?)?;
    let act = posted.act(Some(&page));
    carry_out(asked, "", (act, None), |refusal| show_edit(asked, Some(posted), Some(refusal)))
}

pub(super) fn create(asked: &Asked, posted: &Posted) -> PageAnswer {
    carry_out(asked, "", (posted.act(None), None), |refusal| {
        show_new(asked, Some(posted), Some(refusal))
    })
}

/// The operations that a click takes back, each with the one that does so.
const UNDOING: [(&str, &str); 3] =
    [("complete", "undo"), ("claim", "release"), ("release", "claim")];

/// Does what the bar of a list asks for, for each task that is selected. What is refused is listed, the rest is done.
pub(super) fn bulk(asked: &Asked, posted: &Posted) -> PageAnswer {
    let (board, frame) = asked.frame(None)?;
    let tickets = posted.all("tickets").filter_map(|text| text.parse::<Ticket>().ok());
    let tickets: Vec<Ticket> = tickets.collect();
    if posted.text("act") == "approve" && posted.text("sure").is_empty() {
        let content = board_page::waiting::approve_all(&frame, &board, &tickets);
        return Ok(asked.answer(&frame, "Approve", &content));
    }
    let workspace = asked.workspace()?;
    let (mut done, mut refused) = (0, Vec::new());
    for ticket in &tickets {
        let page = read_task(&workspace, &ticket.task)?;
        let act = match posted.text("act") {
            "approve" => board_page::waiting::approval(&board, ticket),
            _ => Ok(Posted::default()),
        };
        let act = act.and_then(|extra| posted.for_task(ticket, extra).act(Some(&page)));
        match attempt(asked, act) {
            Ok(_) => done += 1,
            Err(refusal) => refused.push(format!("{}: {}", ticket.task, refusal.text)),
        }
    }
    let mut sentence = format!("{} done", counted(done, "task"));
    if !refused.is_empty() {
        sentence.push_str(&format!(", {} not: {}", refused.len(), refused.join("; ")));
    }
    let place = Some(posted.text("back")).filter(|place| is_here(place)).unwrap_or("/");
    Ok(see_and_say(place, &sentence, None))
}

/// Carries out an act, then leads to the task, or back to the page of the form. A refusal is shown above the form as it was sent.
fn carry_out(
    asked: &Asked,
    back: &str,
    (act, told): (Result<BoardAct, String>, Option<String>),
    show_again: impl FnOnce(PageNotice) -> PageAnswer,
) -> PageAnswer {
    let name = act.as_ref().map_or("", |act| act.operation.name);
    match attempt(asked, act) {
        Ok(done) => {
            let undo = UNDOING.iter().find(|(done, _)| *done == name);
            let undo = undo.zip(done.ticket.as_ref()).map(|((_, undo), ticket)| (*undo, ticket));
            let links = PageLinks::at_server(&asked.project().slug);
            let page = done.task.map_or_else(|| links.board(), |task| links.task(&task));
            let place = Some(back).filter(|place| is_here(place)).unwrap_or(&page);
            Ok(see_and_say(place, &told.unwrap_or(done.sentence), undo))
        }
        Err(refusal) => Ok((StatusCode::CONFLICT, show_again(refusal)?).into_response()),
    }
}

/// Attempts an act. Returns a refusal as it is shown.
fn attempt(asked: &Asked, act: Result<BoardAct, String>) -> Result<ActDone, PageNotice> {
    let notice =
        |text: String, fix: Option<String>| PageNotice { text, fix, is_refusal: true, undo: None };
    let act = act.map_err(|fault| notice(fault, None))?;
    let you = asked.you().map_err(|fault| notice(fault.problem, fault.fix))?;
    // A person at the browser is not at the terminal of the server; one who logged in by name has no keys there.
    let is_owner = asked.site.users.is_none();
    let signing = is_owner.then_some(Signing { key_file: None, asking: PromptPlace::Window });
    let workspace = asked.workspace().map_err(|fault| notice(fault.problem, fault.fix))?;
    let done = perform(&workspace, &act, &you, signing).map_err(CallFault::into_error);
    done.map_err(|error| notice(error.problem(), error.fix()))
}
