//! The prover's alarms about the workflows in force, kept in `.aof/proofs` as long as the rules stay the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tracing::debug;

use super::active_rules::InForce;
use super::error::ProjectError;
use super::rule_files::rule_blobs;
use super::workspace::Workspace;
use crate::domain::{Digest, Workflow, WorkflowName};
use crate::rules::prover::{Alarm, MOST_STATES, prove_workflow};
use crate::storage::layout::LOCAL;
use crate::storage::{Durability, Folder};

/// The file below `.aof/`.
const FILE: &str = "proofs";

/// The alarms that are known, by workflow.
#[derive(Default, Serialize, Deserialize)]
struct Proofs {
    /// The digest of the rules and of this program's version.
    rules: String,
    alarms: BTreeMap<WorkflowName, Vec<Alarm>>,
}

/// Returns the prover's alarms about a workflow in force.
pub(crate) fn alarms(
    workspace: &Workspace,
    in_force: &InForce,
    workflow: &Workflow,
) -> Result<Vec<Alarm>, ProjectError> {
    let prove = || prove_workflow(&in_force.rules, workflow, MOST_STATES).alarms;
    let Some(commit) = in_force.commit else { return Ok(prove()) };
    let files = rule_blobs(&workspace.repository, commit)?;
    let files = files.iter().map(|file| format!("{} {}\n", file.id, file.path));
    let key = files.chain([env!("CARGO_PKG_VERSION").to_owned()]).collect::<String>();
    let rules = Digest::of(key.as_bytes()).to_string();
    let folder = Folder::open_existing(workspace.paths.root(), LOCAL)?;
    let kept = folder.map(|folder| folder.read_json::<Proofs>(FILE)).transpose()?.flatten();
    let mut proofs = kept.filter(|kept| kept.rules == rules).unwrap_or_default();
    if let Some(known) = proofs.alarms.get(&workflow.name) {
        return Ok(known.clone());
    }
    let found = prove();
    proofs.rules = rules;
    proofs.alarms.insert(workflow.name.clone(), found.clone());
    let bytes = serde_json::to_vec(&proofs).expect("alarms are JSON");
    let folder = workspace.paths.prepare_local();
    if let Err(error) = folder.and_then(|folder| folder.replace(FILE, &bytes, Durability::Volatile))
    {
        // Nothing depends on it: the next command proves again.
        debug!(%error, "the proofs are not kept");
    }
    Ok(found)
}
