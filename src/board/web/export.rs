//! The board as plain files with relative links, for any web host: a project at a commit, with the same bytes each time.

use std::collections::HashMap;

use jiff::tz::TimeZone;

use super::answers::{graph_of, project_page, workflow_page};
use super::assets::ASSETS;
use crate::board::model::activity::{ActivityEntry, ActivityKind, latest_activity};
use crate::board::model::columns::{BoardSource, BoardView};
use crate::board::model::page::task_page as read_task;
use crate::board::pages::board_page::BoardQuery;
use crate::board::pages::layout::{NavPage, PageFrame, PageLinks, page_bytes};
use crate::board::pages::task_page;
use crate::domain::TaskId;
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::tasks::headers::dependencies::Dependencies;
use crate::tasks::headers::listing::{ListScope, Listing, read_all};
use crate::tasks::view::why::NOT_NOW;

/// Takes a file: its path and its content.
pub(crate) type PutFile<'p> = dyn FnMut(&str, &[u8]) -> Result<(), ProjectError> + 'p;

/// Makes all files of a project's site. The clock of the workspace must return the time of the commit.
pub(crate) fn export_site(
    workspace: &Workspace,
    commit: &str,
    put: &mut PutFile<'_>,
) -> Result<(), ProjectError> {
    let in_force = workspace.rules()?;
    let all = read_all(workspace, &in_force, ListScope::All);
    let board = board_of(workspace, &in_force, read_all(workspace, &in_force, ListScope::Recent));
    let frame = |page: Option<NavPage>, is_inside: bool| PageFrame {
        links: PageLinks::of_files(is_inside),
        slug: String::new(),
        project: board.project.clone().unwrap_or_else(|| "Project".to_owned()),
        projects: Vec::new(),
        page,
        here: String::new(),
        you: None,
        form_token: String::new(),
        version: commit.to_owned(),
        at: board.at,
        zone: board.zone.clone().unwrap_or(TimeZone::UTC),
        full_names: board.full_names.clone(),
        waiting: 0,
        health: None,
        has_logins: false,
        signs: false,
        notice: None,
    };
    // The files allow no acts, so pages have no script.
    for asset in ASSETS.iter().filter(|asset| asset.name != "board.js") {
        put(&format!("assets/{}", asset.name), asset.bytes)?;
    }
    for page in NavPage::ALL.into_iter().filter(|page| page.is_of_commit()) {
        let frame = frame(Some(page), false);
        let name = if page == NavPage::Board { "index" } else { page.path() };
        let content = project_page(workspace, &frame, &board, &BoardQuery::default(), page)?;
        put(&format!("{name}.html"), &page_bytes(&frame.page(page.title(), &content)))?;
    }
    let frame = frame(None, true);
    let rules = &in_force.rules;
    for workflow in &rules.project.workflows {
        let name = &workflow.name;
        let content = workflow_page(&frame, &board, (workspace, &in_force), workflow)?;
        let page = frame.page(name.as_str(), &content);
        put(&format!("workflows/{name}.html"), &page_bytes(&page))?;
    }
    let mut logs: HashMap<TaskId, Vec<ActivityEntry>> = HashMap::new();
    for entry in latest_activity(workspace, rules, "", usize::MAX)? {
        if entry.kind == ActivityKind::Other {
            logs.entry(entry.task.clone()).or_default().push(entry);
        }
    }
    for (task, _) in &all.tasks {
        let mut details = read_task(workspace, &task.id)?;
        details.sheet.log = logs.remove(&task.id).unwrap_or_default();
        // The site shows a commit, whatever git is doing in this clone: CI has no branch checked out.
        details.reasons.retain(|reason| !reason.starts_with(NOT_NOW));
        let graph = graph_of(rules, &details, &board);
        let content = task_page::task(&frame, &details, &board, None, None, &graph);
        let page = frame.page(&details.title, &content);
        put(&format!("tasks/{}.html", task.id), &page_bytes(&page))?;
    }
    Ok(())
}

/// Returns the board without a reader.
fn board_of(workspace: &Workspace, in_force: &InForce, mut listing: Listing) -> BoardView {
    let dependencies = Dependencies::read(workspace, in_force, &listing);
    for (task, _) in &mut listing.tasks {
        task.follow(&in_force.rules);
        task.awaited = dependencies.awaited_by(task);
    }
    BoardView::new(&BoardSource {
        rules: &in_force.rules,
        listing: &listing,
        waiting: &[],
        you: None,
        now: workspace.now(),
    })
}
