//! The project at a glance, and what needs somebody's attention.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::examination::examine;
use super::subject::{Subject, View};
use crate::history::sync::remote_state::{RemoteStanding, remote_value};
use crate::project::error::ProjectError;
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;

/// The project at a glance.
pub(crate) struct Overview {
    /// What the project is called.
    pub name: Option<String>,
    /// The branch that changes are committed to; nothing while none can be.
    pub branch: Option<String>,
    /// How it stands to its remote, if it has one.
    pub remote: Option<RemoteStanding>,
    /// How many active tasks there are, by status.
    pub counts: BTreeMap<String, usize>,
    /// How many of them came to their gate under earlier rules.
    pub drifted: usize,
    /// What needs attention, the most urgent first.
    pub attention: Vec<Issue>,
}

/// Returns the project at a glance. `watcher` says whether a watcher runs.
pub(crate) fn overview(workspace: &Workspace, watcher: bool) -> Result<Overview, ProjectError> {
    let subject = Subject::of(workspace, View::Status, watcher)?;
    let attention = examine(&subject)?;
    let mut counts = BTreeMap::new();
    for (header, _) in subject.project().into_iter().flat_map(|project| &project.listing.tasks) {
        *counts.entry(header.state().to_owned()).or_default() += 1;
    }
    let (branch, drifted) = (subject.branch().map(str::to_owned), subject.drifted());
    let (name, remote) = match subject.project {
        Ok(project) => (project.in_force.rules.project.name.clone(), project.remote),
        Err(_) => (None, None),
    };
    Ok(Overview { name, branch, remote, counts, drifted, attention })
}

/// Returns the project at a glance as `--json` shows it.
pub(crate) fn overview_value(overview: &Overview) -> Value {
    let issue = |own: &Issue| json!({"code": own.code, "problem": own.problem, "fix": own.fix});
    json!({
        "project": overview.name,
        "branch": overview.branch,
        "remote": overview.remote.as_ref().map(remote_value),
        "counts": overview.counts,
        "drifted": overview.drifted,
        "attention": overview.attention.iter().map(issue).collect::<Vec<_>>(),
    })
}
