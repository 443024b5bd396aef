//! The repository is an aof project itself: its rules and its tasks are real, and stay valid.

use std::fs;
use std::path::{Path, PathBuf};

use aof::domain::{Severity, TaskId};
use aof::files::config::configuration::{RuleFile, Source, load};
use aof::files::task_file;
use aof::files::task_file::{Defaults, Origin};
use aof::rules::Rules;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rules() -> Rules {
    let names = ["project.yaml", "org.yaml"];
    let sources: Vec<Source> = names
        .iter()
        .map(|name| Source {
            name: (*name).to_owned(),
            bytes: fs::read(root().join(name)).unwrap(),
        })
        .collect();
    assert!(names.iter().all(|name| RuleFile::at(name).is_some()));
    let configuration = load(&sources).unwrap();
    let (rules, findings) = Rules::new(configuration.project, configuration.org).unwrap();
    let worse: Vec<_> =
        findings.iter().filter(|finding| finding.severity > Severity::Note).collect();
    assert!(worse.is_empty(), "{worse:#?}");
    rules
}

fn task_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            task_files(&path, found);
        } else if path.extension().is_some_and(|suffix| suffix == "md") {
            found.push(path);
        }
    }
}

#[test]
fn its_rules_and_tasks_are_valid() {
    let rules = rules();
    let mut files = Vec::new();
    task_files(&root().join("tasks"), &mut files);
    assert!(files.len() >= 5, "{files:?}");
    for path in files {
        let id: TaskId = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
        let defaults = Defaults {
            workflow: rules.project.default_workflow.clone(),
            created: "2026-11-22T00:00:00Z".parse().unwrap(),
        };
        let file = task_file::parse(&fs::read(&path).unwrap(), &id, &defaults).unwrap();
        assert_eq!(file.origin, Origin::Adopted, "{}", path.display());
        assert!(!file.body().trim().is_empty(), "{} says what is to be done", path.display());
        let workflow = rules.workflow_of(&file.task).unwrap();
        if let Some(open) = &file.task.gate {
            let (_, gate) = workflow.gate(&open.current).unwrap();
            assert_eq!(file.task.routing.role.as_ref(), gate.role(), "{}", path.display());
        }
    }
}

#[test]
fn git_merges_its_tasks_by_their_meaning() {
    let attributes = fs::read_to_string(root().join(".gitattributes")).unwrap();
    assert_eq!(
        attributes, "tasks/**/*.md merge=aof -text\n",
        "as `aof init` and `aof doctor --fix` write it"
    );
}
