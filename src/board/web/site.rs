//! What the server shows: its projects, each with its board as it is now.

use std::sync::Arc;

use tokio::sync::watch::{Receiver, Sender};

use super::access::{Access, Visitor};
use crate::board::model::columns::BoardView;
use crate::board::model::feed::BoardNews;
use crate::domain::AgentId;
use crate::project::workspace::{Clock, WorkspaceOpener};

/// The projects of a server, and who may see them.
pub(crate) struct BoardSite {
    pub projects: Vec<SiteProject>,
    pub access: Access,
    pub clock: Clock,
}

/// A project that is shown.
pub(crate) struct SiteProject {
    /// Its part of the URL.
    pub slug: String,
    pub opener: WorkspaceOpener,
    /// Whose name whoever is logged in acts in, or why they only look.
    pub you: Result<AgentId, String>,
    state: Sender<LiveState>,
}

/// A project's board at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct LiveState {
    /// Different for each state, also after the server started again.
    pub version: String,
    pub board: Option<Arc<BoardView>>,
    /// Why the project cannot be read now.
    pub trouble: Option<String>,
}

impl SiteProject {
    pub(crate) fn new(slug: String, opener: WorkspaceOpener, you: Result<AgentId, String>) -> Self {
        Self { slug, opener, you, state: Sender::new(LiveState::default()) }
    }

    /// Takes in what the feed tells. Browsers are told only where that shows.
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

    pub(super) fn state(&self) -> LiveState {
        self.state.borrow().clone()
    }

    /// Returns the states that follow.
    pub(super) fn follow(&self) -> Receiver<LiveState> {
        self.state.subscribe()
    }

    /// Returns who acts for a visitor.
    pub(super) fn agent(&self, _visitor: &Visitor) -> Result<&AgentId, &str> {
        self.you.as_ref().map_err(String::as_str)
    }
}

/// Returns whether two boards differ in nothing but the time.
fn shows_the_same(a: Option<&BoardView>, b: Option<&BoardView>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
    let BoardView { project, at: _, you, lanes, waiting_for_you, unreadable } = a;
    *project == b.project
        && *you == b.you
        && *lanes == b.lanes
        && *waiting_for_you == b.waiting_for_you
        && *unreadable == b.unreadable
}
