//! A thread that keeps a board up to date, and hands each new state on.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::columns::BoardView;
use super::live::{BoardChange, LiveBoard};
use crate::domain::AgentId;
use crate::files::diagnostic::Diagnostic;
use crate::project::error::ProjectError;
use crate::project::workspace::WorkspaceOpener;

/// After this long without a change the board is made again: ages grow, and due dates pass.
const STALE: Duration = Duration::from_secs(20);

/// What a feed tells of its project.
#[derive(Debug, Clone)]
pub(crate) enum BoardNews {
    Board(Arc<BoardView>),
    /// The project cannot be read now; the last board is what is known.
    Trouble(String),
}

/// Starts to follow a project. `changes` says what changed; when it ends, so does the feed. `tell` returns whether anybody still
/// listens.
pub(crate) fn follow(
    opener: WorkspaceOpener,
    named: Option<AgentId>,
    changes: Receiver<BoardChange>,
    mut tell: impl FnMut(BoardNews) -> bool + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name("board".to_owned()).spawn(move || {
        let mut live = None;
        let mut change = BoardChange::Anything;
        loop {
            let news = match look(&mut live, &opener, named.as_ref(), &change) {
                Ok(board) => BoardNews::Board(board),
                Err(error) => {
                    live = None;
                    BoardNews::Trouble(trouble(&error))
                }
            };
            if !tell(news) {
                return;
            }
            change = match changes.recv_timeout(STALE) {
                Ok(first) => changes.try_iter().fold(first, BoardChange::and),
                Err(RecvTimeoutError::Timeout) => BoardChange::Tasks([].into()),
                Err(RecvTimeoutError::Disconnected) => return,
            };
        }
    })
}

/// Says what is wrong, with the place of the first fault.
fn trouble(error: &ProjectError) -> String {
    match error {
        ProjectError::InvalidRules(faults) if !faults.is_empty() => {
            let Diagnostic { file, line, column, message, .. } = &faults[0];
            format!("{}: {file}:{line}:{column}: {message}", error.problem())
        }
        _ => error.to_string(),
    }
}

fn look(
    live: &mut Option<LiveBoard>,
    opener: &WorkspaceOpener,
    named: Option<&AgentId>,
    change: &BoardChange,
) -> Result<Arc<BoardView>, ProjectError> {
    if let Some(live) = live {
        live.refresh(change)?;
        return Ok(live.board());
    }
    Ok(live.insert(LiveBoard::open(opener.open()?, named.cloned())?).board())
}
