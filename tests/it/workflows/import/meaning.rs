//! What an imported workflow needs and means here: roles, values, and whole runs with agents that answer as the file asks them to.

use insta::assert_snapshot;

use crate::support::environment::TestEnvironment;

const PROJECT: &str = "workflow: {name: usual, gates: [{id: work, role: coder}]}\n";

const ORG: &str = "\
# Who works here.
roles:
  coder: {agents: [agent-1]} # the only one
agents:
  agent-1: {}
  human-ada: {email: ada@x.example}
";

/// The first example of the proposal that openagents files come from, in short.
const FEATURE: &str = r#"{
  "id": "feature",
  "visible_to": ["plan", "build"],
  "steps": [
    {"id": "plan", "agent": "planner", "on_success": "approve"},
    {"id": "approve", "type": "approval", "message": "Good?", "on_approve": "code", "on_reject": "plan"},
    {"id": "code", "agent": "coder", "input": "plan", "on_success": "end", "on_error": "end"}
  ]
}
"#;

fn project() -> TestEnvironment {
    TestEnvironment::with_rules(PROJECT, ORG)
}

#[test]
fn missing_roles_are_written_in_the_same_commit() {
    let env = project();
    env.write("feature.json", FEATURE);
    let output = env.aof(&["workflow", "import", "feature.json", "--with-roles"]).success();
    let answer = output.stdout.split_once("\n\n").unwrap().1;
    assert_snapshot!(answer, @r#"
    imported workflows/feature.yaml org.yaml, commit COMMIT

    org.yaml has these roles already; its agents get the work: `coder` (`agent-1`)

    added to org.yaml; rename the agents to yours:
    roles:
      planner:
        agents: [agent-planner]
      approver:
        description: "Decides where a person has to"
        agents: [human-ada]
        requireHuman: true
      plan:
        description: "May see the workflow and start it"
        agents: [agent-plan, human-ada]
      build:
        description: "May see the workflow and start it"
        agents: [agent-build, human-ada]
    agents:
      agent-planner: {}
      agent-plan: {}
      agent-build: {}
    "#);
    assert_snapshot!(env.read("org.yaml"), @"
    # Who works here.
    roles:
      coder: {agents: [agent-1]} # the only one
      planner:
        agents:
          - agent-planner
      approver:
        description: Decides where a person has to
        agents:
          - human-ada
        requireHuman: true
      plan:
        description: May see the workflow and start it
        agents:
          - agent-plan
          - human-ada
      build:
        description: May see the workflow and start it
        agents:
          - agent-build
          - human-ada
    agents:
      agent-1: {}
      human-ada: {email: ada@x.example}
      agent-planner: {}
      agent-plan: {}
      agent-build: {}
    ");
    assert_eq!(env.git(&["status", "--porcelain"]), "?? feature.json\n");
    assert_snapshot!(env.git_plain(&["log", "-1", "--format=%s", "--name-status"]), @"
    Import the workflow feature from openagents

    M	org.yaml
    A	workflows/feature.yaml
    ");
    let _ = env.aof(&["workflow", "validate"]).success();
    let id = env.new_task(&["It begins", "--workflow", "feature"]);
    let _ = env.say(&id, "agent-planner", "complete", &[]).success();
    // Who imported it may start it, too.
    let begin = ["task", "new", "Another", "--workflow", "feature", "--agent"];
    let _ = env.aof(&[&begin[..], &["human-ada"]].concat()).success();
}

#[test]
fn roles_are_not_written_over_a_persons_edits_nor_into_invalid_rules() {
    let env = project();
    env.write("feature.json", FEATURE);
    env.write("org.yaml", ORG.replace("the only one", "for now"));
    let import = ["workflow", "import", "feature.json", "--with-roles"];
    let refused = env.aof(&import);
    assert_eq!(refused.code, Some(4), "{refused}");
    assert!(refused.stderr.contains("`org.yaml` has changes that are not committed"), "{refused}");
    assert!(!env.exists("workflows"));
    // A dry run shows both.
    env.git(&["checkout", "-q", "org.yaml"]);
    let shown = env.aof(&[&import[..], &["--dry-run"]].concat()).success();
    assert!(shown.stderr.contains("would be added to org.yaml:\nroles:\n  planner:"), "{shown}");
    assert_eq!(env.read("org.yaml"), ORG);
    // Two workflows have no default, so nothing could be committed.
    let env = TestEnvironment::with_rules("project: {name: X}\n", ORG);
    let one = FEATURE.replace("\"id\": \"feature\",", "");
    env.write("two.json", format!("{{\"workflows\": {{\"one\": {one}, \"two\": {one}}}}}"));
    let refused = env.aof(&["workflow", "import", "two.json", "--with-roles"]);
    assert_eq!(refused.code, Some(6), "{refused}");
    assert!(refused.stderr.contains("no_default_workflow"), "{refused}");
    assert!(!env.exists("workflows") && env.read("org.yaml") == ORG);
}

#[test]
fn roles_that_org_has_are_reported_with_their_agents_and_viewers_may_be_missing() {
    let env = project();
    env.write("feature.json", FEATURE);
    let output = env.aof(&["workflow", "import", "feature.json"]).success();
    for part in [
        "org.yaml has these roles already; its agents get the work: `coder` (`agent-1`)\n",
        "  plan:\n    description: \"May see the workflow and start it\"\n    agents: [agent-plan, human-ada]\n",
        "    agents: [human-ada]\n    requireHuman: true\n",
        "agents:\n  agent-planner: {}\n",
    ] {
        assert!(output.stdout.contains(part), "{part}\n{output}");
    }
    let env = project();
    env.write("feature.json", FEATURE);
    let json = env.aof(&["--json", "workflow", "import", "feature.json", "--dry-run"]).success();
    let known = &json.json()["knownRoles"];
    assert_eq!(known.to_string(), r#"[{"role":"coder","agents":["agent-1"]}]"#);
}

#[test]
fn keys_that_two_steps_write_and_long_values_are_warned_of() {
    let env = project();
    let steps = "id: x\ncontext: {notes: ''}\nsteps:\n  - {id: a, agent: coder, input: \"Reply with:\\nNOTES: x\\nSTORIES_JSON: y\"}\n  - {id: b, agent: coder, input: \"{{stories_json}}\\nReply with:\\nNOTES: x\"}\n  - {id: c, agent: coder, input: \"Read {{notes}}\"}\n";
    env.write("x.yml", steps);
    let output = env.aof(&["workflow", "import", "x.yml"]).success();
    let printed =
        "added      context.notes: `a`, `b` write it, and each replaces the other's value\n";
    assert!(output.stdout.contains(printed), "{output}");
    assert_snapshot!(output.stderr, @r#"
    warning[unknown_name]: `{{notes}}`: gates `a`, `b` hand on something of that name, and the latest counts
      --> workflows/x.yaml:33:33
       |
    33 |     brief: {instructions: "Read {{notes}}"}
       |                                 ^^^^^^^^^
       |
       = help: say which, as in `{{a.notes}}` or `{{b.notes}}`

    warning[large_value]: by its name, a value may be larger than 4096 bytes, and be refused: `a.stories_json`
      --> workflows/x.yaml:10:65
       |
    10 |     outputs: {type: object, properties: {notes: {type: string}, stories_json: {type: string}}}
       |                                                                 ^^^^^^^^^^^^
       |
       = help: set a limit as in `context: {maxBytes: 65536}`, or have the agent write a file and hand on its path
    "#);
    let validated = env.aof(&["workflow", "validate"]).success();
    assert!(
        validated.to_string().contains("gates `a`, `b` hand on something of that name"),
        "{validated}"
    );
}

#[test]
fn several_values_of_the_context_fit_into_one_argument() {
    let env = project();
    let id = env.new_task(&[
        "Several",
        "--context",
        "repo=a,branch=b=c",
        "--context",
        "note=x, y=z, w",
        "--context",
        "list=[1,k=2]",
    ]);
    let input = &env.aof(&["task", "show", &id, "--json"]).success().json()["context"]["input"];
    let expected =
        serde_json::json!({"repo": "a", "branch": "b=c", "note": "x, y=z, w", "list": "[1,k=2]"});
    assert_eq!(*input, expected);
}

/// Returns a project with the workflow of that file, and an agent for each role that answers with the text of its gate and visit.
fn driven(file: &str, text: &str, replies: &[(&str, &str)]) -> (TestEnvironment, String) {
    let env = TestEnvironment::with_rules("project: {name: X}\n", "roles: {}\n");
    env.write(file, text);
    let json = env.aof(&["--json", "workflow", "import", file, "--with-roles"]).success().json();
    let script = "count=$(cat \"$HOME/$AOF_GATE\" 2>/dev/null || echo 0); count=$((count + 1))\nmkdir -p \"$(dirname \"$HOME/$AOF_GATE\")\"; echo $count > \"$HOME/$AOF_GATE\"\ncat \"replies/$AOF_GATE.$count\" 2>/dev/null || cat \"replies/$AOF_GATE\"\n";
    env.write("agent.sh", script);
    for (gate, reply) in replies {
        env.write(&format!("replies/{gate}"), reply);
    }
    let run = "{run: {command: [sh, agent.sh], reads: text, attempts: 1, timeout: 30s}}";
    let agents = json["lackingRoles"].as_array().unwrap().iter();
    let agents = agents.filter(|need| need["people"] == false);
    let agents: String =
        agents.map(|need| format!("  agent-{}: {run}\n", need["role"].as_str().unwrap())).collect();
    env.write("org.yaml", format!("{}agents:\n{agents}", env.read("org.yaml")));
    env.commit_all("agents");
    let name = json["workflows"][0]["name"].as_str().unwrap();
    let output = env.aof(&["workflow", "run", name, "--input", "Do it"]);
    (env, output.to_string())
}

/// Returns the lines that tell how a run went.
fn ways(output: &str) -> String {
    let lines = output.lines().filter(|line| line.contains(" after ") && line.starts_with("AOF-"));
    // Branches may end in any order, and take their time.
    let lines = lines.filter(|line| !line.contains(": look/"));
    let way = |line: &str| {
        let (way, answer) = line.split_once(": ")?.1.split_once(" after ")?;
        Some(format!("{way}: {}", answer.split_once(": ")?.1))
    };
    lines.filter_map(way).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_preset_of_orbital_ends_with_the_text_of_the_last_review() {
    let file = "[workflow]\npreset = \"reviewed\"\n";
    let (_, output) = driven(
        "config.toml",
        file,
        &[
            ("implement", "I did what I could.\n"),
            ("address-review", "Fixed.\n"),
            ("review", "No:\n<gate>FAIL</gate>\n- the first fault\n"),
            ("review.3", "Still no:\n<gate>FAIL</gate>\n- the last fault\n"),
        ],
    );
    assert_snapshot!(ways(&output), @"
    implement → review: I did what I could.
    sent back to address-review: No:
    address-review → review: Fixed.
    sent back to address-review: No:
    address-review → review: Fixed.
    sent back to failed: Still no:
    ");
    assert!(
        output
            .contains("failed: Still no:\n  Still no:\n  <gate>FAIL</gate>\n  - the last fault\n"),
        "{output}"
    );
}

#[test]
fn a_loop_of_antfarm_visits_each_item_and_verifies_it() {
    let stories = "STATUS: done\nPLOT: north\nSTORIES_JSON: [\n  {\"id\": \"B1\", \"title\": \"Beans\"},\n  {\"id\": \"B2\", \"title\": \"Peas\"},\n  {\"id\": \"B3\", \"title\": \"Kale\"}\n]\n";
    let replies = [
        ("plan", stories),
        ("measure", "STATUS: done\nROPE: 9 m\n"),
        ("dig", "STATUS: done\nDEPTH: 20 cm\n"),
        ("look.2", "STATUS: retry\nISSUES:\n- Too shallow\n"),
        ("look", "STATUS: done\n"),
        ("water", "STATUS: done\n"),
    ];
    let text = include_str!("../../../fixtures/import/antfarm-loop.yml");
    let (env, output) = driven("beds.yml", text, &replies);
    assert_snapshot!(ways(&output), @"
    plan → measure: STATUS: done
    measure → dig: STATUS: done
    dig → look: STATUS: done
    look → dig: STATUS: done
    dig → look: STATUS: done
    sent back to dig: STATUS: retry
    dig → look: STATUS: done
    look → dig: STATUS: done
    dig → look: STATUS: done
    look → water: STATUS: done
    water → done: STATUS: done
    ");
    let digging = |line: &str| prompts(&env, line).concat();
    let first = digging("Label it B1 - Beans, in .");
    for part in ["BED: {\"id\":\"B1\"", "DUG: \n", "LAST TIME: \n", "with 9 m"] {
        assert!(first.contains(part), "{part}\n{first}");
    }
    let again = digging("Label it B2 - Peas, in .");
    for part in ["DUG: [{\"depth\":\"20 cm\"}]\n", "LAST TIME: - Too shallow\n", "item 2 of 3"] {
        assert!(again.contains(part), "{part}\n{again}");
    }
    assert!(prompts(&env, "Is {\"id\":\"B3\",\"title\":\"Kale\"} 20 cm deep?").len() == 1);
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn steps_of_orbital_are_repeated_until_the_verification_finds_nothing_open() {
    let replies = [
        ("red", "It fails.\n"),
        ("green", "It passes.\n"),
        ("refactor", "It is clear.\n"),
        ("review.1", "<gate>FAIL</gate>\n- a fault\n"),
        ("review", "<gate>PASS</gate>\n"),
        ("address-review", "Settled.\n"),
        ("verify.1", "One item is open.\nCOMPLETE: false\n"),
        ("verify.2", "All is well.\n"),
        ("verify", "Nothing is open.\nCOMPLETE: true\n"),
    ];
    let (env, output) = driven("config.toml", "[workflow]\npreset = \"tdd\"\n", &replies);
    assert_snapshot!(ways(&output), @"
    red → green: It fails.
    green → refactor: It passes.
    refactor → review: It is clear.
    sent back to address-review: <gate>FAIL</gate>
    address-review → review: Settled.
    review → verify: <gate>PASS</gate>
    verify → red: One item is open.
    red → green: It fails.
    green → refactor: It passes.
    refactor → review: It is clear.
    review → verify: <gate>PASS</gate>
    verify: failed: All is well.
    verify → done: Nothing is open.
    ");
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn results_of_openagents_steps_are_handed_on_as_they_were_printed() {
    let steps = r#"{"id": "both", "steps": [
        {"id": "look", "type": "parallel", "agents": ["left", "right"], "on_success": "tell"},
        {"id": "tell", "agent": "teller", "input": "look", "on_success": "end"}]}"#;
    let replies = [
        ("look/left", "Left:\nall well\n"),
        ("look/right", "Right is fine\n"),
        ("tell", "Told.\n"),
    ];
    let (env, output) = driven("both.json", steps, &replies);
    assert_snapshot!(ways(&output), @"tell → done: Told.");
    let runs = env.files(".aof/runs");
    let prompt =
        runs.iter().find(|name| name.contains("@2/") && name.ends_with("prompt.md")).unwrap();
    let result = "Work from the result of `look`:\n\nleft: Left:\nall well\nright: Right is fine\n";
    assert!(env.read(prompt).contains(result), "{}", env.read(prompt));
}

#[test]
fn replies_of_an_older_status_graph_take_the_edges_of_its_lists() {
    let graph = "\
name: listed
roles:
  planner: {goal: Plan, procedure: Plan it, frontmatter: {type: object, properties: {status: {type: string, enum: [ready, unclear]}}, required: [status]}}
  reviewer: {goal: Review, procedure: Look, frontmatter: {type: object, properties: {approved: {type: boolean}}, required: [approved]}}
conditions:
  unclear: {expression: \"$last('planner').status = 'unclear'\"}
  rejected: {expression: \"steps[-1].output.approved = false\"}
graph:
  $START: [{role: planner, condition: null, prompt: Begin}]
  planner: [{role: $END, condition: unclear}, {role: reviewer, condition: null, prompt: Review it}]
  reviewer: [{role: planner, condition: rejected, prompt: Plan anew}, {role: $END, condition: null}]
";
    let replies = [
        ("planner", "---\nstatus: ready\n---\nThe plan\n"),
        ("reviewer.1", "---\napproved: false\n---\nNot yet\n"),
        ("reviewer", "---\napproved: true\n---\nGood\n"),
    ];
    let (_, output) = driven("listed.yaml", graph, &replies);
    assert_snapshot!(ways(&output), @"
    planner → reviewer: The plan
    reviewer → planner: Not yet
    planner → reviewer: The plan
    reviewer → done: Good
    ");
}

#[test]
fn a_reply_with_just_the_key_that_is_expected_passes() {
    let steps = "id: tiers\nsteps:\n  - {id: rate, agent: rater, input: \"Rate it.\\nReply with:\\nTIER: 1 to 3\", expects: 'TIER:'}\n  - {id: ship, agent: shipper, input: \"Ship tier {{tier}}.\\nReply with:\\nSTATUS: done or skipped\", expects: 'STATUS:'}\n";
    let replies = [("rate", "TIER: 2\n"), ("ship", "STATUS: skipped\n")];
    let (_, output) = driven("tiers.yml", steps, &replies);
    assert_snapshot!(ways(&output), @"
    rate → ship: TIER: 2
    ship → done: STATUS: skipped
    ");
}

#[test]
fn a_reply_with_just_its_fields_passes_at_a_gate_with_one_exit() {
    let graph = "\
name: said
roles:
  writer: {goal: Write, procedure: Write it, frontmatter: {type: object, properties: {files: {type: array, items: {type: string}}}, required: [files]}}
  reader: {goal: Read, procedure: Read it, frontmatter: {properties: {$status: {const: read}}, required: [$status]}}
graph:
  $START: {_: {role: writer, prompt: Begin}}
  writer: {_: {role: reader, prompt: \"Read {{files}}, and: {{_body}}\"}}
  reader: {_: {role: $END}}
";
    let replies = [
        ("writer", "---\nfiles: [a.md, b.md]\n---\nTwo files.\nNo more.\n"),
        ("reader", "---\n$status: read\n---\nI did.\n"),
    ];
    let (env, output) = driven("said.yaml", graph, &replies);
    assert_snapshot!(ways(&output), @"
    writer → reader: Two files.
    reader: read → done: I did.
    ");
    let runs = env.files(".aof/runs");
    let prompt =
        runs.iter().find(|name| name.contains("@1/") && name.ends_with("prompt.md")).unwrap();
    let printed = "Read - a.md\n- b.md, and: Two files.\nNo more.";
    assert!(env.read(prompt).contains(printed), "{}", env.read(prompt));
}

#[test]
fn a_branch_with_a_failing_program_takes_the_error_route() {
    let steps = r#"{"id": "tests", "steps": [
        {"id": "look", "type": "parallel", "agents": ["left", "right"], "on_success": "end", "on_error": "mend"},
        {"id": "mend", "agent": "mender", "on_success": "end"}]}"#;
    let (_, output) = driven(
        "tests.json",
        steps,
        &[("look/left", "Well.\n"), ("look/right.2", "Well now.\n"), ("mend", "Mended.\n")],
    );
    assert_snapshot!(ways(&output), @"mend → look: Mended.");
    assert!(output.contains(": complete, 5 visits"), "{output}");
}

/// Returns the prompts of all runs whose text has that line, the oldest first.
fn prompts(env: &TestEnvironment, line: &str) -> Vec<String> {
    let mut names = env.files(".aof/runs");
    names.retain(|name| name.ends_with("prompt.md"));
    names.sort();
    let texts = names.iter().map(|name| env.read(name));
    texts.filter(|text| text.lines().any(|own| own.trim() == line)).collect()
}

#[test]
fn a_line_inside_a_value_is_not_a_line_of_the_reply() {
    let steps = "\
id: pr
steps:
  - {id: respond, agent: dev, input: \"Answer it.\\nReply with:\\nSTATUS: done\\nFEEDBACK: what changed\\nBRANCH: its name\", expects: 'STATUS: done'}
  - {id: verify, agent: checker, input: \"Check {{branch}}:\\n{{feedback}}\\nReply with:\\nSTATUS: done\", expects: 'STATUS: done', on_fail: {retry_step: respond}}
";
    let respond = "STATUS: done\nBRANCH: fix\nFEEDBACK: |\n  - branch: rename the variable in src/git.rs\n  - status: must be 404 when missing\n";
    let retry = "STATUS: retry\nISSUES:\n- The script ends before it prints the line that the README promises:\n  STATUS: done\n";
    let replies = [("respond", respond), ("verify.1", retry), ("verify", "STATUS: done\n")];
    let (env, output) = driven("pr.yml", steps, &replies);
    assert_snapshot!(ways(&output), @"
    respond → verify: STATUS: done
    sent back to respond: STATUS: retry
    respond → verify: STATUS: done
    verify → done: STATUS: done
    ");
    let printed = "Check fix:\n- branch: rename the variable in src/git.rs\n- status: must be 404 when missing\n";
    let checks = prompts(&env, "Check fix:");
    assert!(!checks.is_empty() && checks.iter().all(|text| text.contains(printed)), "{checks:?}");
}

#[test]
fn a_role_of_a_status_graph_keeps_its_agent_when_a_loop_leads_back() {
    let graph = "\
name: talk
roles:
  speaker: {goal: You speak, procedure: Speak up, output: Say what you argue, frontmatter: {properties: {status: {enum: [continue, conceded]}, argument: {type: string}}, required: [status, argument]}}
  judge: {goal: You judge, procedure: Judge it, frontmatter: {properties: {$status: {enum: [again, well]}}, required: [$status]}}
  scribe: {procedure: Note it, frontmatter: {properties: {$status: {enum: [_]}, note: {type: string}}, required: [$status, note]}}
graph:
  $START: {_: {role: speaker, prompt: Begin}}
  speaker: {continue: {role: judge, prompt: \"Judge {{argument}}\"}, conceded: {role: scribe, prompt: End it}}
  judge: {again: {role: speaker, prompt: Once more}, well: {role: $END}}
  scribe: {_: {role: $END, prompt: bye}}
";
    let replies = [
        ("speaker.1", "---\nstatus: continue\nargument: a\n---\nI say a.\n"),
        ("judge", "---\n$status: again\n---\nNot enough.\n"),
        ("speaker", "---\n$status: conceded\nargument: b\n---\nI give up.\n"),
        ("scribe", "---\n$status: _\nnote: n\n---\nNoted.\n"),
    ];
    let (env, output) = driven("talk.yaml", graph, &replies);
    assert_snapshot!(ways(&output), @"
    speaker: continue → judge: I say a.
    judge: again → speaker: Not enough.
    speaker: conceded → scribe: I give up.
    scribe → done: Noted.
    ");
    let printed = prompts(&env, "Once more");
    assert_eq!(printed.len(), 1, "{printed:?}");
    for part in ["You speak", "Say what you argue", "Speak up"] {
        assert!(printed[0].contains(part), "{part}\n{}", printed[0]);
    }
    assert!(!printed[0].contains("Begin\n"), "{}", printed[0]);
}

#[test]
fn the_report_lists_differences_from_the_source() {
    let env = project();
    let report = |file: &str, text: &str| {
        env.write(file, text);
        env.aof(&["workflow", "import", file, "--dry-run"]).to_string()
    };
    let preset = report("config.toml", "[workflow]\npreset = \"spec-driven\"\n");
    for part in [
        "workflow.preset: its steps; their words are aof's own",
        "Carry out the next open item of {{files}}",
    ] {
        assert!(preset.contains(part), "{part}\n{preset}");
    }
    let graph = "roles: {w: {goal: x, frontmatter: {properties: {$status: {enum: [stuck, done]}, why: {type: string}}}}}\ngraph:\n  $START: {_: {role: w}}\n  w: {stuck: {role: $SUSPEND, prompt: \"Help: {{ why }}\"}, done: $END}\n";
    let output = report("w.yaml", graph);
    assert!(
        output.contains("the person who unblocks the task reads the reply's first line"),
        "{output}"
    );
    let steps = "id: x\nsteps:\n  - {id: a, agent: b, input: c, max_retries: -3}\n";
    let output = report("x.yml", steps);
    assert!(
        output.contains("`steps.a.max_retries` must not be negative, and this is `-3`"),
        "{output}"
    );
}

#[test]
fn a_reply_of_antfarm_needs_each_key_of_a_list_and_keys_reach_their_readers() {
    let steps = "\
id: keys
context: {review_notes: ''}
steps:
  - {id: plan, agent: dev, input: \"Plan {{task}}. Say STATUS and REPO, then BRANCH.\", expects: \"STATUS: done, REPO, BRANCH\", max_retries: 1}
  - {id: review, agent: dev, input: \"## Result\\nREPO: {{repo}}\\nWrite REVIEW_NOTES as AGENTS.md says.\", expects: [\"VERDICT:\", SCORE]}
  - {id: merge, agent: dev, input: \"in {{repo}} on {{branch}}: {{review_notes}}, {{score}}\\n<<{{ steps.review.summary }}>>\", expects: DONE}
";
    let review = format!("{}\n\nVERDICT: fine\nREVIEW_NOTES: good\nSCORE: 7\n", "é".repeat(900));
    let replies = [
        ("plan.1", "STATUS: done\nREPO: /srv/app\n"),
        ("plan", "STATUS: done\nREPO: /srv/app\nBRANCH: main\n"),
        ("review", review.as_str()),
        ("merge", "DONE\n"),
    ];
    let (env, output) = driven("keys.yml", steps, &replies);
    assert_snapshot!(ways(&output), @"
    plan → review: STATUS: done
    review → merge: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé
    merge → done: DONE
    ");
    let printed = prompts(&env, "in /srv/app on main: good, 7");
    assert_eq!(printed.len(), 1, "{output}");
    let begin = review.chars().take(800).collect::<String>();
    assert!(printed[0].contains(&format!("<<{begin}>>")), "{}", printed[0]);
}

#[test]
fn a_step_that_waits_for_a_person_is_a_gate_for_people() {
    let env = project();
    let steps = "id: ask\nsteps:\n  - {id: spec, agent: dev, input: Write, expects: DONE}\n  - {id: ok, agent: dev, gate: true}\n  - {id: code, agent: dev, gate: false, input: Code, expects: DONE}\n";
    env.write("ask.yml", steps);
    let output = env.aof(&["workflow", "import", "ask.yml", "--with-roles"]).success();
    assert!(output.stdout.contains("steps.ok.gate"), "{output}");
    let text = env.read("workflows/ask.yaml");
    assert_eq!(text.matches("requireHuman: true").count(), 1, "{text}");
    assert!(text.contains("role: ok\n") && text.matches("role: dev\n").count() == 2, "{text}");
    // Their "no" leads where the source has it, as often as there.
    let back =
        "gate: true, agent: dev, on_fail: {retry_step: spec, max_retries: 2, escalate_to: boss}";
    env.write("back.yml", steps.replace("agent: dev, gate: true", back));
    let output = env.aof(&["workflow", "import", "back.yml", "--name", "back", "--with-roles"]);
    let text = env.read("workflows/back.yaml");
    let gate = text.split("\n\n").find(|gate| gate.contains("id: ok")).unwrap();
    assert_snapshot!(gate, @"
      - id: ok
        role: ok
        canReject: true
        requireHuman: true
        routes:
          needs_review: spec
        maxRetries: 2
        onExhausted: {escalateTo: boss}
    ");
    assert!(
        output.success().stdout.contains("dropped    steps.ok.agent: the step waits"),
        "{text}"
    );
    let decisions =
        "gate: true, decision_key: GO, on_decision: {ship: code, again: {retry_step: spec}}";
    env.write("lost.yml", steps.replace("gate: true", decisions));
    let _ = env.aof(&["workflow", "import", "lost.yml", "--name", "decide", "--with-roles"]);
    let text = env.read("workflows/decide.yaml");
    assert!(text.contains("ship: code\n      again: spec\n"), "{text}");
    assert!(!text.contains("key: GO"), "{text}");
    let escalated = "gate: true, on_fail: {escalate_to: boss}";
    env.write("lost.yml", steps.replace("gate: true", escalated));
    let lost = env.aof(&["workflow", "import", "lost.yml", "--name", "lost"]).code(6);
    assert!(lost.stderr.contains("steps.ok.on_fail.escalate_to"), "{lost}");
    // What a person's decision would do is not left out in silence.
    env.write("lost.yml", steps.replace("gate: true", "gate: true, on_gate: {approve: code}"));
    let lost = env.aof(&["workflow", "import", "lost.yml", "--name", "lost"]).code(6);
    assert!(lost.stderr.contains("on_gate"), "{lost}");
    for expects in ["\"regex:^STATUS: (done|ok)$\"", "\"STATUS: done, RESULT: ok\""] {
        env.write("lost.yml", steps.replacen("DONE", expects, 1));
        let lost = env.aof(&["workflow", "import", "lost.yml", "--name", "lost"]).code(6);
        assert!(lost.stderr.contains("steps.spec.expects"), "{lost}");
    }
    let taken =
        ["workflow", "import", "lost.yml", "--name", "lost", "--accept-losses", "--dry-run"];
    let _ = env.aof(&taken).success();
}

#[test]
fn a_loop_of_a_status_graph_is_limited_at_the_rejecting_gate() {
    let env = project();
    let is_endless = |file: &str| {
        env.write("r.yaml", file);
        let output = env.aof(&["workflow", "import", "r.yaml", "--dry-run"]).success();
        output.stdout.contains("maxRetries: 100000")
    };
    for (forward, back, expected) in [
        ("ok", "declined", false),
        ("approved", "send_back", false),
        ("lgtm", "nope", false),
        ("all_done", "insufficient", false),
        ("merge", "needs_work", false),
        ("done", "next_chapter", true),
        ("ok", "continue", true),
        ("conceded", "speak", true),
    ] {
        let graph = format!(
            "\
name: review
roles:
  dev: {{goal: x}}
  rev: {{goal: x, frontmatter: {{properties: {{$status: {{enum: [{forward}, {back}]}}}}}}}}
graph:
  $START: {{_: {{role: dev}}}}
  dev: {{_: {{role: rev}}}}
  rev: {{{forward}: {{role: $END}}, {back}: {{role: dev}}}}
"
        );
        assert_eq!(is_endless(&graph), expected, "{forward} {back}");
    }
    // A role that leads to itself goes on.
    let batches = "name: batches\nroles: {tri: {goal: x, frontmatter: {properties: {$status: {enum: [has_issues, all_done]}}}}}\ngraph: {$START: {_: {role: tri}}, tri: {has_issues: {role: tri}, all_done: {role: $END}}}\n";
    assert!(is_endless(batches));
    for (condition, expected) in [
        ("$count(steps[role='writer']) < 6", true),
        ("$last('writer').more = true and $count(steps[role='writer']) < 6", true),
        ("$last('writer').bad = true or $count(steps[role='writer']) < 6", false),
        ("steps[-1].output.bad = true", false),
    ] {
        let shape = "{type: object, properties: {more: {type: boolean}, bad: {type: boolean}}}";
        let graph = format!(
            "\
name: novel
roles:
  writer: {{description: W, systemPrompt: Write., outputSchema: {shape}}}
  editor: {{description: E, systemPrompt: Edit., outputSchema: {shape}}}
conditions: {{again: {{expression: \"{condition}\"}}}}
graph:
  $START: [{{role: writer}}]
  writer: [{{role: writer, condition: again}}, {{role: editor}}]
  editor: [{{role: $END}}]
"
        );
        assert_eq!(is_endless(&graph), expected, "{condition}");
    }
}

#[test]
fn text_given_to_a_step_under_a_heading_is_not_its_output() {
    let env = project();
    env.write(
        "loop.yml",
        "\
id: loop
context: {repo: /srv/app}
steps:
  - {id: plan, agent: dev, expects: DONE, input: \"TASK:\\n{{task}}\\n\\nNOTES SO FAR:\\n\\n{{notes}}\\n\\nReply with:\\nSTORIES_JSON: [...]\"}
  - {id: build, agent: dev, expects: DONE, type: loop, loop: {over: stories}, input: \"PROGRESS LOG:\\n{{progress}}\\nStay in the REPO {{ repo }}, run RUN_ID.\\nCURRENT_STORY {{current_story}} {{run_id}}\"}
",
    );
    let output = env.aof(&["workflow", "import", "loop.yml", "--with-roles"]).success();
    let text = env.read("workflows/loop.yaml");
    for part in ["progress-{{task.id}}.txt", "CURRENT_STORY {{item}} {{task.id}}"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(text.matches("properties:").count(), 1, "{text}");
    assert!(text.contains("properties: {stories_json: {type: array}}"), "{text}");
    assert!(output.stdout.contains("context.input.notes: nobody says this key"), "{output}");
}

#[test]
fn keys_that_ask_for_a_person_are_not_dropped() {
    let env = project();
    let antfarm = "id: ask\nsteps: [{id: ship, agent: dev, input: Ship it, expects: DONE, KEY}]\n";
    let openagents = "steps: [{id: ship, agent: dev, on_success: end, KEY}]\n";
    let gates = "workflow: {name: ask, gates: [{id: ship, role: dev, KEY}]}\n";
    for (key, code) in [
        ("requires_approval: true", 6),
        ("approvers: [ada]", 6),
        ("wait_for_human: always", 6),
        ("manual: true", 6),
        ("confirm: ask", 6),
        ("signOff: ada", 6),
        ("sign_off: ada", 6),
        ("manual: false", 0),
        ("confirm: no", 0),
    ] {
        for file in [antfarm, openagents, gates] {
            env.write("ask.yml", file.replace("KEY", key));
            let output = env.aof(&["workflow", "import", "ask.yml", "--dry-run"]).code(code);
            let name = key.split(':').next().unwrap();
            assert!(output.stderr.contains(&format!(".ship.{name}: ")), "{key}: {output}");
        }
    }
}

#[test]
fn outputs_of_a_step_come_from_that_step() {
    let env = project();
    env.write(
        "taste.yml",
        "\
id: taste
steps:
  - {id: cook, agent: dev, input: As you know, decision_key: VERDICT, on_decision: {good: {next_step: serve, pass_outputs: [taste_notes]}}}
  - {id: serve, agent: dev, input: \"Say {{taste_notes}} and {{thanks}}\", expects: DONE, pass_outputs: [THANKS]}
",
    );
    let _ = env.aof(&["workflow", "import", "taste.yml", "--with-roles"]).success();
    let text = env.read("workflows/taste.yaml");
    assert!(text.contains("taste_notes: {type: string}"), "{text}");
    assert!(text.contains("properties: {thanks: {type: string}}"), "{text}");
}

#[test]
fn texts_with_a_question_mark_are_in_quotes_inside_brackets() {
    let env = project();
    env.write(
        "ask.json",
        r#"{"id": "ask", "steps": [
            {"id": "a", "agent": "dev", "input": "Go on?", "on_success": "b"},
            {"id": "b", "type": "approval", "message": "Good? Then yes", "on_approve": "end", "on_reject": "end"}
        ]}"#,
    );
    let _ = env.aof(&["workflow", "import", "ask.json", "--with-roles"]).success();
    let text = env.read("workflows/ask.yaml");
    assert!(text.contains("\"Good? Then yes\"}"), "{text}");
    let bare = |line: &str| line.contains('?') && line.contains('{') && !line.contains('"');
    assert!(!text.lines().any(bare), "{text}");
}

#[test]
fn statuses_that_are_words_of_ours_are_said_as_before_and_progress_has_no_limit() {
    let graph = "\
name: batch
roles:
  dev: {systemPrompt: You write in verse., frontmatter: {oneOf: [{properties: {$status: {const: complete}}}, {properties: {$status: {const: failed}, reason: {type: string}}}, {properties: {$status: {const: go on}, left: {type: string}}}]}}
  fix: {procedure: Fix it, frontmatter: {properties: {$status: {enum: [done, needs_fix]}, note: {type: string}}}}
graph:
  $START: {_: {role: dev, prompt: go}}
  dev: {go on: {role: dev, prompt: 'left {{left}}'}, failed: {role: fix, prompt: 'why {{reason}}'}, complete: {role: fix}}
  fix: {done: {role: $END}, needs_fix: {role: dev}}
";
    let again = "---\n$status: go on\nleft: some\n---\nMore.\n";
    let replies = [
        ("dev.1", again),
        ("dev.2", again),
        ("dev.3", again),
        ("dev.4", again),
        ("dev.5", again),
        ("dev.6", "---\n$status: failed\nreason: no disk\n---\nTried.\n"),
        ("fix.1", "---\n$status: needs_fix\nnote: n-1\n---\nNo.\n"),
        ("dev", "---\n$status: complete\n---\nWell.\n"),
        ("fix", "---\n$status: done\nnote: n-2\n---\nYes.\n"),
    ];
    let (env, output) = driven("batch.yaml", graph, &replies);
    assert_snapshot!(ways(&output), @"
    dev: go-on: More.
    dev: go-on: More.
    dev: go-on: More.
    dev: go-on: More.
    dev: go-on: More.
    dev: has failed → fix: Tried.
    fix: needs fix → dev: No.
    dev: completed → fix: Well.
    fix: done → done: Yes.
    ");
    assert_snapshot!(env.read("workflows/batch.yaml"), @r#"
    name: batch
    gates:
      - id: dev
        role: dev
        signal: {status: true, missing: blocked, words: {go on: go-on, failed: has_failed, complete: completed}}
        routes:
          go-on: {to: dev, prompt: "left {{left}}"}
          has_failed: {to: fix, prompt: "why {{reason}}"}
          completed: {to: fix, prompt: "{{dev}}"}
        maxRetries: 100000
        outputs:
          oneOf:
            - {properties: {$status: {const: go-on}, left: {type: string}}, required: [$status]}
            - {properties: {$status: {const: has_failed}, reason: {type: string}}, required: [$status]}
            - {properties: {$status: {const: completed}}, required: [$status]}
        brief:
          instructions: |
            go

            You write in verse.
          reentry: {instructions: You write in verse.}

      - id: fix
        role: fix
        signal: {status: true, missing: blocked}
        routes:
          done: $end
          needs_fix: {to: dev, prompt: "{{fix}}"}
        maxRetries: 100000
        outputs:
          oneOf:
            - {properties: {$status: {const: done}, note: {type: string}}, required: [$status]}
            - {properties: {$status: {const: needs_fix}, note: {type: string}}, required: [$status]}
        brief: {instructions: Fix it}
    "#);
    assert_eq!(prompts(&env, "why no disk").len(), 1, "{output}");
    let verse = prompts(&env, "You write in verse.");
    assert_eq!(verse.len(), 7, "{output}");
    assert!(verse[6].contains("n-1"), "{}", verse[6]);
}
