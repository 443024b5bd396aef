//! The acceptance tests and the checklist of a task: as its files have them, and as people last committed them.
//!
//! Agents must not choose what they are judged by. So an agent's commit does not count, and neither does an edit that aof found in the
//! worktree while an agent had claimed the task.

use super::task_state::committed_task;
use crate::domain::acceptance::AcceptanceTest;
use crate::domain::{AgentId, TaskId};
use crate::files::acceptance;
use crate::files::acceptance::{TESTS, TESTS_FILE};
use crate::files::diagnostic::Diagnostic;
use crate::files::task_file::TaskFile;
use crate::files::yaml::Fault;
use crate::git::log::trailers::{Trailer, parse};
use crate::git::{COMPANIONS_EDITED, CommitId, LogEntry};
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::trust::RulePrograms;
use crate::project::workspace::Workspace;
use crate::storage::ProjectPath;
use crate::storage::layout::task_path;
use crate::storage::task_files;

/// Returns the tests of a task as the worktree has them. Fails with all faults.
pub(crate) fn tests_in_worktree(
    workspace: &Workspace,
    id: &TaskId,
    path: &ProjectPath,
    file: &TaskFile,
) -> Result<Vec<AcceptanceTest>, ProjectError> {
    read_tests(id, path, file, &|path| {
        task_files::read(&workspace.paths, path).map(|found| found.bytes).map_err(|e| e.to_string())
    })
}

/// Reads the tests in the frontmatter, then those of the file that it names.
fn read_tests(
    id: &TaskId,
    path: &ProjectPath,
    file: &TaskFile,
    read: &dyn Fn(&ProjectPath) -> Result<Vec<u8>, String>,
) -> Result<Vec<AcceptanceTest>, ProjectError> {
    let (mut tests, mut diagnostics) = (Vec::new(), Vec::new());
    let source = String::from_utf8_lossy(file.bytes());
    let mut report = |name: &str, text: &str, faults: &[Fault]| {
        diagnostics.extend(Diagnostic::from_faults(name, text, faults));
    };
    if let Some(node) = file.field(TESTS).filter(|node| !node.is_null()) {
        match acceptance::read(node) {
            Ok(read) => tests.extend(read),
            Err(faults) => report(path.as_str(), &source, &faults),
        }
    }
    if let Some(node) = file.field(TESTS_FILE).filter(|node| !node.is_null()) {
        let fault = |problem: String, help: &str| {
            Fault::new("invalid_value", node.span.clone(), problem).help(help)
        };
        match node.as_str().map(|name| (name, place_of(name, path))) {
            None => {
                let help = format!("name a file, as in `testsFile: {id}.tests.yaml`");
                report(
                    path.as_str(),
                    &source,
                    &[fault("`testsFile` is the name of a file".to_owned(), &help)],
                );
            }
            Some((_, Err(problem))) => {
                let help =
                    "name a file beside the task, or by its path from the top of the project";
                report(path.as_str(), &source, &[fault(problem, help)]);
            }
            Some((name, Ok(place))) => match read(&place) {
                Err(problem) => {
                    let problem = format!("`{name}` cannot be read: {problem}");
                    report(
                        path.as_str(),
                        &source,
                        &[fault(problem, "write the file, or correct its name")],
                    );
                }
                Ok(bytes) => {
                    let text = String::from_utf8_lossy(&bytes);
                    match acceptance::parse(&text) {
                        Ok(read) => tests.extend(read),
                        Err(faults) => report(place.as_str(), &text, &faults),
                    }
                }
            },
        }
    }
    if diagnostics.is_empty() {
        return Ok(tests);
    }
    Err(ProjectError::InvalidTests { id: id.clone(), diagnostics })
}

/// Returns the path of a file of tests: beside the task, or from the top of the project.
fn place_of(name: &str, path: &ProjectPath) -> Result<ProjectPath, String> {
    let place = if name.contains('/') { name.parse() } else { path.sibling(name) };
    place.map_err(|error| error.to_string())
}

/// A task as people last committed it.
pub(crate) struct PeoplesTask {
    pub tests: Result<Vec<AcceptanceTest>, ProjectError>,
}

/// Returns the task as people last committed it; `None` if no person ever did.
pub(crate) fn peoples_task(
    workspace: &Workspace,
    in_force: &InForce,
    id: &TaskId,
    path: &ProjectPath,
) -> Result<Option<PeoplesTask>, ProjectError> {
    let repository = &workspace.repository;
    let Some(head) = repository.head_for_reading()?.commit else { return Ok(None) };
    let usual = task_path(id, in_force.rules.project.layout);
    let mut found = None;
    for entry in repository.log_of(head, &[path.as_str(), usual.as_str()])? {
        let entry = entry?;
        if !may_be_a_persons(in_force, &entry) {
            continue;
        }
        let file = committed_task(workspace, in_force, entry.id, id)?;
        if let Some(file) = file.filter(|file| !is_found_edit(&entry) || !is_claimed(file)) {
            found = Some(file);
            break;
        }
    }
    let Some(file) = found else { return Ok(None) };
    let tests = read_tests(id, path, &file, &|place| {
        let read = || -> Result<Option<Vec<u8>>, ProjectError> {
            match peoples_commit(workspace, in_force, head, place)? {
                Some(commit) => Ok(repository.read(commit, place.as_str())?),
                None => Ok(None),
            }
        };
        let bytes = read().map_err(|error| error.problem())?;
        bytes.ok_or_else(|| "no person has committed it".to_owned())
    });
    Ok(Some(PeoplesTask { tests }))
}

/// Returns the programs that the tests of a task run, as the worktree has them and as people committed them. Fails if the worktree's
/// are invalid.
pub(crate) fn test_programs(
    workspace: &Workspace,
    in_force: &InForce,
    path: &ProjectPath,
    file: &TaskFile,
) -> Result<RulePrograms, ProjectError> {
    let id = &file.task.id;
    let mut tests = tests_in_worktree(workspace, id, path, file)?;
    if let Some(peoples) = peoples_task(workspace, in_force, id, path)? {
        tests.extend(peoples.tests.unwrap_or_default());
    }
    Ok(RulePrograms::of_tests(workspace, id, &tests))
}

/// Fails if a test runs a program that this machine's user has not trusted.
pub(crate) fn ensure_trusted(
    workspace: &Workspace,
    in_force: &InForce,
    path: &ProjectPath,
    file: &TaskFile,
    tests: &[AcceptanceTest],
) -> Result<(), ProjectError> {
    let runs = |words: &[String]| tests.iter().any(|test| test.command() == Some(words));
    if tests.iter().all(|test| test.command().is_none()) {
        return Ok(());
    }
    test_programs(workspace, in_force, path, file)?.check(|program| runs(&program.command))
}

/// Returns the tests of a task as people last committed them. Fails if no person ever committed the task.
pub(crate) fn peoples_tests(
    workspace: &Workspace,
    in_force: &InForce,
    path: &ProjectPath,
    id: &TaskId,
) -> Result<Vec<AcceptanceTest>, ProjectError> {
    match peoples_task(workspace, in_force, id, path)? {
        Some(peoples) => peoples.tests,
        None => Err(ProjectError::Unfit {
            code: "no_persons_version",
            problem: format!("no person has committed `{id}`, so nobody says what it is tested by"),
            fix: format!("a person commits it with git, or changes it with `aof task edit {id}`"),
        }),
    }
}

/// Returns the newest commit of a person that changed the file.
fn peoples_commit(
    workspace: &Workspace,
    in_force: &InForce,
    head: CommitId,
    place: &ProjectPath,
) -> Result<Option<CommitId>, ProjectError> {
    for entry in workspace.repository.log_of(head, &[place.as_str()])? {
        let entry = entry?;
        if may_be_a_persons(in_force, &entry) && !is_found_edit(&entry) {
            return Ok(Some(entry.id));
        }
    }
    Ok(None)
}

/// Returns whether a commit may have what a person wrote: no agent made it, and it is no step of the engine. A merge has nothing of its
/// own.
fn may_be_a_persons(in_force: &InForce, entry: &LogEntry) -> bool {
    let email = entry.author.email();
    let is_agents = |(id, agent): (&AgentId, &crate::domain::Agent)| {
        !id.is_human() && agent.email.as_deref() == Some(email)
    };
    let unnamed = email.strip_suffix("@aof.invalid").and_then(|id| id.parse::<AgentId>().ok());
    if entry.parents.len() > 1
        || in_force.rules.org.agents.iter().flatten().any(is_agents)
        || unnamed.is_some_and(|id| !id.is_human())
    {
        return false;
    }
    let trailers = parse(&entry.message);
    let of = |key: &str| trailers.iter().find(|trailer| trailer.key() == key);
    match of("Aof-Event").map(Trailer::value) {
        Some(event) => matches!(event, "created" | "adopted" | "edited"),
        None => of("Aof-Task").is_none(),
    }
}

/// Returns whether aof committed what it found in the worktree: nobody knows who wrote that.
fn is_found_edit(entry: &LogEntry) -> bool {
    let subject = entry.message.lines().next().unwrap_or_default();
    subject.ends_with(" by hand") || subject.ends_with(COMPANIONS_EDITED)
}

/// Returns whether an agent had claimed the task, or a branch of it.
fn is_claimed(file: &TaskFile) -> bool {
    let task = &file.task;
    let mut holders = task.branches().map(|branch| &branch.agent).chain([&task.routing.agent]);
    holders.any(|holder| holder.as_ref().is_some_and(|agent| !agent.is_human()))
}

/// Returns a line for each test in the frontmatter, and one for the file with more of them.
pub(crate) fn test_lines(file: &TaskFile) -> Vec<String> {
    let node = |key| file.field(key).filter(|node| !node.is_null());
    let mut lines = match node(TESTS).map(acceptance::read) {
        None => Vec::new(),
        Some(Ok(tests)) => tests.iter().map(AcceptanceTest::summary).collect(),
        Some(Err(faults)) => {
            let text = String::from_utf8_lossy(file.bytes());
            let line = |fault: &Fault| format!("line {}: {fault}", fault.line_column(&text).0);
            faults.iter().map(line).collect()
        }
    };
    let more = node(TESTS_FILE).and_then(|node| node.as_str());
    lines.extend(more.map(|name| format!("those in `{name}`")));
    lines
}
