//! The watcher's journal: keeps the event stream up to date with what was committed, a part at a time, so that nothing else waits.

use super::desk::Desk;
use super::report::{Report, Told};
use crate::ops::{Left, Workspace, keep_up_events};

/// What was told of the stream.
#[derive(Default)]
pub(super) struct Journal {
    told: Told,
}

impl Journal {
    /// Writes what is to be written, or a part of it; returns what is left. Trouble is told once while it lasts.
    pub(super) fn keep(&mut self, workspace: &Workspace, desk: &mut Desk<'_>) -> Left {
        match keep_up_events(workspace) {
            Ok(left) => {
                self.told.forget_the_rest();
                left
            }
            Err(error) => {
                let problem = error.to_string();
                if self.told.is_news(problem.clone()) {
                    desk.tell(Report::Unrecorded { problem });
                }
                Left::Nothing
            }
        }
    }
}
