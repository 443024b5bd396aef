//! Who has which task, where several machines give and take them: watchers, sweeps, runners and agents' tools.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::clones::{Clones, sends_what_git_refuses};
use crate::support::environment::executable;
use crate::support::environment::{PROJECT, eventually};
use crate::support::mcp_client::{Era, McpClient};
use crate::support::scripted_agents::DONE;

const ORG: &str = "\
roles:
  backend: {agents: [agent-1, agent-2, agent-3]}
  architect: {agents: [agent-9]}
agents:
  agent-1: {maxTasks: 2}
  agent-2: {maxTasks: 2}
  agent-3: {maxTasks: 2}
";

/// A process in a clone that is ended when the test is, with what it says in a file of the test's home.
struct Worker {
    child: Child,
    log: PathBuf,
}

impl Worker {
    fn start(clones: &Clones, clone: &str, args: &[&str]) -> Self {
        let log = clones.env.home().join(format!("{}.log", clone.replace('.', "a")));
        let file = fs::File::create(&log).unwrap();
        let mut command = clones.command(clone, args);
        command.env_remove("AOF_NOW").stdout(file.try_clone().unwrap()).stderr(file);
        Self { child: command.spawn().unwrap(), log }
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    fn stop(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let _ = self.child.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn handing_out(names: &[&str]) -> Clones {
    Clones::with_org(
        &format!("handOut: least-loaded\ngit: {{sync: true, every: 1s}}\n{PROJECT}"),
        ORG,
        names,
    )
}

/// Makes tasks, and has every clone know them.
fn known_everywhere(clones: &Clones, count: usize, names: &[&str]) -> Vec<String> {
    let ids = (0..count).map(|number| clones.env.new_task(&[&format!("Task {number}")])).collect();
    for clone in [&["."], names].concat() {
        clones.does(clone, &["sync"]);
    }
    ids
}

/// Has something done in the first clone, once, between the look of another one and its push.
fn meanwhile(clones: &Clones, clone: &str, command: &str) {
    let hook = clones.env.path(&format!("../{clone}/.git/hooks/pre-push"));
    let first = clones.env.path(".").display().to_string();
    let text = format!(
        "#!/bin/sh\nunset GIT_DIR\nmkdir ../once 2>/dev/null && (cd '{first}' && {command} >&2)\nexit 0\n"
    );
    fs::write(&hook, text).unwrap();
    executable(&hook);
}

fn agent_of(clones: &Clones, clone: &str, id: &str) -> Value {
    clones.aof(clone, &["task", "show", id, "--json"]).success().json()["routing"]["agent"].clone()
}

/// Returns how often the log of a clone says that something was handed out, or claimed.
fn gifts(clones: &Clones, clone: &str) -> usize {
    clones
        .git(clone, &["log", "--format=%s"])
        .lines()
        .filter(|line| line.contains("handed to"))
        .count()
}

fn at_rest(clones: &Clones, clone: &str) {
    assert_eq!(clones.git(clone, &["status", "--porcelain"]), "", "{clone}");
    let ahead = clones.git(clone, &["rev-list", "--left-right", "--count", "origin/main...HEAD"]);
    assert_eq!(ahead.split_whitespace().collect::<Vec<_>>(), ["0", "0"], "{clone}");
}

#[test]
fn a_sweep_s_assignment_counts_once_the_remote_has_it() {
    let clones = handing_out(&["b"]);
    let ids = known_everywhere(&clones, 1, &["b"]);
    // While it is offered nobody here sees it.
    let look = "aof list --json > ../seen.json; git log --format=%s > ../log";
    let hook = clones.env.path(".git/hooks/pre-push");
    fs::write(&hook, format!("#!/bin/sh\nunset GIT_DIR\n{look}\n")).unwrap();
    executable(&hook);
    let swept = clones.aof(".", &["sweep", "--json"]).success().json();
    assert_eq!(
        (&swept["given"][0]["agent"], &swept["unconfirmed"]),
        (&json!("agent-1"), &Value::Null),
        "{swept}"
    );
    let seen: Value = serde_json::from_str(&clones.env.read("../seen.json")).unwrap();
    assert_eq!(
        (&seen["tasks"][0]["agent"], &seen["tasks"][0]["status"]),
        (&Value::Null, &json!("ready")),
        "{seen}"
    );
    assert!(!clones.env.read("../log").contains("handed to"));
    // And then everybody does.
    assert_eq!(agent_of(&clones, ".", &ids[0]), "agent-1");
    at_rest(&clones, ".");
    clones.does("b", &["sync"]);
    assert_eq!(agent_of(&clones, "b", &ids[0]), "agent-1");
    let again = clones.aof("b", &["sweep", "--json"]).success().json();
    assert_eq!(again["given"], json!([]), "{again}");
    clones.does("b", &["verify"]);
}

#[test]
fn the_second_hand_out_gives_nothing_and_leaves_nothing() {
    let clones = handing_out(&["b"]);
    let ids = known_everywhere(&clones, 1, &["b"]);
    meanwhile(&clones, "b", "aof sweep");
    let swept = clones.aof("b", &["sweep", "--json"]).success().json();
    assert_eq!(swept["given"], json!([]), "{swept}");
    assert!(clones.env.exists("../b/../once"), "they met");
    assert_eq!((gifts(&clones, "b"), gifts(&clones, ".")), (1, 1));
    assert_eq!(
        (agent_of(&clones, "b", &ids[0]), agent_of(&clones, ".", &ids[0])),
        (json!("agent-1"), json!("agent-1"))
    );
    at_rest(&clones, "b");
    assert_eq!(
        clones.git("b", &["log", "--merges", "--format=%s"]),
        "",
        "nothing had to be undone"
    );
}

#[test]
fn an_agent_that_took_the_task_elsewhere_keeps_it() {
    let clones = handing_out(&["b"]);
    let ids = known_everywhere(&clones, 2, &["b"]);
    meanwhile(&clones, "b", &format!("aof claim {} --agent agent-3", ids[0]));
    let swept = clones.aof("b", &["sweep", "--json"]).success().json();
    assert_eq!(swept["given"].as_array().map(Vec::len), Some(1), "{swept}");
    assert_eq!(
        (agent_of(&clones, "b", &ids[0]), agent_of(&clones, "b", &ids[1])),
        (json!("agent-3"), json!("agent-1"))
    );
    at_rest(&clones, "b");
}

#[test]
fn an_edit_that_is_not_committed_goes_first_and_is_its_authors() {
    let clones = handing_out(&[]);
    let ids = known_everywhere(&clones, 2, &[]);
    clones.env.edit(&format!("tasks/{}.md", ids[0]), "title: Task 0", "title: Task zero");
    clones.does(".", &["sweep"]);
    assert_eq!(
        (agent_of(&clones, ".", &ids[0]), agent_of(&clones, ".", &ids[1])),
        (json!("agent-1"), json!("agent-2"))
    );
    let log = clones.git(".", &["log", "--format=%an: %s"]).replace(&ids[0], "ZERO");
    assert!(log.contains("Ada: ZERO: edited by hand"), "{log}");
    at_rest(&clones, ".");
}

#[test]
fn without_a_network_nothing_is_handed_out_unless_one_takes_the_risk() {
    let clones = handing_out(&[]);
    let ids = known_everywhere(&clones, 1, &[]);
    fs::rename(clones.env.path("../hub.git"), clones.env.path("../gone.git")).unwrap();
    let head = clones.env.head();
    let output = clones.aof(".", &["sweep"]).code(1);
    insta::assert_snapshot!(output, @"
    exit 1
    --- stderr
    warning: nothing can be handed out, because `origin/main` cannot be reached: '../hub.git' does not appear to be a git repository
    Could not read from remote repository.
      a claim counts once the remote has it (`git.sync` in project.yaml); try again with a network, or take the risk that somebody else does the same work with `--offline`
    ");
    assert_eq!((clones.env.head(), agent_of(&clones, ".", &ids[0])), (head, Value::Null));
    assert_eq!(clones.aof(".", &["watch", "--once"]).code, Some(1));
    assert_eq!(agent_of(&clones, ".", &ids[0]), Value::Null);
    clones.does(".", &["sweep", "--offline"]);
    assert_eq!(agent_of(&clones, ".", &ids[0]), "agent-1");
    fs::rename(clones.env.path("../gone.git"), clones.env.path("../hub.git")).unwrap();
    clones.does(".", &["sweep"]);
    clones.does(".", &["sync"]);
    at_rest(&clones, ".");
}

#[test]
fn a_remote_that_takes_nothing_has_nothing_handed_out() {
    let clones = handing_out(&[]);
    let ids = known_everywhere(&clones, 1, &[]);
    let hook = clones.env.path("../hub.git/hooks/pre-receive");
    fs::write(&hook, "#!/bin/sh\necho 'closed' >&2\nexit 1\n").unwrap();
    executable(&hook);
    let head = clones.env.head();
    let output = clones.aof(".", &["sweep", "--json"]).code(1);
    assert_eq!(output.json()["unconfirmed"]["error"], "rejected", "{output}");
    assert_eq!((clones.env.head(), agent_of(&clones, ".", &ids[0])), (head, Value::Null));
    fs::remove_file(&hook).unwrap();
    clones.does(".", &["watch", "--once"]);
    assert_eq!(agent_of(&clones, ".", &ids[0]), "agent-1");
}

#[test]
fn a_task_of_which_another_version_is_staged_is_reported() {
    let clones = handing_out(&[]);
    let ids = known_everywhere(&clones, 1, &[]);
    let path = format!("tasks/{}.md", ids[0]);
    let text = clones.env.read(&path);
    clones.env.edit(&path, "title: Task 0", "title: Task zero");
    clones.env.git(&["add", &path]);
    clones.env.write(&path, text);
    for args in [&["sweep", "--json"][..], &["sweep", "--offline", "--json"]] {
        let swept = clones.aof(".", args).code(1).json();
        let error = &swept["troubled"][0]["reason"]["error"];
        assert_eq!((&swept["given"], error), (&json!([]), &json!("staged_elsewise")), "{swept}");
    }
    // Others do not wait for it.
    let other = clones.env.new_task(&["Another"]);
    let swept = clones.aof(".", &["sweep", "--offline", "--json"]).code(1).json();
    assert_eq!(swept["given"].as_array().map(Vec::len), Some(1), "{swept}");
    assert_eq!(agent_of(&clones, ".", &other), "agent-1");
    clones.env.git(&["restore", "--staged", &path]);
    clones.does(".", &["sweep"]);
    assert_eq!(agent_of(&clones, ".", &ids[0]), "agent-2");
}

#[test]
fn an_assignment_at_the_remote_is_reported_though_this_clone_fails() {
    let clones = handing_out(&[]);
    let ids = known_everywhere(&clones, 1, &[]);
    let hook = clones.env.path(".git/hooks/pre-push");
    fs::write(&hook, "#!/bin/sh\n: > .git/index.lock\n").unwrap();
    executable(&hook);
    let swept = clones.aof(".", &["sweep", "--json", "--wait", "0s"]).code(1).json();
    assert_eq!(swept["given"][0]["agent"], "agent-1", "{swept}");
    assert_ne!(swept["unconfirmed"], Value::Null, "{swept}");
    fs::remove_file(&hook).unwrap();
    fs::remove_file(clones.env.path(".git/index.lock")).unwrap();
    clones.does(".", &["sync"]);
    assert_eq!((agent_of(&clones, ".", &ids[0]), gifts(&clones, ".")), (json!("agent-1"), 1));
    at_rest(&clones, ".");
}

#[test]
fn a_sweep_reports_its_other_steps_if_handing_out_fails() {
    let gates = "- {id: implement, role: backend, timeout: 1h, escalateTo: lead}";
    let project =
        format!("handOut: least-loaded\ngit: {{sync: true}}\nworkflow:\n  gates:\n    {gates}\n");
    let clones = Clones::with_org(
        &project,
        &format!("{ORG}  agent-9: {{maxTasks: 2}}\n")
            .replace("roles:", "roles:\n  lead: {agents: [agent-9]}"),
        &["b"],
    );
    known_everywhere(&clones, 1, &["b"]);
    sends_what_git_refuses(&clones, "b");
    clones.env.pass_minutes(61);
    let swept = clones.aof(".", &["sweep"]).code(1);
    assert!(swept.stdout.contains("timed out at implement"), "{}", swept.stdout);
    assert!(swept.stderr.contains("git refuses what `origin` has"), "{}", swept.stderr);
    assert!(clones.env.read(".aof/events.jsonl").contains("timeout"));
}

#[test]
fn a_sweep_reports_changes_of_the_remote_first() {
    let clones = handing_out(&["b"]);
    let ids = known_everywhere(&clones, 1, &["b"]);
    clones.does(".", &["sweep"]);
    clones.does("b", &["sync"]);
    clones.completes(".", &ids[0], "agent-1");
    clones.does(".", &["sync"]);
    let late = ["--outcome", "complete", "--summary", "Did it otherwise", "--id", "late"];
    clones.does("b", &[&["task", "complete", &ids[0], "--agent", "agent-1"], &late[..]].concat());
    clones.does("b", &["task", "new", "Another"]);
    let swept = clones.aof("b", &["sweep", "--json"]).success().json();
    assert!(swept["superseded"][0]["what"].as_str().unwrap().contains("late"), "{swept}");
}

/// A kill after the push leaves this clone behind the remote, in which the task is given.
#[cfg(debug_assertions)]
#[test]
fn a_hand_out_killed_at_any_point_counts_once() {
    for point in [
        "git.temps-made",
        "git.index-locked",
        "git.bring-begun",
        "git.bring-files",
        "git.index-moved",
    ] {
        let clones = handing_out(&["b"]);
        let ids = known_everywhere(&clones, 2, &["b"]);
        let mut sweep = clones.command(".", &["sweep"]);
        sweep.env("AOF_STOP_AT", point);
        assert_eq!(clones.env.run(sweep).code, None, "{point}: it was not passed");
        clones.does(".", &["sweep"]);
        clones.does("b", &["sweep"]);
        let held = ids.iter().map(|id| agent_of(&clones, "b", id)).collect::<Vec<_>>();
        assert_eq!(held, ["agent-1", "agent-2"], "{point}");
        assert_eq!((gifts(&clones, "b"), gifts(&clones, ".")), (2, 2), "{point}");
        at_rest(&clones, ".");
        at_rest(&clones, "b");
    }
}

/// Two watchers and sweeps on three machines, all handing out: every task is given once, and so each agent has its share.
#[test]
fn watchers_on_several_machines_give_each_task_once() {
    let clones = handing_out(&["b", "c"]);
    let watchers = [".", "b"].map(|clone| Worker::start(&clones, clone, &["watch"]));
    let ids: Vec<String> =
        (0..6).map(|number| clones.env.new_task(&[&format!("Task {number}")])).collect();
    let given = |clone: &str| {
        let listed = clones.env.run(clones.command(clone, &["task", "list", "--json"])).json();
        listed["tasks"].as_array().unwrap().iter().filter(|task| task["agent"].is_string()).count()
    };
    eventually("all is given, and known everywhere", || {
        let _ = (clones.aof("c", &["sync"]), clones.aof("c", &["sweep"]));
        [".", "b", "c"].iter().all(|clone| given(clone) == ids.len())
    });
    let output: usize =
        watchers.iter().map(|watcher| watcher.said().matches("given to").count()).sum();
    assert!(output <= ids.len(), "nobody tells of what another gave");
    watchers.into_iter().for_each(Worker::stop);
    for clone in [".", "b", "c"] {
        clones.does(clone, &["sync"]);
        assert_eq!(gifts(&clones, clone), ids.len(), "{clone}");
    }
    let mut held: Vec<String> =
        ids.iter().map(|id| agent_of(&clones, "c", id).to_string()).collect();
    held.sort();
    assert_eq!(
        held.chunk_by(|a, b| a == b).map(<[_]>::len).collect::<Vec<_>>(),
        [2, 2, 2],
        "{held:?}"
    );
    clones.does("c", &["verify"]);
}

#[test]
fn the_watcher_says_why_nothing_is_handed_out() {
    let clones = handing_out(&[]);
    fs::rename(clones.env.path("../hub.git"), clones.env.path("../gone.git")).unwrap();
    let ids = [clones.env.new_task(&["Add login"])];
    let watcher = Worker::start(&clones, ".", &["watch"]);
    eventually("it is told", || watcher.said().contains("nothing is handed out until then"));
    assert_eq!(agent_of(&clones, ".", &ids[0]), Value::Null);
    fs::rename(clones.env.path("../gone.git"), clones.env.path("../hub.git")).unwrap();
    eventually("it is handed out", || agent_of(&clones, ".", &ids[0]) == "agent-1");
    eventually("that is told", || watcher.said().contains("given to agent-1"));
    watcher.stop();
    at_rest(&clones, ".");
}

#[test]
fn the_watcher_syncs_again_as_soon_as_somebody_has_pushed() {
    let rules = format!("handOut: least-loaded\ngit: {{sync: true, every: 1h}}\n{PROJECT}");
    let clones = Clones::with_org(&rules, ORG, &[]);
    let id = clones.env.new_task(&["Add login"]);
    clones.env.write("code.txt", "one\n");
    clones.env.commit_all("code");
    let watcher = Worker::start(&clones, ".", &["watch"]);
    eventually("it is told", || watcher.said().contains("nothing is handed out until then"));
    let status = clones.aof(".", &["status"]).success().stdout;
    assert!(!status.contains("in step"), "{status}");
    clones.git(".", &["push", "--quiet"]);
    let status = clones.aof(".", &["status"]).success().stdout;
    let is_done = || agent_of(&clones, ".", &id) == "agent-1";
    assert!(!status.contains("in step") || is_done(), "{status}");
    eventually("it is handed out", is_done);
    watcher.stop();
    let status = clones.aof(".", &["status"]).success().stdout;
    assert!(status.contains("in step with origin/main"), "{status}");
}

#[test]
fn the_watcher_syncs_again_as_soon_as_something_is_committed() {
    let rules = format!("handOut: least-loaded\ngit: {{sync: true, every: 1h}}\n{PROJECT}");
    let clones = Clones::with_org(&rules, ORG, &[]);
    fs::rename(clones.env.path("../hub.git"), clones.env.path("../gone.git")).unwrap();
    let first = clones.env.new_task(&["Add login"]);
    let watcher = Worker::start(&clones, ".", &["watch"]);
    eventually("it is told", || watcher.said().contains("nothing is handed out until then"));
    fs::rename(clones.env.path("../gone.git"), clones.env.path("../hub.git")).unwrap();
    let second = clones.env.new_task(&["Add logout"]);
    for id in [first, second] {
        eventually("it is handed out", || agent_of(&clones, ".", &id) != Value::Null);
    }
    watcher.stop();
}

/// A project whose agents are programs that note that they ran.
fn running(names: &[&str]) -> Clones {
    let agent = |name: &str| {
        let script = format!("echo {name} >> $HOME/ran; {}", DONE.trim());
        format!(
            "  {name}: {{run: {{command: [sh, -c, {}], timeout: 30s}}}}\n",
            serde_json::to_string(&script).unwrap()
        )
    };
    let org = format!(
        "roles:\n  worker: {{agents: [one, two]}}\nagents:\n{}{}",
        agent("one"),
        agent("two")
    );
    Clones::with_org(
        "git: {sync: true}\nworkflow: {gates: [{id: work, role: worker}]}\n",
        &org,
        names,
    )
}

fn ran(clones: &Clones) -> String {
    fs::read_to_string(clones.env.home().join("ran")).unwrap_or_default()
}

#[test]
fn of_two_runners_one_starts_its_agent() {
    let clones = running(&["b"]);
    let ids = known_everywhere(&clones, 1, &["b"]);
    meanwhile(&clones, "b", "aof run --agent one --once");
    let output = clones.aof("b", &["run", "--agent", "two"]).success();
    assert_eq!(ran(&clones), "one\n", "{output}");
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    let task = clones.aof("b", &["task", "show", &ids[0], "--json"]).success().json();
    assert_eq!(
        (&task["status"], &task["gateHistory"][0]["agent"]),
        (&json!("complete"), &json!("one")),
        "{task}"
    );
    clones.does("b", &["verify"]);
}

#[test]
fn runners_at_once_start_one_agent_a_task() {
    let clones = running(&["b"]);
    let ids = known_everywhere(&clones, 3, &["b"]);
    let mut runners = Vec::new();
    for (clone, agent) in [(".", "one"), ("b", "two")] {
        let mut command = clones.command(clone, &["run", "--agent", agent]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        runners.push(command.spawn().unwrap());
    }
    for runner in runners {
        let _ = clones.env.finish("aof run", runner).success();
    }
    assert_eq!(ran(&clones).lines().count(), ids.len(), "{}", ran(&clones));
    for clone in [".", "b", "."] {
        clones.does(clone, &["sync"]);
    }
    clones.does(".", &["verify"]);
    at_rest(&clones, ".");
}

#[test]
fn a_runner_without_a_network_starts_nothing() {
    let clones = running(&[]);
    known_everywhere(&clones, 1, &[]);
    fs::rename(clones.env.path("../hub.git"), clones.env.path("../gone.git")).unwrap();
    let runner = Worker::start(&clones, ".", &["run", "--agent", "one"]);
    eventually("it says why", || runner.said().contains("`origin/main` cannot be reached"));
    runner.stop();
    assert_eq!(ran(&clones), "");
    clones.does(".", &["run", "--agent", "one", "--offline"]);
    assert_eq!(ran(&clones), "one\n");
}

#[test]
fn without_a_network_a_runner_continues_its_tasks() {
    let clones = running(&[]);
    let ids = known_everywhere(&clones, 2, &[]);
    let claimed = clones.aof(".", &["task", "next", "--agent", "one", "--json"]).success().json();
    fs::rename(clones.env.path("../hub.git"), clones.env.path("../gone.git")).unwrap();
    let again = clones.aof(".", &["task", "next", "--agent", "one", "--json"]).success().json();
    assert_eq!(again["task"]["id"], claimed["task"]["id"], "{again}");
    let runner = Worker::start(&clones, ".", &["run", "--agent", "one"]);
    eventually("it works, and then says why not", || {
        ran(&clones) == "one\n" && runner.said().contains("`origin/main` cannot be reached")
    });
    fs::rename(clones.env.path("../gone.git"), clones.env.path("../hub.git")).unwrap();
    eventually("it does the rest", || ran(&clones).lines().count() == ids.len());
    let said = runner.said();
    assert_eq!(said.matches("cannot be reached").count(), 1, "{said}");
    runner.stop();
}

#[test]
fn without_a_network_each_agent_continues_and_it_is_reported_once() {
    let clones = running(&[]);
    let ids = known_everywhere(&clones, 3, &[]);
    for id in &ids[..2] {
        clones.does(".", &["task", "assign", "--claim", id, "one"]);
    }
    fs::rename(clones.env.path("../hub.git"), clones.env.path("../gone.git")).unwrap();
    let runner = Worker::start(&clones, ".", &["run", "--agent", "one", "--agent", "two"]);
    eventually("all is done that somebody has, and then it says why no more is", || {
        ran(&clones) == "one\none\n" && runner.said().contains("`origin/main` cannot be reached")
    });
    fs::rename(clones.env.path("../gone.git"), clones.env.path("../hub.git")).unwrap();
    eventually("it does the rest", || ran(&clones).lines().count() == ids.len());
    let said = runner.said();
    assert_eq!(said.matches("cannot be reached").count(), 1, "{said}");
    runner.stop();
}

#[test]
fn of_two_tools_that_ask_for_one_task_one_gets_it() {
    let project = format!("git: {{sync: true}}\n{PROJECT}");
    let clones = Clones::with_org(&project, ORG, &["b"]);
    let ids = known_everywhere(&clones, 1, &["b"]);
    let mut here = McpClient::of(&clones.env, "agent-1");
    let mut there = McpClient::start(&clones.env, Era::New, &["--agent", "agent-2", "-C", "../b"]);
    // Both have looked by the time that the second offers what it claimed.
    meanwhile(&clones, "b", "aof next --agent agent-1");
    let output = there.call("aof_task_next", json!({}));
    assert_eq!(output["task"], Value::Null, "{output}");
    let output = here.call("aof_task_next", json!({}));
    assert_eq!(output["task"]["id"], json!(ids[0]), "{output}");
    assert_eq!(agent_of(&clones, "b", &ids[0]), "agent-1");
    // Without a network a tool is told why it gets nothing.
    clones.env.new_task(&["Another"]);
    fs::rename(clones.env.path("../hub.git"), clones.env.path("../gone.git")).unwrap();
    let refused = there.refused("aof_task_next", json!({}));
    assert_eq!(refused["error"], "offline", "{refused}");
    let _ = (here.end(), there.end());
}
