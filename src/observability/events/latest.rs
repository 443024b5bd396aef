//! The last events of the stream, read from its end.

use std::mem;

use crate::domain::Timestamp;
use crate::files::event::line::EventLine;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::EventStream;

/// The number of bytes that are read first: some hundred events.
const FIRST: u64 = 256 * 1024;

/// Returns what `read` makes of the last lines, the latest first: at most `most`, and none from before `since`, if given.
pub(crate) fn latest_events<T>(
    workspace: &Workspace,
    most: usize,
    since: Option<Timestamp>,
    read: &dyn Fn(&str) -> Option<T>,
) -> Result<Vec<T>, ProjectError> {
    let Some(mut stream) = EventStream::at(&workspace.paths).open()? else {
        return Ok(Vec::new());
    };
    let (size, mut length) = (stream.size()?, FIRST);
    loop {
        let start = size.saturating_sub(length);
        stream.go_to(start)?;
        if start > 0 {
            // The rest of a line.
            stream.line()?;
        }
        let (mut found, mut is_first, mut is_all) = (Vec::new(), true, start == 0);
        while let Some(line) = stream.line()? {
            if mem::take(&mut is_first) && !is_all {
                let is_before = |since| EventLine::read(&line).is_some_and(|one| one.at < since);
                is_all = since.is_some_and(is_before);
            }
            found.extend(read(&line));
        }
        if is_all || found.len() >= most {
            found.reverse();
            found.truncate(most);
            return Ok(found);
        }
        length *= 4;
    }
}
