//! What is claimed or assigned counts once the remote has it.

use std::fs;

use insta::assert_snapshot;

use crate::support::clones::{Clones, synced_project};
use crate::support::environment::executable;

#[test]
fn an_assignment_counts_once_the_remote_has_it() {
    let clones = Clones::new(&synced_project(), &["b"]);
    let id = clones.env.new_task(&["Add login"]);
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    // Between the look of one and its push, the other's gets there.
    clones.does(".", &["task", "assign", "--claim", &id, "agent-1", "--offline"]);
    let hook = clones.env.path("../b/.git/hooks/pre-push");
    let push = format!("git -C '{}' push --quiet origin main", clones.env.path(".").display());
    fs::write(
        &hook,
        format!("#!/bin/sh\nunset GIT_DIR\nmkdir ../once 2>/dev/null && {push}\nexit 0\n"),
    )
    .unwrap();
    executable(&hook);
    let output = clones.aof("b", &["task", "assign", "--claim", &id, "agent-2"]).code(5);
    assert!(output.stderr.contains("was claimed on another machine first"), "{}", output.stderr);
    clones.does(".", &["sync"]);
    assert_eq!(clones.head("."), clones.head("b"));
    let task = clones.aof("b", &["task", "show", &id, "--json"]).success().json();
    assert_eq!(task["routing"]["agent"], "agent-1");
    fs::rename(clones.env.path("../hub.git"), clones.env.path("../gone.git")).unwrap();
    let output = clones.aof(".", &["task", "assign", "--claim", &id, "agent-3"]).code(1);
    assert!(output.stderr.contains("cannot be reached"), "{}", output.stderr);
    clones.does(".", &["task", "assign", "--claim", &id, "agent-3", "--offline"]);
}

/// Two workers of one name, and a watcher that brings the claim of the second to the remote before that asks who was first.
#[test]
fn the_remote_decides_between_two_claims() {
    let clones = Clones::new(&synced_project(), &["b"]);
    let id = clones.env.new_task(&["Add login"]);
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    clones.does(".", &["task", "assign", "--claim", &id, "agent-1", "--offline"]);
    let hook = clones.env.path("../b/.git/hooks/pre-push");
    let push = format!("git -C '{}' push --quiet origin main", clones.env.path(".").display());
    let watcher = clones.command("b", &["sync"]);
    let watcher = watcher.get_program().to_string_lossy();
    fs::write(
        &hook,
        format!("#!/bin/sh\nunset GIT_DIR\nmkdir ../once 2>/dev/null && {push} && '{watcher}' sync --wait 1s >&2\nexit 0\n"),
    )
    .unwrap();
    executable(&hook);
    let output = clones.aof("b", &["task", "assign", "--claim", &id, "agent-1"]).code(5);
    assert!(output.stderr.contains("was claimed on another machine first"), "{}", output.stderr);
    assert!(clones.git("b", &["log", "-1", "--format=%s"]).starts_with("sync: merge"));
}

#[test]
fn two_machines_never_hold_one_task() {
    let clones = Clones::new(&synced_project(), &["b", "c"]);
    for number in 0..2 {
        clones.env.new_task(&[&format!("Task {number}")]);
    }
    clones.does(".", &["sync"]);
    let next = |clone: &str, agent: &str| {
        clones.command(clone, &["task", "next", "--agent", agent, "--json"])
    };
    let mut running = Vec::new();
    for (clone, agent) in [(".", "agent-1"), ("b", "agent-2"), ("c", "agent-3")] {
        let mut command = next(clone, agent);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        running.push((format!("{command:?}"), command.spawn().unwrap()));
    }
    let mut held = Vec::new();
    let mut idle = 0;
    for (command, child) in running {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        match value["task"]["id"].as_str() {
            Some(id) => held.push(id.to_owned()),
            None => idle += 1,
        }
    }
    held.sort();
    held.dedup();
    assert_eq!((held.len(), idle), (2, 1));
    for clone in [".", "b", "c"] {
        clones.does(clone, &["sync"]);
    }
    assert!(clones.head(".") == clones.head("b") && clones.head("b") == clones.head("c"));
}

#[test]
fn without_a_network_nothing_is_claimed_unless_one_takes_the_risk() {
    let clones = Clones::new(&synced_project(), &[]);
    clones.env.new_task(&["Add login"]);
    fs::rename(clones.env.path("../hub.git"), clones.env.path("../gone.git")).unwrap();
    let head = clones.head(".");
    let output = clones.aof(".", &["task", "next", "--agent", "agent-1"]);
    assert_snapshot!(output.code(1).stderr, @"
    error: nothing can be claimed, because `origin/main` cannot be reached: '../hub.git' does not appear to be a git repository
    Could not read from remote repository.

    hint: a claim counts once the remote has it (`git.sync` in project.yaml); try again with a network, or take the risk that somebody else does the same work with `--offline`
    ");
    assert_eq!(clones.head("."), head);
    clones.does(".", &["task", "next", "--agent", "agent-1", "--offline"]);
    assert_snapshot!(clones.aof(".", &["status"]).success().stdout, @"
    on main
    2 commits wait here for origin/main; offline since Feb 16, 10:00
    1 open: 1 in progress

    what waits for you is unknown: no agent of org.yaml has git's `user.email`

    Problems: 2
      ! no watcher is running
        start one with `aof watch`; without it, commands work but dropped files and edits wait
      ! origin/main cannot be reached since Feb 16, 10:00: '../hub.git' does not appear to be a git repository
        Could not read from remote repository.
        nothing is lost, and nothing can be claimed; `aof sync` tries again, and so does `aof watch`
    ");
    fs::rename(clones.env.path("../gone.git"), clones.env.path("../hub.git")).unwrap();
    clones.does(".", &["task", "next", "--agent", "agent-1"]);
    assert_eq!(clones.env.git(&["rev-list", "--count", "origin/main..HEAD"]).trim(), "0");
}

#[test]
fn an_assignment_refused_by_the_remote_returns_the_task_to_its_holder() {
    let clones = Clones::new(&synced_project(), &[]);
    let id = clones.env.new_task(&["Add login"]);
    clones.does(".", &["task", "assign", "--claim", &id, "agent-1"]);
    let hook = clones.env.path("../hub.git/hooks/pre-receive");
    fs::write(&hook, "#!/bin/sh\necho 'closed' >&2\nexit 1\n").unwrap();
    executable(&hook);
    let whose = || {
        let task = clones.aof(".", &["task", "show", &id, "--json"]).success().json();
        (task["routing"]["agent"].clone(), task["status"].clone())
    };
    let output = clones.aof(".", &["task", "assign", "--claim", &id, "agent-2"]).code(1);
    assert!(output.stderr.contains("closed"), "{output}");
    assert_eq!(whose(), ("agent-1".into(), "in_progress".into()));
    fs::remove_file(&hook).unwrap();
    clones.does(".", &["task", "assign", "--claim", &id, "agent-2"]);
    assert_eq!(whose(), ("agent-2".into(), "in_progress".into()));
    // What nobody had is nobody's again.
    let other = clones.env.new_task(&["Add logout"]);
    clones.does(".", &["sync"]);
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    executable(&hook);
    let _ = clones.aof(".", &["task", "assign", "--claim", &other, "agent-2"]).code(1);
    let task = clones.aof(".", &["task", "show", &other, "--json"]).success().json();
    assert_eq!(
        (&task["routing"]["agent"], &task["status"]),
        (&serde_json::Value::Null, &"ready".into())
    );
}

#[test]
fn a_branch_of_a_fork_returns_to_its_holder() {
    let project = "\
git: {sync: true}
workflow:
  gates:
    - id: checks
      type: fork
      joinStrategy: all
      branches:
        - {id: security, role: backend}
        - {id: style, role: backend}
";
    let clones = Clones::new(project, &[]);
    let id = clones.env.new_task(&["Add login"]);
    let branches = [format!("{id}@0/security"), format!("{id}@0/style")];
    clones.does(".", &["task", "assign", "--claim", &branches[0], "agent-1"]);
    clones.does(".", &["task", "assign", "--claim", &branches[1], "agent-2"]);
    let hook = clones.env.path("../hub.git/hooks/pre-receive");
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    executable(&hook);
    let _ = clones.aof(".", &["task", "assign", "--claim", &branches[1], "agent-3"]).code(1);
    let task = clones.aof(".", &["task", "show", &id, "--json"]).success().json();
    let holders: Vec<&str> = task["gate"]["branches"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|own| own["agent"].as_str())
        .collect();
    assert_eq!(holders, ["agent-1", "agent-2"], "{task}");
}

#[test]
fn a_claim_that_the_remote_does_not_take_is_given_back() {
    let clones = Clones::new(&synced_project(), &[]);
    let id = clones.env.new_task(&["Add login"]);
    clones.does(".", &["sync"]);
    let hook = clones.env.path("../hub.git/hooks/pre-receive");
    fs::write(&hook, "#!/bin/sh\necho 'closed' >&2\nexit 1\n").unwrap();
    executable(&hook);
    let output = clones.aof(".", &["task", "next", "--agent", "agent-1"]).code(1);
    assert!(output.stderr.contains("closed"), "{}", output.stderr);
    let task = clones.aof(".", &["task", "show", &id, "--json"]).success().json();
    assert_eq!(task["routing"]["agent"], serde_json::Value::Null);
    // As long as it does not, no more commits are made to find that out.
    let head = clones.head(".");
    let _ = clones.aof(".", &["task", "next", "--agent", "agent-1"]).code(1);
    assert_eq!(clones.head("."), head);
}

#[test]
fn a_claim_is_tried_until_the_wait_is_over() {
    let clones = Clones::new(&synced_project(), &[]);
    let id = clones.env.new_task(&["Add login"]);
    clones.does(".", &["sync"]);
    // Another clone pushes first, again and again: `left` times.
    let hook = clones.env.path(".git/hooks/pre-push");
    let outrun = "\
#!/bin/sh
left=$(cat ../left)
[ \"$left\" -gt 0 ] || exit 0
echo $((left - 1)) > ../left
cd ../hub.git && unset GIT_DIR
new=$(git commit-tree -p main -m 'by another' 'main^{tree}') && git update-ref refs/heads/main \"$new\"
";
    fs::write(&hook, outrun).unwrap();
    executable(&hook);
    let pushes = |left: u32| fs::write(clones.env.path("../left"), left.to_string()).unwrap();
    pushes(1000);
    let refused = clones.aof(".", &["claim", &id, "--agent", "agent-1", "--wait", "0s"]).code(1);
    assert!(refused.stderr.contains("`origin/main` moved during each of 10 tries"), "{refused}");
    pushes(12);
    clones.does(".", &["claim", &id, "--agent", "agent-1", "--wait", "5m"]);
    let task = clones.aof(".", &["show", &id, "--json"]).success().json();
    assert_eq!(task["routing"]["agent"], "agent-1");
    assert_eq!(clones.env.git(&["rev-list", "--count", "origin/main..HEAD"]).trim(), "0");
}
