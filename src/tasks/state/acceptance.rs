//! The acceptance tests and the checklist of a task: as its files have them, and as people last committed them.
//!
//! Agents must not choose their own checks. So an agent's commit does not count, and neither does an edit that aof found in the worktree
//! while an agent had claimed the task.

use super::commit_message::named_in;
use super::read_keys::is_claimed;
use super::task_state::{TaskState, committed_task};
use crate::domain::acceptance::{AcceptanceTest, TestResult, TestVerdict};
use crate::domain::{CheckResults, ChecklistCount, GateCheck, TaskId, TestCount};
use crate::files::acceptance;
use crate::files::acceptance::{TESTS, TESTS_FILE};
use crate::files::diagnostic::Diagnostic;
use crate::files::printable::one_line;
use crate::files::task_file::{TaskFile, passages};
use crate::files::yaml::Fault;
use crate::git::log::trailers::{Trailer, parse};
use crate::git::{COMPANIONS_EDITED, CommitId, LogEntry, Person, Repository};
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::test_run::{TestSetup, run_tests};
use crate::project::trust::RulePrograms;
use crate::project::workspace::Workspace;
use crate::rules::verdict::mask::Masked;
use crate::rules::{ReadKeys, Rules};
use crate::storage::ProjectPath;
use crate::storage::layout::task_path;
use crate::storage::task_files;
use crate::system::process::Secrets;

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

/// Returns the tests of a version of a task as that commit has them.
pub(crate) fn tests_in_commit(
    repository: &Repository,
    commit: CommitId,
    path: &ProjectPath,
    file: &TaskFile,
) -> Result<Vec<AcceptanceTest>, ProjectError> {
    read_tests(&file.task.id, path, file, &|place| {
        let found = repository.read(commit, place.as_str()).map_err(|error| error.to_string())?;
        found.ok_or_else(|| "the commit has no such file".to_owned())
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
    pub file: TaskFile,
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
    Ok(Some(PeoplesTask { file, tests }))
}

/// Returns the programs that the tests of a task run, as the worktree has them and as people committed them. Invalid
/// ones run nothing.
pub(crate) fn test_programs(
    workspace: &Workspace,
    in_force: &InForce,
    path: &ProjectPath,
    file: &TaskFile,
) -> Result<RulePrograms, ProjectError> {
    let id = &file.task.id;
    let mut tests = tests_in_worktree(workspace, id, path, file).unwrap_or_default();
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
    peoples_task(workspace, in_force, id, path)?.ok_or_else(|| no_persons_version(id))?.tests
}

fn no_persons_version(id: &TaskId) -> ProjectError {
    ProjectError::Unfit {
        code: "no_persons_version",
        problem: format!("no person has committed `{id}`, so nobody says how it is checked"),
        fix: format!("a person commits it with git, or changes it with `aof edit {id}`").into(),
    }
}

/// Runs the checks of a gate. Returns the findings and a list of the faults. Takes no lock, and may take long.
pub(crate) fn run_checks(
    workspace: &Workspace,
    id: &TaskId,
    checks: &[GateCheck],
    secrets: &Secrets,
) -> Result<(CheckResults, Vec<String>), ProjectError> {
    let state = TaskState::read(workspace, id)?;
    let (in_force, file, path) = (&state.in_force, &state.file, &state.snapshot.path);
    let peoples = peoples_task(workspace, in_force, id, path)?;
    let peoples = peoples.ok_or_else(|| no_persons_version(id))?;
    let (mut results, mut failures) = (CheckResults::default(), Vec::new());
    if checks.contains(&GateCheck::Tests) {
        let tests = peoples.tests?;
        ensure_trusted(workspace, in_force, path, file, &tests)?;
        let setup = TestSetup { base_url: None, directory: &workspace.checkout };
        let run = run_tests(&tests, &setup, secrets)?;
        let mut count = TestCount { passed: 0, failed: 0, not_runnable: 0 };
        for TestResult { name, verdict, .. } in run {
            match verdict {
                TestVerdict::Passed => count.passed += 1,
                TestVerdict::NotRunnable => count.not_runnable += 1,
                TestVerdict::Failed(found) => {
                    count.failed += 1;
                    failures.push(format!("test `{}`: {}", one_line(&name), found.join(", ")));
                }
            }
        }
        if count.passed + count.failed == 0 {
            let changed = tests_in_worktree(workspace, id, path, file);
            let has_own = changed.is_ok_and(|tests| !tests.is_empty());
            failures.push(if has_own {
                format!("your tests are not committed: `aof edit {id}`")
            } else {
                "people have committed no tests that can be run".to_owned()
            });
        }
        results.tests = Some(count);
    }
    if checks.contains(&GateCheck::Checklist) {
        let (done, open) = open_items(&checklist(file.body()), &checklist(peoples.file.body()));
        let count = ChecklistCount::of(done, open.len());
        failures.extend(open.into_iter().map(|item| format!("open: {}", one_line(&item))));
        results.checklist = Some(count);
    }
    Ok((results, failures))
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

/// Returns whether a commit may have a person's text: an agent neither wrote nor committed it, it does not merely name a person, and it
/// is not a step of the engine. A merge has no text of its own.
fn may_be_a_persons(in_force: &InForce, entry: &LogEntry) -> bool {
    let is_agents = |person: &Person| {
        let agent = in_force.rules.org.agent_by_email(person.email());
        agent.is_some_and(|agent| !agent.is_human())
    };
    if entry.parents.len() > 1
        || is_agents(&entry.author)
        || is_agents(&entry.committer)
        || named_in(&entry.message).is_some()
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

/// Returns whether the commit is of an edit that aof found in the worktree, so that its author is unknown.
fn is_found_edit(entry: &LogEntry) -> bool {
    let subject = entry.message.lines().next().unwrap_or_default();
    subject.ends_with(" by hand") || subject.ends_with(COMPANIONS_EDITED)
}

/// A box of a task's text, `- [ ]` or `- [x]`. Appended works, comments and code have none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ChecklistItem {
    pub text: String,
    pub is_done: bool,
}

/// Returns the number of boxes in a task's text. Most texts have none, and are not parsed.
pub(crate) fn count_boxes(body: &str) -> ChecklistCount {
    let has_box = body.contains("[ ]") || body.contains("[x]") || body.contains("[X]");
    let items = if has_box { checklist(body) } else { Vec::new() };
    let done = items.iter().filter(|item| item.is_done).count();
    ChecklistCount::of(done, items.len() - done)
}

/// Returns the boxes of a task's text.
pub(crate) fn checklist(body: &str) -> Vec<ChecklistItem> {
    let text = passages(body).into_iter().next().unwrap_or_default();
    Masked::new(text).lines().filter_map(|line| checklist_item(line.text, line.loud)).collect()
}

fn checklist_item(text: &str, loud: &str) -> Option<ChecklistItem> {
    let line = loud.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*', '+']),
        _ => line[digits..].strip_prefix(['.', ')']),
    }?;
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let is_done = match rest.get(..3)? {
        "[ ]" => false,
        "[x]" | "[X]" => true,
        _ => return None,
    };
    let label = &rest[3..];
    if !label.is_empty() && !label.starts_with([' ', '\t']) {
        return None;
    }
    let label = text[text.len() - label.len()..].trim().to_owned();
    Some(ChecklistItem { text: label, is_done })
}

/// Returns the number of done items, and the open ones. An item that people committed is open until its box is ticked, so removing it
/// does not help.
pub(crate) fn open_items(all: &[ChecklistItem], peoples: &[ChecklistItem]) -> (usize, Vec<String>) {
    let mut ticked: Vec<&str> =
        all.iter().filter(|item| item.is_done).map(|item| item.text.as_str()).collect();
    let mut open: Vec<String> =
        all.iter().filter(|item| !item.is_done).map(|item| item.text.clone()).collect();
    let mut here = open.clone();
    let done = ticked.len();
    for item in peoples {
        if let Some(at) = ticked.iter().position(|text| *text == item.text) {
            ticked.remove(at);
        } else if let Some(at) = here.iter().position(|text| *text == item.text) {
            here.remove(at);
        } else {
            open.push(format!("{} (removed or changed)", item.text));
        }
    }
    (done, open)
}

/// Returns whether a check reads the boxes of the text, and the later version lacks one.
pub(crate) fn loses_boxes(rules: &Rules, before: &TaskFile, after: &TaskFile) -> bool {
    let mut left = checklist(after.body());
    ReadKeys::of(rules, &before.task).checklist
        && checklist(before.body()).iter().any(|item| {
            let at = left.iter().position(|found| found.text == item.text);
            at.map(|at| left.swap_remove(at)).is_none()
        })
}

/// Returns a line for each test in the frontmatter, and one for the file with more tests.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_counted_only_in_the_text() {
        let body = "# Login\n\n- [ ] one\n* [x] two\n  1. [X] three\n- [y] four\n-[ ] five\n- [ ]six\n\n```\n- [ ] code\n```\n\n\
                    > - [ ] quoted\n\n- [ ] `six`\n\n<!-- aof:work AOF-abc@0 -->\n## work\n\n- [ ] of an agent\n";
        let items: Vec<(String, bool)> =
            checklist(body).into_iter().map(|item| (item.text, item.is_done)).collect();
        let expected = [("one", false), ("two", true), ("three", true), ("`six`", false)];
        assert_eq!(items, expected.map(|(text, is_done)| (text.to_owned(), is_done)));
    }

    #[test]
    fn a_criterion_stays_open_until_it_is_ticked() {
        let open = |items: &str, peoples: &str| open_items(&checklist(items), &checklist(peoples));
        let peoples = "- [ ] a\n- [ ] b\n- [ ] b\n";
        assert_eq!(open("- [x] a\n- [x] b\n- [x] b\n", peoples), (3, vec![]));
        assert_eq!(open("- [x] a\n- [x] b\n", peoples), (2, vec!["b (removed or changed)".into()]));
        assert_eq!(open("- [x] a\n- [ ] b\n- [x] b\n", peoples), (2, vec!["b".into()]));
        assert_eq!(open("- [x] other\n", "- [ ] a\n"), (1, vec!["a (removed or changed)".into()]));
        assert_eq!(open("- [x] a\n- [ ] mine\n", "- [ ] a\n"), (1, vec!["mine".into()]));
        assert_eq!(open("", ""), (0, vec![]));
    }
}
