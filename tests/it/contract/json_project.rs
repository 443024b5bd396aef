//! The JSON of commands that begin a project, look after it, and bring clones together.

use insta::assert_snapshot;

use super::{ORG, PROJECT, Story};
use crate::support::environment::TestEnvironment;

/// A workflow of another system.
const FOREIGN: &str = r#"{
  "id": "bug",
  "steps": [
    {"id": "find", "type": "agent", "agent": "backend", "on_success": "prove"},
    {"id": "prove", "type": "agent", "agent": "expert", "max_retries": 2, "on_success": "end"}
  ]
}"#;

#[test]
fn new_projects_answer_in_these_shapes() {
    let mut story = Story::of(TestEnvironment::without_repository());
    story.tells("init --dry-run");
    story.tells("init --template sdlc --name shop --agents --agent agent-dev-1 --observability");
    story.tells("init --agents");
    story.tells("init --observability");
    story.tells("status");
    story.tells("workflow create --list");
    story.tells("workflow create release --template deploy --dry-run");
    story.tells("workflow create release --template reviewed");
    let mut aside = Story::of(TestEnvironment::without_rules());
    aside.env.write("README.md", "shop\n");
    aside.env.commit_all("a repository");
    aside.tells("init --branch aof");
    assert_snapshot!(story.output + &aside.output);
}

#[test]
fn rules_and_imports_answer_in_these_shapes() {
    let mut story = Story::with_rules(PROJECT, ORG);
    let id = story.task("'Add login'");
    story.does(&format!("task assign --claim {id} agent-7"));
    story.env.write("bug.json", FOREIGN);
    story.tells("workflow import bug.json --dry-run");
    story.tells("workflow import bug.json --name bug");
    story.tells("workflow import bug.json --name bug");
    story.tells("org reload --dry-run");
    story.env.edit(
        "project.yaml",
        "id: implement\n        role: backend",
        "id: begin\n        role: expert",
    );
    story.tells("workflow diff");
    story.env.commit_all("other rules");
    story.tells("workflow diff HEAD~1");
    story.tells("org reload --dry-run");
    story.tells("org reload");
    story.env.hand_made("AOF-abc", "By hand");
    story.env.write("tasks/AOF-zzz.md", "---\ntitle: [\n---\n");
    story.tells("migrate tasks --add-gates --dry-run");
    story.tells("migrate tasks --add-gates");
    story.tells("doctor --fix");
    story.tells("man pages");
    story.tells("completions bash");
    story.tells("man");
    assert_snapshot!(story.output);
}

#[test]
fn sweeps_watchers_and_notices_answer_in_these_shapes() {
    let notify = "notify: [{on: [task_created, task_claimed], command: [/no/such/program]}]\n";
    let mut story = Story::with_rules(&format!("{PROJECT}{notify}"), ORG);
    story.tells("notices --deliver");
    let id = story.task("'Add login'");
    let other = story.task("'Add logout'");
    story.does(&format!("task assign --claim {id} agent-7"));
    story.tells("notices --deliver");
    story.tells("notices");
    story.env.pass_minutes(60 * 24 * 30);
    story.tells("sweep --dry-run");
    story.tells("sweep");
    story.tells("notices --deliver");
    story.tells("notices");
    story.tells("notices --forget");
    let completion = |task: &str, more: &str| {
        format!("task: {task}\nagent: agent-7\noutcome: complete\nsummary: Did it\n{more}")
    };
    for text in
        [completion(&id, ""), completion(&other, "outputs: {branch: 3}\n"), "nonsense\n".to_owned()]
    {
        story.env.write(".aof/inbox/a.yaml", text);
        story.tells("watch --once");
    }
    story.env.hand_made("AOF-abc", "By hand");
    story.tells("watch --once");
    story.does(&format!("task override {other} --to review --reason So"));
    story.env.pass_minutes(61);
    story.tells("watch --once");
    assert_snapshot!(story.output);
}

#[test]
fn clones_answer_in_these_shapes() {
    let mut story = Story::with_rules(PROJECT, ORG);
    let env = &story.env;
    env.git(&["init", "--quiet", "--bare", "--initial-branch=main", "../hub.git"]);
    env.git(&["remote", "add", "origin", "../hub.git"]);
    env.git(&["push", "--quiet", "--set-upstream", "origin", "main"]);
    let id = story.task("'Add login'");
    story.tells("sync --dry-run");
    story.tells("sync");
    story.tells("sync");
    story.env.git(&["clone", "--quiet", "../hub.git", "../other"]);
    story.does(&format!("-C ../other task comment {id} -m There"));
    let ours = format!("-C ../other task complete {id} --agent agent-8 -o complete -s Done");
    story.does(&ours);
    story.does("-C ../other sync");
    story.says(&id, "agent-7", "complete");
    story.tells("sync --dry-run");
    story.tells("sync");
    story.tells("status");
    story.tells("merge-driver --settle");
    story.does("-C ../other sync");
    for (folder, text) in [("../other", "Theirs"), (".", "Ours")] {
        story.env.write(&format!("{folder}/notes.md"), text);
        story.env.git(&["-C", folder, "add", "notes.md"]);
        story.env.git(&["-C", folder, "commit", "--quiet", "--message", text]);
    }
    story.does("-C ../other sync");
    story.tells("sync");
    story.tells("status");
    story.env.git(&["remote", "set-url", "origin", "../gone.git"]);
    story.tells("sync");
    story.tells("status");
    assert_snapshot!(story.output);
}
