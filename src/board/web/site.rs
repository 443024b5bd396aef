//! The projects of the server, each with its board as each reader sees it now.

use std::sync::{Arc, Mutex};

use axum::http::{HeaderMap, HeaderName};
use tokio::sync::watch::{Receiver, Sender};

use super::access::{Access, Visitor};
use super::health::HealthReader;
use super::metrics_page::MetricsPage;
use crate::board::model::columns::BoardView;
use crate::board::model::feed::BoardNews;
use crate::domain::{AgentId, TaskId, Timestamp};
use crate::project::access::login_limiter::LoginLimiter;
use crate::project::access::web_users::WebUsers;
use crate::project::workspace::{Clock, WorkspaceOpener};
use crate::system::client_call::ClientCall;
use crate::tasks::headers::mentions::Mention;

/// The projects of a server, and who may see them.
pub(crate) struct BoardSite {
    pub projects: Vec<SiteProject>,
    pub access: Access,
    /// People with logins; if `None`, a visitor with the link is git's user.
    pub users: Option<SiteUsers>,
    pub clock: Clock,
    pub agents: Box<AgentDoor>,
}

/// People with logins.
pub(crate) struct SiteUsers {
    pub users: WebUsers,
    pub limiter: Mutex<LoginLimiter>,
    /// The header in which a proxy names the login, if one does.
    pub header: Option<LoginHeader>,
}

/// The name of a header in which a proxy names the login.
pub(crate) type LoginHeader = HeaderName;

/// Answers a message of an agent; `None` if its token is unknown.
pub(crate) type AgentDoor = dyn Fn(&AgentPost) -> Option<AgentReply> + Send + Sync;

/// A message of an agent, by the Model Context Protocol.
#[derive(Debug, Default)]
pub(crate) struct AgentPost {
    pub token: String,
    /// The headers `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name`.
    pub version: Option<Vec<u8>>,
    pub method: Option<Vec<u8>>,
    pub name: Option<Vec<u8>>,
    pub body: Vec<u8>,
    /// The call, which is cancelled if the client hangs up.
    pub call: Arc<ClientCall>,
}

/// The status and the JSON of the answer.
pub(crate) type AgentReply = (u16, Option<String>);

/// A project that is shown.
pub(crate) struct SiteProject {
    /// Its part of the URL.
    pub slug: String,
    pub opener: WorkspaceOpener,
    pub readers: Vec<SiteReader>,
    /// The page for Prometheus, which does not log in; `None` if other machines can connect.
    pub metrics: Option<Arc<MetricsPage>>,
    pub health: HealthReader,
}

/// A person who reads a project and may act there.
pub(crate) struct SiteReader {
    /// The agent in whose name the reader acts, or the reason why the reader is read-only.
    pub you: Result<AgentId, String>,
    state: Sender<LiveState>,
}

/// A project's board at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct LiveState {
    /// A version that differs for each state, also after a restart of the server.
    pub version: String,
    pub board: Option<Arc<BoardView>>,
    /// The reason why the project cannot be read now.
    pub trouble: Option<String>,
}

impl SiteReader {
    pub(crate) fn new(you: Result<AgentId, String>) -> Self {
        Self { you, state: Sender::new(LiveState::default()) }
    }

    /// Stores a report of the feed. Browsers are notified only if the board then shows something else.
    pub(crate) fn take(&self, news: BoardNews, clock: Clock) {
        self.state.send_if_modified(|state| {
            let (board, trouble) = match news {
                BoardNews::Board(board) => (Some(board), None),
                BoardNews::Trouble(trouble) => (state.board.clone(), Some(trouble)),
            };
            let is_same = trouble == state.trouble
                && shows_the_same(board.as_deref(), state.board.as_deref());
            *state = LiveState { version: std::mem::take(&mut state.version), board, trouble };
            if !is_same {
                state.version = clock().as_nanosecond().to_string();
            }
            !is_same
        });
    }

    /// Takes out the mention of a task, which the reader sees now, and returns its time.
    pub(super) fn see(&self, task: &TaskId, clock: Clock) -> Option<Timestamp> {
        let mut seen = None;
        self.state.send_if_modified(|state| {
            let is_of = |mention: &Mention| mention.task == *task;
            let board = state.board.as_mut().filter(|board| board.mentions.iter().any(is_of));
            seen = board.and_then(|board| Arc::make_mut(board).see(task));
            if seen.is_some() {
                state.version = clock().as_nanosecond().to_string();
            }
            seen.is_some()
        });
        seen
    }

    /// Has the pages of the reader load again.
    pub(super) fn touch(&self, clock: Clock) {
        self.state.send_modify(|state| state.version = clock().as_nanosecond().to_string());
    }

    pub(super) fn state(&self) -> LiveState {
        self.state.borrow().clone()
    }

    /// Returns a receiver of the later states.
    pub(super) fn follow(&self) -> Receiver<LiveState> {
        self.state.subscribe()
    }
}

impl BoardSite {
    /// Returns the visitor who is logged in, or whom a trusted proxy names.
    pub(super) fn visitor(&self, headers: &HeaderMap) -> Option<Visitor> {
        let by_header = || {
            let users = self.users.as_ref()?;
            // A proxy that only adds its header passes on a client's own: then there are two.
            let mut logins = headers.get_all(users.header.as_ref()?).iter();
            let login = logins.next().filter(|_| logins.next().is_none())?.to_str().ok()?;
            Some(self.access.visitor_of_proxy(users.subject(login)?))
        };
        let visitor = by_header().or_else(|| self.access.visitor(headers, (self.clock)()))?;
        let is_known = self.reader(self.projects.first()?, &visitor).is_some();
        is_known.then_some(visitor)
    }

    /// Returns the reader of the project, if the visitor is still known.
    pub(super) fn reader<'s>(
        &'s self,
        project: &'s SiteProject,
        visitor: &Visitor,
    ) -> Option<&'s SiteReader> {
        let users = self.users.as_ref().filter(|_| visitor.agent.is_none());
        let Some(users) = users else {
            // Without logins, the cookie of an earlier login is not accepted.
            let is_owner = visitor.agent.is_some() || visitor.link().is_some();
            return project.readers.first().filter(|_| is_owner);
        };
        let agent = users.agent(visitor)?;
        project.readers.iter().find(|reader| reader.you.as_ref() == Ok(agent))
    }
}

impl SiteUsers {
    /// Returns the subject of a login in a cookie. It becomes invalid when the password changes.
    pub(super) fn subject(&self, login: &str) -> Option<String> {
        self.users.stamp(login).map(|stamp| format!("{login}\n{stamp}"))
    }

    /// Returns the agent in whose name a visitor acts, if the login still exists with the same password.
    fn agent(&self, visitor: &Visitor) -> Option<&AgentId> {
        let (login, _) = visitor.subject.split_once('\n')?;
        self.users.agent(login).filter(|_| self.subject(login).as_ref() == Some(&visitor.subject))
    }
}

/// Returns true if two boards differ only in the time.
fn shows_the_same(a: Option<&BoardView>, b: Option<&BoardView>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
    let BoardView {
        project,
        at: _,
        you,
        lanes,
        waiting_for_you,
        unreadable,
        paused,
        mentions,
        decisions,
        full_names,
        zone,
    } = a;
    *project == b.project
        && *you == b.you
        && *lanes == b.lanes
        && *waiting_for_you == b.waiting_for_you
        && *unreadable == b.unreadable
        && *paused == b.paused
        && *mentions == b.mentions
        && *decisions == b.decisions
        && *full_names == b.full_names
        && *zone == b.zone
}
