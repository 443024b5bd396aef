//! A thread that keeps a board up to date and passes on each new state.

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

/// The time without a change after which the board is made again: ages grow, and due dates pass.
const STALE: Duration = Duration::from_secs(20);

/// A report of a feed about its project.
#[derive(Debug, Clone)]
pub(crate) enum BoardNews {
    Board(Arc<BoardView>),
    /// The reason why the project cannot be read now; the last board remains valid.
    Trouble(String),
}

/// Starts to follow a project. The feed ends when `changes` ends, or when `tell` returns false because the receiver is gone.
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

/// Returns a description of an error, with the place of the first fault.
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
