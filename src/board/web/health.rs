//! The state of a project at the foot of each page: its problems, and whether its history holds. It is read in the background, since that
//! takes longer than a page may.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::board::pages::layout::ProjectHealth;
use crate::git::CommitId;
use crate::health::context::{CheckContext, View};
use crate::health::overview::{overview, problems};
use crate::history::verify::history::verify_commits;
use crate::project::error::ProjectError;
use crate::project::workspace::WorkspaceOpener;
use crate::storage::lock::is_watched;

/// The least time between two readings, and the rest after one, as a multiple of its duration.
const LEAST: Duration = Duration::from_secs(1);
const REST_SHARE: u32 = 9;

/// The last answer, and the state of the board that it is of.
#[derive(Debug, Default)]
pub(crate) struct HealthReader(Arc<Mutex<LastReading>>);

#[derive(Debug, Default)]
struct LastReading {
    version: String,
    answer: Option<ProjectHealth>,
    /// The last commit of a history without faults, and the number of commits up to it.
    judged: Option<(CommitId, usize)>,
    is_busy: bool,
    rests_until: Option<Instant>,
}

fn locked(last: &Mutex<LastReading>) -> MutexGuard<'_, LastReading> {
    last.lock().unwrap_or_else(PoisonError::into_inner)
}

impl HealthReader {
    /// Returns what is known of a project, and has it read again if its board has another version. Never waits for that; calls `tell` if
    /// there are other problems or faults then.
    pub(super) fn answer(
        &self,
        opener: &WorkspaceOpener,
        version: &str,
        tell: impl FnOnce() + Send + 'static,
    ) -> Option<ProjectHealth> {
        let mut last = locked(&self.0);
        let rests = last.rests_until.is_some_and(|until| Instant::now() < until);
        if last.version != version && !last.is_busy && !rests {
            let (shared, opener) = (Arc::clone(&self.0), opener.clone());
            version.clone_into(&mut last.version);
            let work = move || {
                if read_again(&shared, &opener) {
                    tell();
                }
            };
            let thread = thread::Builder::new().name("board health".to_owned());
            last.is_busy = thread.spawn(work).is_ok();
        }
        last.answer
    }
}

/// Returns true if there are other problems or faults. The number of commits alone shows with the next change.
fn read_again(shared: &Mutex<LastReading>, opener: &WorkspaceOpener) -> bool {
    let (start, judged) = (Instant::now(), locked(shared).judged);
    let (answer, judged) = read(opener, judged).ok().unzip();
    let rest = LEAST.max(start.elapsed() * REST_SHARE);
    let mut last = locked(shared);
    let before = last.answer;
    (last.answer, last.judged, last.is_busy) = (answer, judged.flatten(), false);
    last.rests_until = Some(Instant::now() + rest);
    let counts = |health: ProjectHealth| (health.problems, health.faults);
    answer.map(counts) != before.map(counts)
}

/// Reads the state of a project. Of a history that held before, only the new commits are judged.
fn read(
    opener: &WorkspaceOpener,
    judged: Option<(CommitId, usize)>,
) -> Result<(ProjectHealth, Option<(CommitId, usize)>), ProjectError> {
    let workspace = opener.open()?;
    let context = CheckContext::read(&workspace, View::Status, is_watched(&workspace.paths))?;
    let problems = problems(&overview(&context)?).count();
    let repository = &workspace.repository;
    let Some(head) = repository.head_for_reading()?.commit else {
        return Ok((ProjectHealth { problems, commits: 0, faults: 0 }, None));
    };
    let known = match judged {
        Some((last, commits)) if repository.is_ancestor(last, head)? => Some((last, commits)),
        _ => None,
    };
    let since = known.map(|(last, _)| last);
    let verified = verify_commits(&workspace, since.as_slice(), head, None)?;
    let commits = verified.commits + known.map_or(0, |(_, commits)| commits);
    let faults = verified.open().count();
    let health = ProjectHealth { problems, commits, faults };
    Ok((health, (faults == 0).then_some((head, commits))))
}
