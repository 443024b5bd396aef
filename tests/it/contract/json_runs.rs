//! The JSON of commands that start agents.

use insta::assert_snapshot;

use super::Story;
use crate::support::environment::TestEnvironment;

const PROJECT: &str = "\
workflow:
  gates:
    - {id: work, role: worker}
    - {id: check, role: tester, canReject: true, run: {exit: {complete: 0, needs_review: 1}}}
    - {id: approve, role: lead, requireHuman: true}
";

/// An agent that says what came of it, one whose exit status says it, and one that cannot be started.
const ORG: &str = "\
roles:
  worker: {agents: [coder, broken]}
  tester: {agents: [tester]}
  lead: {agents: [human-ada]}
agents:
  coder:
    run: {command: [sh, -c, 'echo $SAYS > \"$AOF_OUTPUT\"'], timeout: 30s, env: {SAYS: SAID}}
  broken: {run: {command: [/no/such/program], attempts: 1}}
  tester: {run: {command: ['true'], timeout: 30s}}
  human-ada: {email: ada@example.org}
";

fn story() -> Story {
    let answer = r#"'{"outcome": "complete", "summary": "Did it"}'"#;
    Story::with_rules(PROJECT, &ORG.replace("SAID", answer))
}

#[test]
fn runs_answer_in_these_shapes() {
    let mut story = story();
    story.tells("runner doctor");
    story.tells("runner doctor coder --ask");
    story.tells("run --agent coder");
    let id = story.task("'Add login'");
    story.tells("run --agent coder --dry-run");
    story.tells("run --agent broken --once");
    story.tells(&format!("run --task {id} --dry-run"));
    story.tells(&format!("run --task {id}"));
    story.tells(&format!("task show {id}"));
    story.tells(&format!("task history {id}"));
    story.tells("workflow run default --input 'Add logout' --dry-run");
    story.tells("workflow run default --input 'Add logout' --step");
    story.tells("workflow run basic --input 'Add more'");
    story.tells("run --agent human-ada");
    story.tells("run --agent nobody");
    assert_snapshot!(story.output);
}

#[test]
fn the_wiring_of_a_server_is_reported_in_these_shapes() {
    let mut story = story();
    story.tells("mcp --check --agent coder");
    story.tells("mcp --check --agent human-ada");
    let mut nowhere = Story::of(TestEnvironment::without_repository());
    nowhere.tells("mcp --check --agent coder");
    assert_snapshot!(story.output + &nowhere.output);
}

#[test]
fn tokens_answer_in_these_shapes() {
    let mut story = story();
    story.tells("mcp token coder");
    story.tells("mcp token --list");
    story.tells("mcp token --revoke coder");
    assert_snapshot!(story.output);
}
