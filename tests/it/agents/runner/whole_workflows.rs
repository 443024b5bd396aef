//! Whole workflows, from the first gate to the last: forks, a rejection, a gate that an exit status decides, and people.

use insta::assert_snapshot;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;
use crate::support::scripted_agents::{
    endings, history, project_of, prompt, records, shown, timeless,
};

const RULES: &str = "\
workflow:
  gates:
    - {id: implement, role: backend, outputs: {properties: {branch: {type: string}}, required: [branch]}}
    - {id: review, type: fork, branches: [{id: code, role: reviewer}, {id: docs, role: writer}]}
    - {id: check, role: tester, canReject: true, run: {exit: {complete: 0, needs_review: [1, 2]}}}
    - {id: approve, role: lead, requireHuman: true}
    - {id: publish, role: backend}
";

/// Works, with a file at the first gate, and with a block at the end of what it prints at the last.
const CODER: &str = "\
echo \"Working at $AOF_GATE\"
if [ \"$AOF_GATE\" = implement ]; then
    cat > \"$AOF_OUTPUT\" <<'ANSWER'
outcome: complete
summary: \"Added it; see the branch\"
outputs: {branch: login}
ANSWER
else
    printf 'All is well.\\n\\n```json\\n{\"outcome\": \"complete\", \"summary\": \"It is out\"}\\n```\\n'
fi
";

/// Waits until the other branch is at work too, then speaks.
const CODE: &str = "\
touch \"$HOME/code\"
until [ -e \"$HOME/docs\" ]; do sleep 0.01; done
echo '{\"outcome\": \"complete\", \"summary\": \"The code is fine\"}' > \"$AOF_OUTPUT\"
";

/// Waits until the other branch has spoken.
const DOCS: &str = "\
touch \"$HOME/docs\"
spoken() { grep -c 'The code is fine' tasks/*.md; }
until [ -e \"$HOME/code\" ] && [ \"$(spoken)\" -gt \"$(grep -c 'The docs are fine' tasks/*.md)\" ]; do sleep 0.01; done
rm \"$HOME/code\" \"$HOME/docs\"
echo '{\"outcome\": \"complete\", \"summary\": \"The docs are fine\"}'
";

/// Fails once.
const TESTER: &str = "\
if [ -e \"$HOME/checked\" ]; then echo 'all tests pass'; exit 0; fi
touch \"$HOME/checked\"
echo 'test login ... FAILED'
echo 'error: 1 test failed' >&2
exit 1
";

/// Puts in one order what two agents began at the same time.
fn settled(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    for at in 1..lines.len() {
        let (one, other) = (lines[at - 1], lines[at]);
        let began =
            one.starts_with("Step 2/5: review/docs") && other.starts_with("Step 2/5: review/code");
        let claimed = one.contains("claimed by critic") && other.contains("claimed by scribe");
        if began || claimed {
            lines.swap(at - 1, at);
        }
    }
    timeless(&lines.join("\n"))
}

fn environment() -> TestEnvironment {
    project_of(
        RULES,
        &[
            ("coder", "backend", "", CODER),
            ("critic", "reviewer", "", CODE),
            ("scribe", "writer", "", DOCS),
            ("tester", "tester", "", TESTER),
            ("human-ada", "lead", "", ""),
        ],
    )
}

#[test]
fn a_workflow_runs_to_its_end_with_a_rejection_and_a_person() {
    let env = environment();
    let output = env.aof(&[
        "workflow",
        "run",
        "default",
        "--input",
        "Add login\n\nWith a form.",
        "--jobs",
        "2",
    ]);
    assert_snapshot!(settled(&output.to_string()), @"
    exit 7
    --- stdout
    AOF-xxxxx: waits, 8 visits so far
    --- stderr
    AOF-xxxxx: Add login, in `default`
    Step 1/5: implement: coder at AOF-xxxxx@0
    AOF-xxxxx: implement → review after TIME: Added it; see the branch
    Step 2/5: review/code: critic at AOF-xxxxx@1/code
    Step 2/5: review/docs: scribe at AOF-xxxxx@1/docs
    AOF-xxxxx: review/code done after TIME: The code is fine
    AOF-xxxxx: review/docs → check after TIME: The docs are fine
    Step 3/5: check: tester at AOF-xxxxx@3
    AOF-xxxxx: sent back to implement after TIME: `sh agents/tester.sh` ended with exit status 1
    Step 1/5: implement: coder at AOF-xxxxx@4
    AOF-xxxxx: implement → review after TIME: Added it; see the branch
    Step 2/5: review/code: critic at AOF-xxxxx@5/code
    Step 2/5: review/docs: scribe at AOF-xxxxx@5/docs
    AOF-xxxxx: review/code done after TIME: The code is fine
    AOF-xxxxx: review/docs → check after TIME: The docs are fine
    Step 3/5: check: tester at AOF-xxxxx@7
    AOF-xxxxx: check → approve after TIME: `sh agents/tester.sh` ended with exit status 0
    AOF-xxxxx@8 approve: waits for `human-ada`; `aof complete AOF-xxxxx@8 --outcome ...`
    ");
    let id = env.files("tasks")[0].trim_start_matches("tasks/").trim_end_matches(".md").to_owned();
    assert_snapshot!(history(&env, &id), @"
    implement coder complete [file] Added it; see the branch
    review/code critic complete [file] The code is fine
    review/docs scribe complete [structured] The docs are fine
    check tester needs_review [exit] `sh agents/tester.sh` ended with exit status 1
    implement coder complete [file] Added it; see the branch
    review/code critic complete [file] The code is fine
    review/docs scribe complete [structured] The docs are fine
    check tester complete [exit] `sh agents/tester.sh` ended with exit status 0
    ");
    // What the exit status rejected is told to whoever fixes it.
    let printed = prompt(&env, &format!("{id}@4"), 1);
    assert!(printed.contains("- test login ... FAILED error: 1 test failed\n"), "{printed}");

    let answer = env.say(&id, "human-ada", "complete", &[]);
    let _ = answer.success();
    let output = env.aof(&["run", "--task", &id]);
    assert_snapshot!(timeless(&output.to_string()), @"
    exit 0
    --- stdout
    AOF-xxxxx: complete, 1 visit
    --- stderr
    Step 5/5: publish: coder at AOF-xxxxx@9
    AOF-xxxxx: publish → done after TIME: It is out
    ");
    assert_snapshot!(settled(&env.log()), @"
    coder: AOF-xxxxx: publish -> end (complete)
    coder: AOF-xxxxx: claimed by coder at publish
    human-ada: AOF-xxxxx: approve -> publish (complete)
    tester: AOF-xxxxx: check -> approve (complete)
    tester: AOF-xxxxx: claimed by tester at check
    scribe: AOF-xxxxx: review/docs -> check (complete)
    critic: AOF-xxxxx: review/code (complete)
    scribe: AOF-xxxxx: claimed by scribe at review/docs
    critic: AOF-xxxxx: claimed by critic at review/code
    coder: AOF-xxxxx: implement -> review (complete)
    coder: AOF-xxxxx: claimed by coder at implement
    tester: AOF-xxxxx: check -> implement (needs_review)
    tester: AOF-xxxxx: claimed by tester at check
    scribe: AOF-xxxxx: review/docs -> check (complete)
    critic: AOF-xxxxx: review/code (complete)
    scribe: AOF-xxxxx: claimed by scribe at review/docs
    critic: AOF-xxxxx: claimed by critic at review/code
    coder: AOF-xxxxx: implement -> review (complete)
    coder: AOF-xxxxx: claimed by coder at implement
    Ada: AOF-xxxxx: created at implement
    Ada: rules
    ");
    check(&env);

    // What an entry keeps of its run.
    let task = shown(&env, &id);
    let run = &task["gateHistory"][0]["metadata"]["run"];
    assert_snapshot!(env.plain(&format!("{run:#}")), @r#"
    {
      "id": "ULID",
      "verdict": "file",
      "seconds": 0,
      "transcript": "sha256:SHA256"
    }
    "#);
    let record = &records(&env, &format!("{id}@0"))[0];
    let transcript = std::fs::read(env.path(&format!(".aof/runs/{id}@0/1/transcript"))).unwrap();
    let digest: String =
        Sha256::digest(&transcript).iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(env.task_text(&id).contains(&format!("sha256:{digest}")));
    assert_eq!(record["end"]["transcript"]["sha256"], digest);
    assert_eq!(String::from_utf8(transcript).unwrap(), "Working at implement\n");
    let name = record["run"].as_str().unwrap();
    assert!(env.task_text(&id).contains(&format!("id: {name}\n")), "{}", env.task_text(&id));
    assert_eq!(record["end"]["verdict"]["completion"], name);
    assert_snapshot!(task["context"], @r#"{"input":{"input":"Add login\n\nWith a form."},"implement":{"branch":"login"}}"#);
    assert_eq!(endings(&env, &format!("{id}@0")), "verdict complete by file\n");
}

/// Returns the lines of JSON, those of what agents print aside: when these come is chance.
fn lines(output: &str) -> Vec<Value> {
    let lines = output.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["event"] != "printed").collect()
}

#[test]
fn programs_get_lines_of_json_and_the_end() {
    let rules = "\
workflow:
  gates:
    - {id: work, role: worker, outputs: {properties: {branch: {type: string}}}}
    - {id: check, role: tester, onFailure: {to: $fail}, run: {attempts: 1}}
";
    let work = "echo '{\"outcome\": \"complete\", \"summary\": \"Did it\", \"outputs\": {\"branch\": \"login\"}}'\n";
    let env =
        project_of(rules, &[("coder", "worker", "", work), ("tester", "tester", "", "exit 3\n")]);
    let output = env.aof(&["--json", "workflow", "run", "default", "--input", "Add login"]).code(1);
    assert_eq!(output.stderr, "");
    let mut lines = lines(&output.stdout);
    let end = lines.pop().unwrap();
    for line in &mut lines {
        if line["event"] == "moved" {
            line["seconds"] = 0.into();
        }
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    assert_snapshot!(text, @r#"
    {"jsonVersion":1,"event":"started","task":"AOF-xxxxx","ticket":"AOF-xxxxx@0","gate":"work","agent":"coder","attempt":1,"attempts":2,"step":1,"steps":2}
    {"jsonVersion":1,"event":"moved","task":"AOF-xxxxx","ticket":"AOF-xxxxx@0","from":"work","to":"check","outcome":"complete","summary":"Did it","status":"ready","seconds":0}
    {"jsonVersion":1,"event":"started","task":"AOF-xxxxx","ticket":"AOF-xxxxx@1","gate":"check","agent":"tester","attempt":1,"attempts":1,"step":2,"steps":2}
    {"jsonVersion":1,"event":"attempt_failed","task":"AOF-xxxxx","ticket":"AOF-xxxxx@1","attempt":1,"why":"`sh agents/tester.sh` ended with exit status 3","againIn":null}
    {"jsonVersion":1,"event":"moved","task":"AOF-xxxxx","ticket":"AOF-xxxxx@1","from":"check","to":null,"outcome":"failed","summary":"1 attempt of `tester` failed; the last one: `sh agents/tester.sh` ended with exit status 3","status":"failed","seconds":0}
    "#);
    assert_eq!(end["success"], false);
    assert_snapshot!(end["error"], @r#""the task is failed: 1 attempt of `tester` failed; the last one: `sh agents/tester.sh` ended with exit status 3""#);
    assert_snapshot!(end["context"], @r#"{"input":{"input":"Add login"},"work":{"branch":"login"}}"#);
    assert_eq!(end["event"], "ended");
    assert_eq!(end["visits"], 2);
    assert_eq!(end["task"]["status"], "failed");
    assert_eq!(end["task"]["gateHistory"].as_array().unwrap().len(), 2);
    check(&env);
}
