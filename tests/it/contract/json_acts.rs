//! The JSON of commands that change a task.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use serde_json::json;

use super::{ORG, PROJECT, Story};
use crate::support::signer::Signer;

#[test]
fn acts_on_tasks_answer_in_these_shapes() {
    let mut story = Story::with_rules(PROJECT, ORG);
    story.tells("task new Try --dry-run");
    story.tells(
        "task new 'Add login' --description 'Users sign in' --body 'With tokens.' --tag auth \
         --meta priority=high",
    );
    let id = story.only_task();
    story.tells(&format!("task new 'Add logout' --depends {id}"));
    story.tells("task new Deploy --workflow quick --context repo=web");
    story.tells_reading(
        "task new --from -",
        r#"[{"title": "One"}, {"title": "Two", "tags": ["api"], "body": "Long"}]"#,
    );
    story.tells(&format!("task edit {id} --title 'Add a login' --tag web --dry-run"));
    story.tells(&format!("task edit {id} --title 'Add a login' --tag web"));
    story.tells(&format!("task comment {id} -m 'Mind the tokens'"));
    story.tells("task next --agent agent-7 --dry-run");
    story.tells("task next --agent agent-7");
    story.tells("task next --agent agent-7 --another");
    story.tells("task next --agent agent-3");
    story.tells(&format!("task renew {id} --agent agent-7 --note Half"));
    story.tells(&format!("task release {id} --agent agent-7"));
    story.tells(&format!("task assign --claim {id} agent-8"));
    story.tells(&format!("task assign --claim {id} agent-8"));
    story.tells(&format!("task hold {id} --reason Wait"));
    story.tells(&format!("task unblock {id} --reason Go"));
    story.tells(&format!("task complete {id} --agent agent-8 -o complete -s Done --dry-run"));
    let done = "--agent agent-8 -o complete -s 'It works' --output branch=login --meta tests=14";
    story.tells(&format!("task complete {id}@0 {done} --id c1"));
    story.tells(&format!("task complete {id}@0 {done} --id c1"));
    story.tells(&format!("task complete {id}@1/security --agent agent-4 -o complete -s Safe"));
    let problems = "--blocker 'No test' --blocker 'No docs' --notes 'The rest is fine'";
    let rejected = "--agent agent-3 -o needs_review -s 'Two things'";
    story.tells(&format!("task complete {id}@1/style {rejected} {problems}"));
    story.tells(&format!("task complete {id} --agent agent-7 -o blocked -s Stuck -b 'No access'"));
    story.tells(&format!("task unblock {id}"));
    story.tells(&format!("task complete {id} --agent agent-7 -o skip -s 'Not needed'"));
    story.tells(&format!("task override {id} --to approve --reason Urgent"));
    story.tells(&format!("task complete {id} --agent human-ada -o complete -s 'Looks good'"));
    story.tells(&format!("task reopen {id} --to implement --reason More"));
    story.tells(&format!("task cancel {id} --reason No"));
    story.env.hand_made("AOF-abc", "By hand");
    story.tells("task complete AOF-abc --agent agent-7 -o complete -s Done");
    assert_snapshot!(story.output);
}

#[test]
fn signing_answers_in_these_shapes() {
    let signer = Signer::new(1);
    let org = ORG.replace(
        "email: ada@example.org",
        &format!("email: ada@example.org, signingKey: {}", signer.public()),
    );
    let mut story = Story::with_rules(PROJECT, &org);
    let id = story.task("'Add login'");
    story.does(&format!("task override {id} --to approve --reason Urgent"));
    story.tells(&format!("task complete {id} --agent human-ada -o complete -s Fine"));
    let completion = json!({
        "task": id, "agent": "human-ada", "outcome": "complete", "summary": "Fine", "id": "c1"
    });
    story.env.write("done.json", completion.to_string());
    // The program that signs is one that answers with what was signed here.
    let text = story.env.aof_command(&["task", "sign", "done.json", "--print"]).output().unwrap();
    let signature = signer.sign(&String::from_utf8(text.stdout).unwrap());
    fs::write(story.env.home().join("answer"), signature).unwrap();
    let program = story.env.home().join("signs");
    let script = "#!/bin/sh\nfor last; do :; done\ncp \"$HOME/answer\" \"$last.sig\"\n";
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    story.env.git(&["config", "gpg.ssh.program", program.to_str().unwrap()]);
    story.tells("task sign done.json --print");
    story.tells("task sign done.json");
    story.tells(&format!("task complete {id}@1 --agent human-ada -o complete -s Fine --id c1"));
    story.tells(&format!("task history {id}"));
    story.tells(&format!("task history {id}@1 --export signed"));
    assert_snapshot!(story.output);
}
