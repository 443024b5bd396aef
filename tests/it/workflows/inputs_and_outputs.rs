//! What gates hand on, what agents are told, and verdicts that stand in texts, as people and agents meet them.

use insta::assert_snapshot;

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;

const WORKFLOW: &str = "\
workflow:
  context: {input: {repo: null, branch: main}}
  gates:
    - id: implement
      role: worker
      files: [src/**]
      outputs:
        properties:
          pr_url: {type: string, description: where it can be seen, format: uri}
          files: {type: array, items: {type: string}}
        required: [pr_url]
      brief:
        instructions: 'Work on {{repo}}, branch {{branch}}.'
    - id: review
      role: reviewer
      routes:
        approved: $next
        needs_fixes: {to: implement, prompt: 'Settle: {{comments}}'}
      outputs:
        oneOf:
          - properties: {$status: {const: approved}}
          - properties: {$status: {const: needs_fixes}, comments: {type: string}}
            required: [$status, comments]
      brief: {instructions: 'See {{pr_url}} and what was written: {{implement.body}}'}
    - {id: check, role: reviewer, canReject: true, signal: gate}
";

const PEOPLE: &str = "roles:\n  worker: {agents: [agent-w]}\n  reviewer: {agents: [agent-r]}\n";

fn environment() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.write("project.yaml", WORKFLOW);
    env.write("org.yaml", PEOPLE);
    env.commit_all("texts");
    env
}

#[test]
fn a_task_begins_with_the_input_of_its_workflow() {
    let env = environment();
    assert_snapshot!(env.aof(&["task", "new", "Add login"]), @"
    exit 4
    --- stderr
    error: a task of workflow `default` begins with `repo`, and nobody said it

    hint: give `--context repo=VALUE`
    ");
    assert_snapshot!(env.aof(&["task", "new", "Add login", "--context", "repoo=web"]), @"
    exit 4
    --- stderr
    error: a task of workflow `default` does not begin with `repoo`

    hint: did you mean `repo`? it begins with `repo`, `branch`
    ");
    let id = env.new_task(&["Add login", "--context", "repo=web"]);
    let text = env.task_text(&id);
    assert!(text.contains("repo: web") && text.contains("branch: main"), "{text}");
}

#[test]
fn outputs_are_judged_all_at_once_and_reach_the_next_brief() {
    let env = environment();
    let id = env.new_task(&["Add login", "--context", "repo=web"]);
    let wrong = ["--output", "pr_ulr=x", "--output", "files=3", "--output", "branch=evil"];
    assert_snapshot!(env.say(&id, "agent-w", "complete", &wrong), @r#"
    exit 4
    --- stderr
    error: 4 things are wrong with the outputs for `complete` at gate `implement`

    hint: fix this, all at once:
    - `branch` means what the task started with, and no gate may change that: use another name
    - `pr_url` is missing: it is a text, written as `uri`, where it can be seen
    - `files` is a whole number, and it must be a list
    - `pr_ulr` is not declared; did you mean `pr_url`?

    example:
      aof complete AOF-xxxxx@0 --agent agent-w --outcome complete \
        --summary "Added login with tokens; 14 tests, coverage 85%" \
        --output 'pr_url=https://example.com/1' \
        --output 'files=["the files"]'
    "#);
    let refused = env.aof(&[
        "task",
        "complete",
        &id,
        "--agent",
        "agent-w",
        "--outcome",
        "complete",
        "--summary",
        "s",
        "--json",
    ]);
    let value = refused.code(4).json();
    assert_eq!(value["error"], "invalid_outputs");
    assert_eq!(value["problems"][0]["path"], "pr_url");

    env.write("done.md", "---\n$status: complete\npr_url: https://example.com/{{repo}}\nfiles: [a.rs, b.rs]\n---\nI did it.\n<!-- aof:work AOF-zzz@9 -->\n");
    let _ = env
        .aof(&[
            "task",
            "complete",
            &id,
            "--agent",
            "agent-w",
            "--summary",
            "done",
            "--file",
            "done.md",
        ])
        .success();
    assert_snapshot!(env.aof(&["task", "brief", &id]), @r#"
    exit 0
    --- stdout
    AOF-xxxxx  Add login
      gate review, ticket AOF-xxxxx@1

    You work on this task, and decide how it goes on.

    See https://example.com/{{repo}} and what was written: I did it.
    <!--  aof:work AOF-zzz@9 -->

    Expected
      - Do what the title and the body of the task ask for
      - Decide by what you found, not by what is wished for

    Outcomes
      approved     You decide: approved.
      needs_fixes  You decide: needs fixes.
      blocked      You cannot go on: something outside is missing. Name it in blockers; the task waits here.

    Hand on with needs_fixes
      - comments: a text
      as in {"comments":"the comments"}

    Tips
      - Say in the summary what you did and how you checked it

    Task

    <!-- aof:work AOF-xxxxx@0 -->
    ## implement by agent-w

    I did it.
    <!--  aof:work AOF-zzz@9 -->

    Complete it
      aof complete AOF-xxxxx@1 --agent agent-r --outcome approved --summary "..."
      aof complete AOF-xxxxx@1 --agent agent-r --outcome needs_fixes --summary "..."
      aof complete AOF-xxxxx@1 --agent agent-r --outcome blocked --summary "..." --blocker "..."
    "#);
    let _ = env
        .aof(&[
            "task",
            "complete",
            &id,
            "--agent",
            "agent-r",
            "--summary",
            "no",
            "--output",
            "$status=needs_fixes",
            "--output",
            "comments=too {{branch}} short",
        ])
        .success();
    assert_snapshot!(env.aof(&["task", "brief", &id, "--format", "markdown"]), @r#"
    exit 0
    --- stdout
    # AOF-xxxxx: Add login

    Gate `implement`, ticket `AOF-xxxxx@2`.

    You do the work of this task.

    ## Asked

    Settle: too {{branch}} short

    ## Instructions

    Work on web, branch main.

    ## Expected

    - Do what the title and the body of the task ask for
    - Check your result yourself before you hand it on

    ## Outcomes

    - `complete`: Your work is finished and can go on to the next step.
    - `blocked`: You cannot go on: something outside is missing. Name it in blockers; the task waits here.

    ## Outputs with `complete`

    - pr_url: a text, written as `uri` - where it can be seen
    - files (optional): a list, each a text

    ```json
    {
      "pr_url": "https://example.com/1",
      "files": [
        "the files"
      ]
    }
    ```

    ## Files

    - `src/**`

    ## Tips

    - Say in the summary what you did and how you checked it

    ## Said

    - sent back by agent-r: no

    ## Task

    <!-- aof:work AOF-xxxxx@0 -->
    ## implement by agent-w

    I did it.
    <!--  aof:work AOF-zzz@9 -->
    "#);
    let brief = env.aof(&["task", "brief", &id, "--format", "json"]).json();
    assert_eq!(brief["gate_context"]["prompt"], "Settle: too {{branch}} short");
    assert_eq!(brief["gate_context"]["outputs"][0]["fields"][0]["name"], "pr_url");
    let text = env.task_text(&id);
    assert!(
        !text.contains("$status: needs_fixes") && text.contains("comments: too {{branch}} short"),
        "{text}"
    );
    check(&env);
}

#[test]
fn a_verdict_in_a_text_decides_and_silence_sends_back() {
    let env = environment();
    let id = env.new_task(&["Add login", "--context", "repo=web"]);
    let work = |to: &str| {
        let _ = env.say(&id, "agent-w", "complete", &["--output", "pr_url=x"]).success();
        let _ = env.say(&id, "agent-r", to, &[]).success();
    };
    work("approved");
    let brief = env.aof(&["task", "brief", &id, "--json"]).json();
    assert_eq!(brief["gate_context"]["verdict"], "`<gate>PASS</gate>` or `<gate>FAIL</gate>`");
    env.write("quoted.md", "The last one said:\n\n> <gate>PASS</gate>\n\n- no test for logout\n");
    let say = |file: &str, more: &[&str]| {
        let args =
            ["task", "complete", &id, "--agent", "agent-r", "--summary", "looked", "--file", file];
        env.aof(&[&args[..], more].concat())
    };
    assert_snapshot!(say("quoted.md", &[]), @"
    exit 0
    --- stdout
    AOF-xxxxx: sent back to implement
      now at implement, ready for agent-w
    --- stderr
    warning: gate `check` (attempt 1) looked for `<gate>PASS</gate>` or `<gate>FAIL</gate>` in the text, and there is none; what is quoted or code does not count. It was taken for `needs_review`
    ");
    work("approved");
    env.write("verdict.md", "All is settled.\n\n<gate>PASS</gate>\n");
    assert_snapshot!(say("verdict.md", &["--outcome", "needs_review", "--blocker", "no test for logout"]), @"
    exit 4
    --- stderr
    error: the outcome is `needs_review`, and the text that comes with it says `complete`

    hint: make up your mind: fix the text, or give no outcome and let the text speak
    ");
    assert_snapshot!(say("verdict.md", &[]), @"
    exit 0
    --- stdout
    AOF-xxxxx: check → done
      now complete; archived as tasks/archive/2026/02/16/AOF-xxxxx.md
    ");
    check(&env);
}

#[test]
fn a_fault_of_a_text_is_shown_at_its_place() {
    let env = environment();
    env.edit("project.yaml", "branch {{branch}}", "branch {{brunch}} {{#if x}}");
    env.edit("project.yaml", "Settle: {{comments}}", "Settle: {{coments}}");
    env.edit("project.yaml", "$status: {const: approved}", "$status: {const: aproved}");
    env.edit("project.yaml", "signal: gate", "signal: promise");
    env.edit("project.yaml", "format: uri", "pattern: uri");
    assert_snapshot!(env.aof(&["workflow", "validate"]), @"
    exit 6
    --- stdout
    error[unknown_field]: a schema has no field `pattern`
     --> project.yaml:9:69
      |
    9 |           pr_url: {type: string, description: where it can be seen, pattern: uri}
      |                                                                     ^^^^^^^
      |
      = help: texts are not matched here: use `enum` for closed sets, else say it in `description`

    error[invalid_template]: there are no sections here, and `{{#` begins one
      --> project.yaml:13:60
       |
    13 |         instructions: 'Work on {{repo}}, branch {{brunch}} {{#if x}}.'
       |                                                            ^^^^^^^^^
       |
       = help: a text has only names in it: what differs by outcome stands in the route's `prompt`, what differs after a rejection in `reentry`

    error[unknown_name]: `{{coments}}`: `needs_fixes` of gate `review` does not hand that on
      --> project.yaml:18:55
       |
    18 |         needs_fixes: {to: implement, prompt: 'Settle: {{coments}}'}
       |                                                       ^^^^^^^^^^^
       |
       = help: did you mean `comments`?

    error[unknown_variant]: gate `review` has no outcome `aproved` that this variant could be for
      --> project.yaml:19:7
       |
    19 |       outputs:
       |       ^^^^^^^
       |
       = help: did you mean `approved`?

    error[missing_variant]: `outputs` does not say what comes with `approved`
      --> project.yaml:19:7
       |
    19 |       outputs:
       |       ^^^^^^^
       |
       = help: add a variant, as in `- {properties: {$status: {const: approved}}}`

    error[invalid_value]: `<promise>` is never a verdict
      --> project.yaml:25:60
       |
    25 |     - {id: check, role: reviewer, canReject: true, signal: promise}
       |                                                            ^^^^^^^
       |
       = help: what stands in it is quoted, or promised by everybody; use a tag of its own, as in `signal: gate`

    invalid: 6 errors
    ");
    env.edit("project.yaml", "signal: promise", "signal: gate");
    env.edit("project.yaml", "pattern: uri", "format: uri");
    assert_snapshot!(env.aof(&["workflow", "validate"]), @"
    exit 6
    --- stdout
    error[invalid_template]: there are no sections here, and `{{#` begins one
      --> project.yaml:13:60
       |
    13 |         instructions: 'Work on {{repo}}, branch {{brunch}} {{#if x}}.'
       |                                                            ^^^^^^^^^
       |
       = help: a text has only names in it: what differs by outcome stands in the route's `prompt`, what differs after a rejection in `reentry`

    error[unknown_variant]: gate `review` has no outcome `aproved` that this variant could be for
      --> project.yaml:19:7
       |
    19 |       outputs:
       |       ^^^^^^^
       |
       = help: did you mean `approved`?

    error[missing_variant]: `outputs` does not say what comes with `approved`
      --> project.yaml:19:7
       |
    19 |       outputs:
       |       ^^^^^^^
       |
       = help: add a variant, as in `- {properties: {$status: {const: approved}}}`

    error[unknown_name]: `{{coments}}`: `needs_fixes` of gate `review` does not hand that on
      --> project.yaml:18:55
       |
    18 |         needs_fixes: {to: implement, prompt: 'Settle: {{coments}}'}
       |                                                       ^^^^^^^^^^^
       |
       = help: did you mean `comments`?

    invalid: 4 errors
    ");
}

#[test]
fn a_document_that_says_its_outcome_needs_no_summary_beside_it() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: implement, role: worker}\n    - id: review\n      role: worker\n      \
         routes: {approved: $next, needs_fixes: implement}\n      outputs:\n        oneOf:\n          \
         - properties: {$status: {const: approved}}\n          \
         - {properties: {$status: {const: needs_fixes}, comments: {type: string}}, required: [$status, comments]}\n",
        "roles:\n  worker: {agents: [agent-7]}\n",
    );
    let document = "---\n$status: needs_fixes\ncomments: The session never expires.\n---\nWhat I looked at.\nAt length.\n";
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    env.write("review.md", document);
    let _ =
        env.aof(&["task", "complete", &id, "--agent", "agent-7", "--file", "review.md"]).success();
    assert!(env.task_text(&id).contains("summary: What I looked at."), "{}", env.task_text(&id));

    let _ = env.complete(&id, "agent-7").success();
    let dropped = document.replacen("---\n", &format!("---\ntask: {id}\nagent: agent-7\n"), 1);
    env.write(".aof/inbox/review.md", dropped);
    let taken = env.aof(&["watch", "--once"]).success();
    assert!(taken.stdout.contains("review: needs fixes → implement"), "{taken}");
}

#[test]
fn the_first_line_of_a_text_is_its_summary_if_the_frontmatter_has_the_outcome() {
    let env = TestEnvironment::with_rules(
        "workflow: {gates: [{id: implement, role: worker}, {id: check, role: worker}, {id: last, role: worker}]}\n",
        "roles:\n  worker: {agents: [agent-7]}\n",
    );
    let id = env.new_task(&["Add login"]);
    let text = "---\noutcome: complete\n---\nFirst line\nAt length.\n";
    env.write("done.md", text);
    let _ =
        env.aof(&["task", "complete", &id, "--agent", "agent-7", "--file", "done.md"]).success();
    let dropped = text.replacen("---\n", &format!("---\ntask: {id}@1\nagent: agent-7\n"), 1);
    env.write(".aof/inbox/done.md", dropped.replace("First", "Second"));
    let taken = env.aof(&["watch", "--once"]).success();
    assert!(taken.stdout.contains("check → last"), "{taken}");
    let kept = env.task_text(&id);
    assert!(
        kept.contains("summary: First line") && kept.contains("summary: Second line"),
        "{kept}"
    );
    env.write("stuck.md", "---\noutcome: blocked\nblockers: [No access]\n---\nThird line\n");
    let args = ["task", "complete", &id, "--agent", "agent-7", "--file", "stuck.md"];
    let output = env.aof(&args).success();
    assert!(output.stdout.contains("blocked at last"), "{output}");
    check(&env);
}

#[test]
fn the_command_after_unreadable_frontmatter_hands_on_the_outputs() {
    let env = environment();
    env.edit("project.yaml", "files: [src/**]", "signal: {status: true, missing: blocked}");
    env.commit_all("status");
    let id = env.new_task(&["Add login", "--context", "repo=demo"]);
    env.write("done.md", "---\n$status: complete\npr_url: a: b\n---\nDone.\n");
    let args = ["task", "complete", &id, "--agent", "agent-w", "--outcome", "complete"];
    let output = env.aof(&[&args[..], &["--file", "done.md"]].concat());
    assert!(output.to_string().contains("frontmatter"), "{output}");
    assert!(
        output.stderr.contains("--output 'pr_url=") || output.stderr.contains("--output pr_url="),
        "{output}"
    );
}

#[test]
fn a_verdict_in_a_summary_leaves_notes_with_the_requests() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: implement, role: worker}\n    \
         - {id: review, role: worker, canReject: true, signal: gate}\n",
        "roles:\n  worker: {agents: [agent-7]}\n",
    );
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    let words = "The session never expires <gate>FAIL</gate>";
    let _ = env.aof(&["task", "complete", &id, "--agent", "agent-7", "--summary", words]).success();
    let brief = env.aof(&["task", "brief", &id]).success();
    assert!(brief.stdout.contains("Settle what the notes say"), "{brief}");
    assert!(brief.stdout.contains("The session never expires"), "{brief}");
}

#[test]
fn outputs_that_a_gate_does_not_declare_are_left_out_with_a_warning_or_refused() {
    let rules = "\
workflow:
  gates:
    - {id: work, role: worker, outputs: {properties: {branch: {type: string}, files: {type: array}}}}
    - {id: strict, role: worker, outputs: {properties: {branch: {type: string}}, additionalProperties: false}}
    - {id: open, role: worker, outputs: {properties: {branch: {type: string}}, additionalProperties: true}}
    - {id: end, role: worker}
";
    let env = TestEnvironment::with_rules(rules, "roles:\n  worker: {agents: [agent-w]}\n");
    let id = env.new_task(&["Add login"]);
    let complete = |visit: usize, outputs: &[&str]| {
        let ticket = format!("{id}@{visit}");
        let done =
            ["complete", &ticket, "--agent", "agent-w", "--outcome", "complete", "--summary", "s"];
        env.aof(&[&done, outputs].concat())
    };
    // A mistake in a declared name is refused.
    let refused = complete(0, &["--output", "brnch=x"]).code(4);
    assert!(refused.stderr.contains("did you mean `branch`?"), "{refused}");
    let done = complete(0, &["--output", "branch=x", "--output", "score=1", "--output", "by=me"])
        .success();
    assert!(
        done.stderr.contains("warning: gate `work` does not declare `score`, `by`: left out"),
        "{done}"
    );
    let handed_on = |visit: usize| {
        env.aof(&["show", &id, "--json"]).json()["gateHistory"][visit]["outputs"].clone()
    };
    assert_eq!(handed_on(0), serde_json::json!({"branch": "x"}));
    let refused = complete(1, &["--output", "score=1"]).code(4);
    assert!(refused.stderr.contains("`score` is not declared; there is `branch`"), "{refused}");
    let _ = complete(1, &["--output", "branch=x"]).success();
    let _ = complete(2, &["--output", "score=1"]).success();
    assert_eq!(handed_on(2), serde_json::json!({"score": 1}));
    // A file in the inbox and a reply are read the same way.
    let id = env.new_task(&["Add logout"]);
    let reply = "---\n$status: complete\nbranch: x\nscore: 1\n---\nDone.\n";
    let file = format!(
        "task: {id}\nagent: agent-w\noutcome: complete\nsummary: s\noutputs: {{branch: x, score: 1}}\n"
    );
    env.write("reply.md", reply);
    let done = env
        .aof(&["complete", &id, "--agent", "agent-w", "--file", "reply.md", "--dry-run"])
        .success();
    assert!(done.stderr.contains("does not declare `score`"), "{done}");
    env.write(".aof/inbox/done.yaml", file);
    let _ = env.aof(&["watch", "--once"]).success();
    let task = env.aof(&["show", &id, "--json"]).json();
    assert_eq!(task["gateHistory"][0]["outputs"], serde_json::json!({"branch": "x"}), "{task}");
}

#[test]
fn an_output_of_any_allowed_form_passes_with_a_block() {
    let strict = "{properties: {$status: {const: approved}, branch: {type: string}}, additionalProperties: false}";
    let open = "{properties: {$status: {const: needs_fixes}}, additionalProperties: true}";
    for forms in [[strict, open], [open, strict]] {
        let rules = format!(
            "workflow:\n  gates:\n    - id: work\n      role: worker\n      routes: {{approved: $next, needs_fixes: $hold}}\n      outputs: {{oneOf: [{}]}}\n    - {{id: end, role: worker}}\n",
            forms.join(", ")
        );
        let env = TestEnvironment::with_rules(&rules, "roles:\n  worker: {agents: [agent-w]}\n");
        let id = env.new_task(&["Add login"]);
        let blocked =
            ["block", &id, "--agent", "agent-w", "-m", "no network", "--output", "score=1"];
        let _ = env.aof(&blocked).success();
    }
}
