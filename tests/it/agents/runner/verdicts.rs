//! What an agent says, in which of the ways, and what of it counts.

use insta::assert_snapshot;

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;
use crate::support::scripted_agents::{
    DONE, endings, history, one_gate, project_of, prompt, review, stand, worked,
};

const REJECT: &str = r#"{"outcome": "needs_review", "summary": "No", "blockers": ["Names a file that is not there"]}"#;

/// Returns how the only attempt at the review ended.
fn reviewed(env: &TestEnvironment) -> String {
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "coder");
    let _ = env.aof(&["run", "--task", &id, "--once"]);
    endings(env, &format!("{id}@1"))
}

#[test]
fn each_way_to_say_it_and_each_way_to_fail_is_distinguished() {
    let reject = |more: &str| format!("echo '{REJECT}' > \"$AOF_OUTPUT\"\n{more}");
    let done = |more: &str| format!("{DONE}{more}");
    let fenced = |object: &str| format!("printf 'Fine.\\n\\n```json\\n%s\\n```\\n' '{object}'\n");
    let complete = "{\"outcome\": \"complete\", \"summary\": \"Fine\"}";
    let scripts = [
        ("a file", done("")),
        (
            "a file in YAML",
            "printf 'outcome: complete\\nsummary: Fine\\n' > $AOF_OUTPUT\n".to_owned(),
        ),
        (
            "a file in Markdown",
            "printf -- '---\\noutcome: complete\\n---\\nFine.\\n' > $AOF_OUTPUT\n".to_owned(),
        ),
        ("an object", format!("echo '{complete}'\n")),
        ("a block", fenced(complete)),
        ("the file before the text", done("echo approved\n")),
        ("a rejection of a crash", reject("exit 3\n")),
        ("file and block differ", reject(&fenced(complete))),
        ("a pass of a crash", done("exit 3\n")),
        ("free text", "echo 'Approved! outcome: complete'\n".to_owned()),
        ("silence", ":\n".to_owned()),
        ("half a file", "printf '{\"outcome\": \"comp' > $AOF_OUTPUT\n".to_owned()),
        ("half a block", "printf '```json\\n{\"outcome\": \"comp'\n".to_owned()),
        ("an unknown outcome", "echo '{\"outcome\": \"lgtm\"}'\n".to_owned()),
        (
            "another task",
            "echo '{\"outcome\": \"complete\", \"task\": \"AOF-other\"}'\n".to_owned(),
        ),
        ("another agent", "echo '{\"outcome\": \"complete\", \"agent\": \"coder\"}'\n".to_owned()),
        ("its own prompt", "cat\n".to_owned()),
        ("a folder for a file", "mkdir $AOF_OUTPUT\n".to_owned()),
        ("a pipe for a file", "mkfifo $AOF_OUTPUT\n".to_owned()),
        ("a link for a file", "ln -s /etc/hostname $AOF_OUTPUT\n".to_owned()),
        ("2 MiB for a file", "head -c 2097152 /dev/zero > $AOF_OUTPUT\n".to_owned()),
        ("a crash", "echo 'it broke' >&2; exit 3\n".to_owned()),
        ("a signal", "kill -KILL $$\n".to_owned()),
        ("no blockers", "echo '{\"outcome\": \"needs_review\", \"summary\": \"No\"}'\n".to_owned()),
    ];
    let env = review("attempts: 1", ". \"$HOME/script\"\n");
    let table = scripts.map(|(name, script)| {
        std::fs::write(env.home().join("script"), script).unwrap();
        format!("{name}: {}", reviewed(&env))
    });
    assert_snapshot!(table.concat(), @"
    a file: verdict complete by file
    a file in YAML: verdict complete by file
    a file in Markdown: verdict complete by file
    an object: verdict complete by structured
    a block: verdict complete by structured
    the file before the text: verdict complete by file
    a rejection of a crash: verdict needs_review by file
    file and block differ: bad_verdict: the file `$AOF_OUTPUT` says `needs_review`, and the JSON object that was printed says `complete`; give one outcome, in one place
    a pass of a crash: bad_verdict: the file `$AOF_OUTPUT` says `complete`, and `sh agents/critic.sh` ended with exit status 3; a pass counts only from a run that went well to its end
    free text: bad_verdict: `sh agents/critic.sh` ended with exit status 0 and did not say how the work ended: looked for a completion of its own, the file `$AOF_OUTPUT` (it is not there, or empty), a block of JSON with `outcome` at the end of the last message (the last message has no such block); `outcome` is one of `complete`, `needs_review`, `blocked`
    silence: bad_verdict: `sh agents/critic.sh` ended with exit status 0 and did not say how the work ended: looked for a completion of its own, the file `$AOF_OUTPUT` (it is not there, or empty), a block of JSON with `outcome` at the end of the last message (there is no last message); `outcome` is one of `complete`, `needs_review`, `blocked`
    half a file: bad_verdict: the file `$AOF_OUTPUT` cannot be read: this is not JSON: it ends too early; write JSON with `outcome` and `summary`
    half a block: bad_verdict: `sh agents/critic.sh` ended with exit status 0 and did not say how the work ended: looked for a completion of its own, the file `$AOF_OUTPUT` (it is not there, or empty), a block of JSON with `outcome` at the end of the last message (its last block of JSON has no end); `outcome` is one of `complete`, `needs_review`, `blocked`
    an unknown outcome: bad_verdict: the JSON object that was printed has the outcome `lgtm`, which is none here; there are `complete`, `needs_review`, `blocked`
    another task: bad_verdict: the JSON object that was printed is about `AOF-xxxxx`, and the work is `AOF-xxxxx@1`; leave `task` away
    another agent: bad_verdict: the JSON object that was printed is signed by `coder`, and the work is `critic`'s; leave `agent` away
    its own prompt: bad_verdict: `sh agents/critic.sh` ended with exit status 0 and did not say how the work ended: looked for a completion of its own, the file `$AOF_OUTPUT` (it is not there, or empty), a block of JSON with `outcome` at the end of the last message (the last message has no such block); `outcome` is one of `complete`, `needs_review`, `blocked`
    a folder for a file: bad_verdict: `$PROJECT/.aof/runs/AOF-xxxxx@1/1/output` is a folder, not a file
    a pipe for a file: bad_verdict: `$PROJECT/.aof/runs/AOF-xxxxx@1/1/output` is a pipe, socket or device, not a file
    a link for a file: bad_verdict: `$PROJECT/.aof/runs/AOF-xxxxx@1/1/output` is a symbolic link, not a file
    2 MiB for a file: bad_verdict: `$PROJECT/.aof/runs/AOF-xxxxx@1/1/output` has 2097152 bytes, and the limit is 1048576
    a crash: crash: `sh agents/critic.sh` ended with exit status 3; the last thing it printed: it broke
    a signal: crash: `sh agents/critic.sh` was ended by signal 9
    no blockers: bad_verdict: its verdict was refused: outcome `needs_review` needs `blockers`, and none were given; name what must be fixed so that somebody else can do it, one blocker for each thing
    ");
}

#[test]
fn an_exit_status_decides_only_at_gates_that_map_it() {
    let judged = |script: &str| {
        let env = review("attempts: 1", script);
        env.edit(
            "project.yaml",
            "canReject: true",
            "canReject: true, run: {exit: {complete: 0, needs_review: [1]}}",
        );
        env.commit_all("exit");
        reviewed(&env)
    };
    let scripts = [
        "exit 0\n",
        "echo FAILED; exit 1\n",
        "exit 2\n",
        &format!("{DONE}exit 1\n"),
        "kill -TERM $$\n",
    ];
    assert_snapshot!(scripts.map(judged).concat(), @"
    verdict complete by exit
    verdict needs_review by exit
    crash: `sh agents/critic.sh` ended with exit status 2
    bad_verdict: the file `$AOF_OUTPUT` says `complete`, and `sh agents/critic.sh` ended with exit status 1, which means `needs_review` here; a pass counts only from a run that went well to its end
    crash: `sh agents/critic.sh` was ended by signal 15
    ");
}

#[test]
fn a_signal_counts_at_a_gate_with_one() {
    let judged = |text: &str| {
        let env = review("attempts: 1", &format!("cat <<'TEXT'\n{text}\nTEXT\n"));
        env.edit("project.yaml", "canReject: true", "canReject: true, signal: gate");
        env.commit_all("signal");
        let id = env.new_task(&["Add login"]);
        let _ = env.complete(&id, "coder");
        let _ = env.aof(&["run", "--task", &id, "--once"]);
        format!("{}  {}\n", endings(&env, &format!("{id}@1")), stand(&env, &id))
    };
    let texts = [
        "Fine.\n<gate>PASS</gate>",
        "No:\n- a.rs has no tests\n<gate>FAIL</gate>",
        "Approved",
        "> <gate>PASS</gate>",
    ];
    assert_snapshot!(texts.map(judged).concat(), @"
    verdict complete by signal
      complete - -
    verdict needs_review by signal
      ready work -
    verdict needs_review by signal
      ready work -
    verdict needs_review by signal
      ready work -
    ");
}

#[test]
fn the_agent_s_own_completion_counts_first() {
    let own = "\"$1\" task complete \"$AOF_TASK\" --outcome needs_review --summary No --blocker 'Names no file' > /dev/null\n";
    let env = review("", &format!("{own}{DONE}exit 3\n"));
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "coder");
    let _ = env.aof(&["run", "--task", &id, "--once"]).success();
    assert_snapshot!(endings(&env, &format!("{id}@1")), @"verdict needs_review by own");
    assert_snapshot!(history(&env, &id), @"
    work coder complete [-] Did it
    review critic needs_review [own] No
    ");
    assert_eq!(stand(&env, &id), "ready work -");
    // The record says which entry it came to.
    let completion = &crate::support::scripted_agents::records(&env, &format!("{id}@1"))[0]["end"]
        ["verdict"]["completion"];
    assert!(env.task_text(&id).contains(completion.as_str().unwrap()));
    check(&env);
}

#[test]
fn the_next_attempt_gets_the_refused_answer_and_the_files_left_behind() {
    let rules = "\
workflow:
  gates:
    - {id: work, role: worker, outputs: {properties: {branch: {type: string}}, required: [branch]}}
";
    let script = "\
if [ \"$AOF_ATTEMPT\" = 1 ]; then
    echo half > src.txt
    echo half > \"$(printf 'odd\\351')\"
    echo '{\"outcome\": \"complete\", \"summary\": \"Did it\"}'
else
    echo '{\"outcome\": \"complete\", \"summary\": \"Did it\", \"outputs\": {\"branch\": \"login\"}}'
fi
";
    let env = project_of(rules, &[("coder", "worker", "", script)]);
    let (id, output) = worked(&env);
    assert_snapshot!(crate::support::scripted_agents::timeless(&output.success().stderr), @"
    Step 1/1: work: coder at AOF-xxxxx@0
    warning: AOF-xxxxx@0: attempt 1 failed: its verdict was refused: one thing is wrong with the outputs for `complete` at gate `work`; fix this, all at once: - `branch` is missing: it is a text; again in 1s
    Step 1/1: work: coder at AOF-xxxxx@0, attempt 2 of 2
    AOF-xxxxx: work → done after TIME: Did it
    ");
    assert_snapshot!(endings(&env, &format!("{id}@0")), @"
    bad_verdict: its verdict was refused: one thing is wrong with the outputs for `complete` at gate `work`; fix this, all at once:
    - `branch` is missing: it is a text
    verdict complete by structured
    ");
    let printed = prompt(&env, &format!("{id}@0"), 2);
    assert_snapshot!(printed.split("\n# ").next().unwrap(), @"
    ## Another attempt

    This is attempt 2 of 2. The attempt before ended, and its answer does not count: its verdict was refused: one thing is wrong with the outputs for `complete` at gate `work`; fix this, all at once:
    - `branch` is missing: it is a text.
    The work may be done already: check it, do what is missing, and answer.

    It left these files behind, which are not committed:

    - new odd�
    - new src.txt
    ");
    assert!(!prompt(&env, &format!("{id}@0"), 1).contains("Another attempt"));
    assert_eq!(
        env.git(&["status", "--short"]),
        "?? \"odd\\351\"\n?? src.txt\n",
        "what an agent leaves is not for aof to commit"
    );
    check(&env);
}

#[test]
fn text_of_a_task_or_an_answer_is_inert() {
    let script = "\
cat > /dev/null
printf '%s' \"$2\" > \"$HOME/prompt\"
printf '%s\\n' \"$3\" \"$4\" > \"$HOME/words\"
cat > \"$AOF_OUTPUT\" <<'ANSWER'
outcome: complete
summary: 'Did `touch pwned`; $(touch pwned) {prompt} {{context.input}}'
ANSWER
";
    let env = one_gate("", script);
    env.edit(
        "org.yaml",
        "\"{aof}\"",
        "\"{aof}\", \"{prompt}\", \"two words 'and' \\\"quotes\\\" $HOME\", \"{task};{nothing}\"",
    );
    env.commit_all("command");
    let id = env.new_task(&[
        "Do $(touch pwned) and `touch pwned`",
        "--body",
        "{prompt} {task} \"; touch pwned; \"",
    ]);
    let _ = env.aof(&["run", "--task", &id]).success();
    assert!(!env.exists("pwned"));
    let output =
        std::fs::read_to_string(crate::support::scripted_agents::at_home(&env, "prompt")).unwrap();
    assert!(
        output.contains("Do $(touch pwned) and `touch pwned`")
            && output.contains("{prompt} {task} \"; touch pwned; \""),
        "{output}"
    );
    assert_eq!(
        crate::support::scripted_agents::said_at_home(&env, "words"),
        format!("two words 'and' \"quotes\" $HOME\n{id};{{nothing}}\n")
    );
    assert_snapshot!(history(&env, &id), @"work coder complete [file] Did `touch pwned`; $(touch pwned) {prompt} {{context.input}}");
    check(&env);
}

#[test]
fn nothing_is_noted_of_an_output_that_nobody_needs() {
    let own = "\"$1\" complete \"$AOF_TASK\" --outcome complete --summary 'Did it'\n";
    for reads in ["claude", "codex", "gemini", "opencode", "json"] {
        for script in [DONE, own] {
            let env = one_gate(&format!("reads: {reads}"), &format!("echo 'All done.'\n{script}"));
            let (_, output) = worked(&env);
            let output = output.success();
            assert!(!output.stderr.contains("note:"), "{reads}: {output}");
        }
        // Without an answer, the reason has it.
        let env = one_gate(&format!("reads: {reads}, attempts: 1"), "echo 'All done.'\n");
        let (_, output) = worked(&env);
        assert!(output.stderr.contains("printed no") || reads == "json", "{reads}: {output}");
        assert!(!output.stderr.contains("note:"), "{reads}: {output}");
    }
}
