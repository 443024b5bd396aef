//! The stream of events: kinds, keys and their order.

use std::collections::BTreeSet;

use insta::assert_snapshot;

use super::shape::{render, shape};
use super::{Story, documents};

/// Rules under which much can happen: claims lapse, conditions fail, tasks go in circles, roles are empty.
const PROJECT: &str = "\
workflows:
  default:
    gates:
      - {id: implement, role: backend, lease: 30m}
      - {id: measure, role: backend, when: metadata.deep.thing}
      - {id: review, role: architect, canReject: true, timeout: 1h, escalateTo: lead}
  strict:
    gates:
      - {id: implement, role: backend}
      - {id: review, role: architect, canReject: true, maxRetries: 1, onExhausted: {to: $fail}, \
         routes: {wrong: {to: implement}, right: {to: $end}}}
  stuck:
    gates:
      - {id: implement, role: backend}
      - {id: review, role: architect, canReject: true, maxRetries: 1, \
         routes: {wrong: {to: implement}, right: {to: $end}}}
  empty: {gates: [{id: implement, role: backend}, {id: audit, role: nobody}]}
  doomed: {gates: [{id: implement, role: backend}, {id: polish, role: backend}]}
  forked:
    gates:
      - {id: implement, role: backend}
      - id: checks
        type: fork
        branches:
          - {id: security, role: architect, canReject: true}
          - {id: style, role: lead}
defaultWorkflow: default
";

const ORG: &str = "\
roles:
  backend: {agents: [agent-7, agent-8]}
  architect: {agents: [agent-3]}
  lead: {agents: [human-ada]}
  qa: {agents: [agent-5]}
  nobody: {agents: []}
";

/// People and agents do whatever can be done with one task.
fn one_task_sees_much(story: &Story) {
    let id = story.task("'Add login'");
    story.does("task next --agent agent-7");
    story.does(&format!("task renew {id} --agent agent-7 --note Half"));
    story.env.pass_minutes(40);
    story.does("sweep");
    story.does(&format!("task assign --claim {id} agent-8"));
    story.does(&format!("task release {id} --agent agent-8"));
    story.does(&format!("task hold {id} --reason Wait"));
    story.does(&format!("task unblock {id}"));
    story.does(&format!("task comment {id} -m Look"));
    story.does(&format!("task edit {id} --tag web"));
    story.says(&id, "agent-7", "blocked");
    story.does(&format!("task unblock {id}"));
    story.says(&id, "agent-7", "complete");
    let _ = story.env.say(&format!("{id}@0"), "agent-8", "complete", &[]).code(5);
    story.env.pass_minutes(61);
    story.does("sweep");
    story.says(&id, "human-ada", "complete");
    story.does(&format!("task reopen {id} --to implement --reason More"));
    story.does(&format!("task override {id} --to review --reason So"));
    story.does(&format!("task cancel {id} --reason No"));
}

fn tasks_go_in_circles(story: &Story) {
    for (workflow, outcome, times) in
        [("default", "needs_review", 6), ("strict", "wrong", 2), ("stuck", "wrong", 2)]
    {
        let id = story.task(&format!("Round --workflow {workflow}"));
        for _ in 0..times {
            story.says(&id, "agent-7", "complete");
            let notes = ["--blocker", "No test", "--notes", "See the log"];
            let _ = story.env.say(&id, "agent-3", outcome, &notes).success();
        }
        // Where rules change, one task alone follows them: ids are drawn, and so is their order.
        if workflow == "default" {
            story.does(&format!("task cancel {id} --reason No"));
        }
    }
}

fn a_task_forks(story: &Story) {
    let id = story.task("Fork --workflow forked");
    story.says(&id, "agent-7", "complete");
    story.does(&format!("task assign --claim {id}@1/style human-ada"));
    story.says(&format!("{id}@1/security"), "agent-3", "needs_review");
    story.says(&format!("{id}@1/style"), "human-ada", "complete");
}

/// A file is made by hand; one is committed with an index that was left behind; a merge supersedes.
fn people_use_git(story: &Story) {
    let env = &story.env;
    env.hand_made("AOF-abc", "By hand");
    story.says("AOF-abc", "agent-7", "complete");
    let behind = story.task("Behind");
    env.edit(&env.task_path(&behind), "Behind", "Far behind");
    env.commit_all("a better title");
    let stale = env.git(&["rev-parse", &format!("HEAD:tasks/{behind}.md")]);
    story.says(&behind, "agent-7", "complete");
    story.says(&behind, "agent-3", "complete");
    let entry = format!("100644,{},{}", stale.trim(), env.task_path(&behind));
    env.git(&["update-index", "--add", "--cacheinfo", &entry]);
    env.git(&["commit", "--quiet", "--message", "an index that was left behind"]);
    story.does(&format!("task comment {behind} -m There"));
    let disputed = story.task("Disputed");
    env.git(&["checkout", "-q", "-b", "side"]);
    story.says(&disputed, "agent-8", "complete");
    env.git(&["checkout", "-q", "main"]);
    story.says(&disputed, "agent-7", "complete");
    env.git(&["merge", "-q", "--no-edit", "--strategy", "ours", "side"]);
}

fn rules_change(story: &Story) {
    let env = &story.env;
    story.says(&story.task("Nobody --workflow empty"), "agent-7", "complete");
    story.says(&story.task("Polish --workflow doomed"), "agent-7", "complete");
    env.edit("project.yaml", ", {id: polish, role: backend}", "");
    env.commit_all("a gate is gone");
    story.does("org reload");
    let taken = story.task("Taken");
    story.does(&format!("task assign --claim {taken} agent-7"));
    env.edit("project.yaml", "implement, role: backend, lease: 30m", "implement, role: qa");
    let rules = env.read("project.yaml");
    env.write(
        "project.yaml",
        format!("{rules}notify: [{{on: all, command: [/no/such/program]}}]\n"),
    );
    env.commit_all("other rules");
    story.does("org reload");
    let _ = env.aof(&["notices", "--deliver"]);
    story.task("Told");
    let _ = env.aof(&["notices", "--deliver"]);
    env.edit("project.yaml", "[/no/such/program]", "['true']");
    env.commit_all("another receiver");
    let _ = env.aof(&["notices", "--deliver"]);
    env.write("project.yaml", "workflow: {gates: 3}\n");
    env.commit_all("worse rules");
}

#[test]
fn events_have_these_keys_in_this_order() {
    let story = Story::with_rules(PROJECT, ORG);
    one_task_sees_much(&story);
    tasks_go_in_circles(&story);
    a_task_forks(&story);
    people_use_git(&story);
    rules_change(&story);
    let lines = documents(&story.env.aof(&["events", "--json"]).success().stdout);
    let file = documents(&story.env.plain(&story.env.read(".aof/events.jsonl")));
    assert_eq!(lines, file, "the command shows the file");
    let (mut stream, mut kinds, mut known) = (String::new(), String::new(), BTreeSet::new());
    for line in &lines {
        let event = line["event"].as_str().unwrap();
        let keys: Vec<_> = line.as_object().unwrap().keys().map(String::as_str).collect();
        stream += &format!("{event}: {}\n", keys.join(" "));
        if known.insert(event) {
            kinds += &format!("{}\n", render(&shape(line)));
        }
    }
    let all = aof::domain::EventKind::ALL.iter().map(|kind| kind.as_str());
    let missing: Vec<&str> = all.filter(|kind| !known.contains(kind)).collect();
    assert_eq!(missing, [""; 0], "kinds of events that this story lacks");
    assert_snapshot!("stream", stream);
    assert_snapshot!("kinds", kinds);
}
