//! Projects whose work lands.

use serde_json::Value;

use crate::support::environment::{Output, TestEnvironment};

/// The gates of these projects: one for the work, and one at which it lands.
const GATES: &str =
    "workflow: {gates: [{id: write, role: coders}, {id: land, role: landers, canReject: true}]}\n";

/// Returns a project with its tasks on a branch of their own.
pub(super) fn project() -> TestEnvironment {
    project_with("", "")
}

/// Returns a project with its tasks on a branch of their own, and with more in its `project.yaml` and `org.yaml`.
pub(super) fn project_with(rules: &str, org: &str) -> TestEnvironment {
    let env = TestEnvironment::without_rules();
    env.write("code.txt", "one\ntwo\nthree\n");
    env.write("check.sh", "test -f made.txt\n");
    env.commit_all("code");
    let _ = env.aof(&["init", "--branch", "aof"]).success();
    let rules = format!("git: {{branch: aof}}\nrun: {{workspace: worktree}}\n{GATES}{rules}");
    rules_of(&env, ".aof/branch", &rules, org);
    env
}

/// Commits these rules in the folder, and the people that land there.
fn rules_of(env: &TestEnvironment, folder: &str, rules: &str, org: &str) {
    env.write(&format!("{folder}/project.yaml"), rules);
    let roles = "roles: {coders: {agents: [coder]}, landers: {agents: [lander]}}\n";
    env.write(&format!("{folder}/org.yaml"), format!("{roles}{org}"));
    env.git(&["-C", folder, "rm", "-r", "--quiet", "--ignore-unmatch", "tasks"]);
    env.git(&["-C", folder, "add", "--all"]);
    env.git(&["-C", folder, "commit", "--no-verify", "--quiet", "--message", "rules"]);
}

/// Returns a task at its landing, whose work writes that file.
pub(super) fn written(env: &TestEnvironment, file: &str, text: &str) -> String {
    let id = env.new_task(&["Add made"]);
    rewritten(env, &id, file, text);
    id
}

/// Works at the task once more.
pub(super) fn rewritten(env: &TestEnvironment, id: &str, file: &str, text: &str) {
    let _ = env.aof(&["workspace", "path", id]).success();
    let folder = format!(".aof/work/{id}");
    env.write(&format!("{folder}/{file}"), text);
    env.git(&["-C", &folder, "add", "--all"]);
    env.git(&["-C", &folder, "commit", "--quiet", "--author=coder <c@x>", "--message", "made"]);
    let _ = env.complete(id, "coder").success();
}

pub(super) fn land(env: &TestEnvironment, id: &str, words: &[&str]) -> Output {
    env.aof(&[&["land", id, "--agent", "lander"], words].concat())
}

/// Returns the last entry of a task, with the names of commits as the file has them.
pub(super) fn last_entry(env: &TestEnvironment, id: &str) -> Value {
    let mut command = env.aof_command(&["show", id, "--json"]);
    let output = command.output().unwrap();
    let task: Value = serde_json::from_slice(&output.stdout).unwrap();
    task["gateHistory"].as_array().unwrap().last().unwrap().clone()
}

/// Returns true if the project is as the rules allow.
pub(super) fn is_sound(env: &TestEnvironment) -> bool {
    let verified: Value = env.aof(&["verify", "--json"]).json();
    let open = verified["findings"].as_array().unwrap().iter();
    // The rules of these tests replace a first task.
    open.filter(|one| one["rule"] != "removed" && one["rule"] != "named_unseen").count() == 0
}

/// Adds a bare remote that has `main`.
pub(super) fn with_remote(env: &TestEnvironment) {
    env.git(&["init", "--quiet", "--bare", "--initial-branch=main", "../hub.git"]);
    env.git(&["remote", "add", "origin", "../hub.git"]);
    env.git(&["push", "--quiet", "--set-upstream", "origin", "main"]);
}

/// Returns a project with its tasks beside the code.
pub(super) fn beside() -> TestEnvironment {
    let env = TestEnvironment::without_rules();
    env.write("code.txt", "one\n");
    rules_of(&env, ".", GATES, "");
    env
}

/// Returns a task at its landing, whose work writes that file; the tasks are beside the code.
pub(super) fn written_beside(env: &TestEnvironment, file: &str) -> String {
    let id = env.new_task(&["Add made"]);
    let _ = env.complete(&id, "coder").success();
    rewritten_beside(env, &id, file);
    id
}

/// Begins the work at the task again.
pub(super) fn rewritten_beside(env: &TestEnvironment, id: &str, file: &str) {
    env.git(&["switch", "--quiet", "--force-create", &format!("aof-work/{id}"), "main"]);
    env.write(file, "made\n");
    env.commit_all("made");
    env.git(&["switch", "--quiet", "main"]);
}
