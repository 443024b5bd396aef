//! The thread that reads a project and acts in it, so that no key waits for the disk.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use crate::board::model::act::{BoardAct, perform};
use crate::board::model::page::{TaskDetails, read_log, task_diff, task_page};
use crate::domain::{AgentId, CompletionId, TaskId, Timestamp, WorkflowName};
use crate::git::PromptPlace;
use crate::operations::CallFault;
use crate::project::error::{ProjectError, reason_of};
use crate::project::workspace::{Workspace, WorkspaceOpener};
use crate::storage::random::ulid;
use crate::tasks::complete::Signing;
use crate::tasks::headers::mentions::note_seen;
use crate::tasks::view::work_diff::WorkDiff;

/// Draws a workflow as text.
pub(crate) type GraphText = fn(&Workspace, &WorkflowName) -> Result<String, ProjectError>;

/// A request of the board to its worker.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum WorkRequest {
    Page(TaskId),
    Diff(TaskId),
    Graph(WorkflowName),
    /// The person sees the comment of that time that mentions them.
    Seen(TaskId, Timestamp),
    Act(Box<BoardAct>),
}

/// A task in full, with the id of a completion made from it, so that the completion counts once, however often it is sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoadedPage {
    pub page: TaskDetails,
    pub completion: CompletionId,
}

/// The reason why something was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Denial {
    pub code: String,
    pub problem: String,
    pub fix: Option<String>,
}

impl Denial {
    fn of(error: &ProjectError) -> Self {
        let code = reason_of(error)["error"].as_str().unwrap_or_default().to_owned();
        Self { code, problem: error.problem(), fix: error.fix() }
    }
}

/// An answer of the worker.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WorkAnswer {
    Page(TaskId, Box<Result<LoadedPage, Denial>>),
    Diff(TaskId, Result<WorkDiff, String>),
    Graph(WorkflowName, Result<String, String>),
    Act(Result<String, Denial>),
}

/// Starts the worker of a project. It ends when `tell` returns false because no one listens.
pub(super) fn start(
    opener: WorkspaceOpener,
    you: Option<AgentId>,
    graph: GraphText,
    tell: impl Fn(WorkAnswer) -> bool + Send + 'static,
) -> io::Result<(Sender<WorkRequest>, JoinHandle<()>)> {
    let (sender, requests) = channel();
    let run = move || work(&opener, you.as_ref(), graph, &requests, &tell);
    let thread = thread::Builder::new().name("board work".to_owned()).spawn(run)?;
    Ok((sender, thread))
}

fn work(
    opener: &WorkspaceOpener,
    you: Option<&AgentId>,
    graph: GraphText,
    requests: &Receiver<WorkRequest>,
    tell: &impl Fn(WorkAnswer) -> bool,
) {
    let mut queue = VecDeque::new();
    loop {
        if queue.is_empty() {
            let Ok(request) = requests.recv() else { return };
            queue.push_back(request);
        }
        queue.extend(requests.try_iter());
        let Some(request) = queue.pop_front() else { continue };
        // A person who moves on quickly wants only the last page.
        let is_page = |request: &WorkRequest| matches!(request, WorkRequest::Page(_));
        if is_page(&request) && queue.iter().any(is_page) {
            continue;
        }
        if let (WorkRequest::Seen(id, at), Some(you)) = (&request, you) {
            // If that fails, it is shown once more.
            let _ = opener.open().map(|workspace| note_seen(&workspace.paths, you, id, *at));
        }
        if answer(opener, you, graph, request).is_some_and(|answer| !tell(answer)) {
            return;
        }
    }
}

fn answer(
    opener: &WorkspaceOpener,
    you: Option<&AgentId>,
    graph: GraphText,
    request: WorkRequest,
) -> Option<WorkAnswer> {
    Some(match request {
        WorkRequest::Seen(..) => return None,
        WorkRequest::Page(id) => {
            let page = page(opener, &id).map_err(|error| Denial::of(&error));
            WorkAnswer::Page(id, Box::new(page))
        }
        WorkRequest::Diff(id) => {
            let diff = diff(opener, &id);
            WorkAnswer::Diff(id, diff)
        }
        WorkRequest::Graph(name) => {
            let text = opener.open().and_then(|workspace| graph(&workspace, &name));
            WorkAnswer::Graph(name, text.map_err(|error| error.to_string()))
        }
        WorkRequest::Act(act) => {
            let done = act_as(opener, &act, you);
            WorkAnswer::Act(done.map_err(|error| Denial::of(&error)))
        }
    })
}

fn page(opener: &WorkspaceOpener, id: &TaskId) -> Result<LoadedPage, ProjectError> {
    let workspace = opener.open()?;
    let completion = ulid(workspace.clock()())?;
    let mut page = task_page(&workspace, id)?;
    read_log(&workspace, &mut page)?;
    Ok(LoadedPage { page, completion })
}

fn diff(opener: &WorkspaceOpener, id: &TaskId) -> Result<WorkDiff, String> {
    let workspace = opener.open().map_err(|error| error.to_string())?;
    task_diff(&workspace, id)
}

fn act_as(
    opener: &WorkspaceOpener,
    act: &BoardAct,
    you: Option<&AgentId>,
) -> Result<String, ProjectError> {
    let Some(you) = you else { return Err(ProjectError::NoAgent { email: None }) };
    let workspace = opener.open()?;
    // The terminal shows the board: the prompt for a passphrase needs a window of its own.
    let signing = Signing { key_file: None, asking: PromptPlace::Window };
    let done = perform(&workspace, act, you, Some(signing)).map_err(CallFault::into_error)?;
    Ok(done.sentence)
}
