//! The JSON of commands that look at tasks and at the project.

use insta::assert_snapshot;

use super::{ORG, PROJECT, Story};

/// A project with a task in each state.
fn busy() -> (Story, Vec<String>) {
    let story = Story::with_rules(PROJECT, ORG);
    let task = |title: &str| story.task(title);
    let free = task("Free --body 'At length.' --tag web --meta priority=high");
    let claimed = task("Claimed");
    story.does(&format!("task assign --claim {claimed} agent-7"));
    let forked = task("Forked");
    story.says(&forked, "agent-7", "complete");
    story.says(&format!("{forked}@1/security"), "agent-4", "complete");
    let returned = task("Returned");
    story.says(&returned, "agent-8", "complete");
    story.says(&format!("{returned}@1/security"), "agent-4", "complete");
    story.says(&format!("{returned}@1/style"), "agent-3", "complete");
    story.says(&returned, "agent-3", "needs_review");
    let blocked = task("Blocked");
    story.says(&blocked, "agent-8", "blocked");
    let held = task("Held");
    story.does(&format!("task hold {held} --reason Wait"));
    let waiting = task(&format!("Waiting --depends {free}"));
    let person = task("Person");
    story.does(&format!("task override {person} --to approve --reason Urgent"));
    let nobody = task("Nobody --workflow empty");
    story.says(&nobody, "agent-7", "complete");
    let done = task("Done --workflow quick --context repo=web");
    story.says(&done, "agent-7", "complete");
    let cancelled = task("Cancelled");
    story.does(&format!("task cancel {cancelled} --reason No"));
    let tasks =
        [free, claimed, forked, returned, blocked, held, waiting, person, nobody, done, cancelled];
    (story, tasks.to_vec())
}

#[test]
fn looks_at_a_task_answer_in_these_shapes() {
    let (mut story, tasks) = busy();
    for command in ["task show", "why", "task brief", "task history"] {
        for id in &tasks {
            story.tells(&format!("{command} {id}"));
        }
    }
    assert_snapshot!(story.output);
}

#[test]
fn looks_at_all_tasks_answer_in_these_shapes() {
    let (mut story, tasks) = busy();
    story.tells("task list");
    story.tells("task list --all --sort created");
    story.tells("task list --status failed");
    story.tells("search --all free");
    story.tells("status");
    story.tells("gate status");
    story.tells("stats");
    story.tells("stats --since 2026-02-16 --workflow default");
    story.tells("metrics");
    story.tells("events --last 2");
    story.tells("events rebuild");
    story.tells("verify");
    story.tells("doctor");
    story.tells("workflow list");
    story.tells("workflow list --agent agent-3");
    story.tells("workflow show");
    story.tells("workflow show quick");
    story.tells("workflow graph");
    story.tells("workflow graph --format mermaid");
    story.tells("workflow validate");
    story.tells("workflow diff");
    story.tells("org show");
    story.tells("org show architect");
    story.tells("org show agent-7");
    story.tells("org validate");
    // What is out of order is told in lists of its own.
    story.env.write("tasks/AOF-zzz.md", "---\ntitle: [\n---\n");
    story.env.hand_made("AOF-zzy", "By hand");
    story.env.edit(&story.env.task_path(&tasks[0]), "status: ready", "status: complete");
    story.env.edit("project.yaml", "timeout: 1h", "timeout: 2h");
    story.env.write(".aof/inbox/odd.yaml", "nonsense\n");
    story.tells("status");
    story.tells("task list --status new");
    story.tells("doctor");
    story.tells("doctor --fix --dry-run");
    story.tells("workflow diff");
    // A watcher tells of troubled tasks in no certain order.
    std::fs::remove_file(story.env.path("tasks/AOF-zzz.md")).unwrap();
    story.tells("watch --once");
    story.env.edit("project.yaml", "timeout: 2h", "timout: 2h");
    story.tells("workflow validate");
    story.tells("workflow diff");
    story.tells("org validate");
    assert_snapshot!(story.output);
}

#[test]
fn a_forged_history_is_reported_in_these_shapes() {
    let mut story = Story::with_rules(PROJECT, ORG);
    let id = story.task("'Add login'");
    story.says(&id, "agent-7", "complete");
    let path = story.env.task_path(&id);
    story.env.edit(&path, "current: checks", "current: approve");
    story.env.commit_all("a forged step");
    story.tells("verify");
    story.tells("verify --since HEAD~1");
    story.tells(&format!("why {id}"));
    story.tells("doctor");
    let zero = "0".repeat(40);
    story
        .tells_reading("verify --stdin", &format!("{zero} {} refs/heads/main\n", story.env.head()));
    assert_snapshot!(story.output);
}
