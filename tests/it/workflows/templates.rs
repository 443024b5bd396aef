//! The templates: each is valid, each can be walked to its end on every way, and each is written as a person asked for it.

use aof::domain::Severity;
use aof::files::config::configuration::{Source, load};
use aof::rules::Rules;
use aof::rules::prover::{MOST_STATES, ProofVerdict, prove_workflow};
use aof::setup::template::Founder;
use aof::setup::template::Template;
use insta::assert_snapshot;

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;
use crate::support::workflow_walker::walk;

fn rules(template: Template) -> Rules {
    let files = template.files("Garden", &Founder::new("Ada", "ada@garden.example"));
    let source =
        |name: &str, text: String| Source { name: name.to_owned(), bytes: text.into_bytes() };
    let configuration =
        load(&[source("project.yaml", files.project), source("org.yaml", files.org)]).unwrap();
    let (rules, findings) = Rules::new(configuration.project, configuration.org).unwrap();
    let worse: Vec<_> =
        findings.iter().filter(|finding| finding.severity > Severity::Note).collect();
    assert!(worse.is_empty(), "{template}: {worse:#?}");
    rules
}

#[test]
fn every_template_can_end_and_keeps_its_two_promises() {
    for template in Template::ALL {
        let rules = rules(*template);
        let report = prove_workflow(&rules, &rules.project.workflows[0], MOST_STATES);
        assert_eq!(report.alarms, [], "{template}");
        let promises = report.promises.iter().map(|promise| promise.verdict);
        let verdicts: Vec<_> = [report.ends, report.alive].into_iter().chain(promises).collect();
        assert_eq!(verdicts, [ProofVerdict::Proved; 4], "{template}: {:?}", report.promises);
    }
}

#[test]
fn every_way_through_every_template_is_gone_and_ends() {
    for template in Template::ALL {
        let rules = in_two_rounds(*template);
        walk(&rules, &rules.project.workflows[0]);
    }
}

/// Returns the rules of a template whose rounds end after two.
fn in_two_rounds(template: Template) -> Rules {
    let mut rules = rules(template);
    for repeat in rules.project.workflows.iter_mut().filter_map(|own| own.repeat.as_mut()) {
        repeat.max = 2;
    }
    rules
}

#[test]
fn a_template_is_the_same_workflow_as_a_file_and_as_a_project() {
    for template in Template::ALL {
        let mut own = template.workflow();
        let project = rules(*template).project.workflows.remove(0);
        (own.name, own.description) = (project.name.clone(), project.description.clone());
        assert_eq!(own, project, "{template}");
        assert!(template.workflow_file().lines().all(|line| line.len() <= 120), "{template}");
    }
}

#[test]
fn a_hard_review_is_answered_by_a_detour_and_looked_at_again() {
    for template in [
        Template::Fast,
        Template::Reviewed,
        Template::Tdd,
        Template::SpecDriven,
        Template::Autonomous,
    ] {
        let rules = in_two_rounds(template);
        let taken = walk(&rules, &rules.project.workflows[0]).taken;
        let led = |gate: &str, outcome: &str| -> Vec<String> {
            let of = taken.iter().filter(|(at, answer, _)| at == gate && answer == outcome);
            of.map(|(_, _, to)| to.clone()).filter(|to| to != "$fail").collect()
        };
        assert_eq!(led("review", "needs_review"), ["address-review"], "{template}");
        assert_eq!(led("address-review", "complete"), ["review"], "{template}");
        assert_eq!(led("review", "complete"), ["verify"], "{template}");
        let repeats = rules.project.workflows[0].repeat.is_some();
        let first = rules.project.workflows[0].gates[0].id.to_string();
        assert_eq!(led("verify", "complete").contains(&first), repeats, "{template}");
        let ending =
            taken.iter().filter(|(_, _, to)| to == "$end").map(|(gate, _, _)| gate.as_str());
        assert!(
            ending.clone().all(|gate| gate == "verify"),
            "{template} ends at {:?}",
            ending.collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_brief_for_a_decision_names_its_limits() {
    let mut env = TestEnvironment::without_repository();
    let _ = env.aof(&["init", "garden", "--template", "reviewed"]).success();
    env.enter("garden");
    let id = env.new_task(&["Add login"]);
    for (agent, outcome) in [("agent-dev-1", "complete"), ("agent-review-1", "needs_review")] {
        let words: &[&str] = if outcome == "complete" { &[] } else { &["--blocker", "No test"] };
        let _ = env.say(&id, agent, outcome, words).success();
    }
    let brief = env.aof(&["task", "brief", &id]).success().stdout;
    assert!(brief.contains("Build nothing new") && brief.contains("No test"), "{brief}");
    assert!(brief.contains(" --agent agent-dev-"), "{brief}");
}

#[test]
fn another_try_at_code_begins_with_a_clean_git_state() {
    let mut env = TestEnvironment::without_repository();
    let _ = env.aof(&["init", "garden", "--template", "sdlc"]).success();
    env.enter("garden");
    let id = env.new_task(&["Add login"]);
    let printed = || {
        let brief = env.aof(&["brief", &id]).success().stdout;
        brief.contains("Begin with a clean git state")
    };
    assert!(!printed(), "the first try has nothing to look for");
    let _ = env.say(&id, "agent-dev-1", "complete", &[]).success();
    let _ = env.say(&id, "agent-review-1", "needs_review", &["--blocker", "No test"]).success();
    assert!(printed());
    let of_code = Template::ALL
        .iter()
        .filter(|template| template.workflow_file().contains("Begin with a clean git state"));
    assert_eq!(of_code.count(), 11);
}

#[test]
fn a_project_begins_with_each() {
    for template in Template::ALL {
        let mut env = TestEnvironment::without_repository();
        let _ = env.aof(&["init", "garden", "--template", template.as_str()]).success();
        env.enter("garden");
        let valid = env.aof(&["workflow", "validate"]).success();
        assert!(!valid.stdout.contains("warning"), "{template}: {valid}");
        // What the first task tells a person to type works.
        let body = env.read(&env.files("tasks")[0]).replace("\\\n", "");
        let line = body.lines().find(|line| line.trim().starts_with("aof complete")).unwrap();
        let mut shell = env.command("sh");
        shell.args(["-c", line]).env("AOF_AGENT", "agent-1");
        let _ = env.run(shell).success();
        assert_eq!(env.git(&["status", "--porcelain"]), "", "{template}");
    }
}

#[test]
fn a_workflow_is_begun_in_a_file_and_a_commit_of_its_own() {
    let env = TestEnvironment::with_rules(
        "workflow: {gates: [{id: work, role: worker}]}\n",
        "roles:\n  worker: {agents: [agent-1]}\n  reviewer: {agents: [agent-2]}\n",
    );
    env.write("staged.txt", "staged\n");
    env.git(&["add", "staged.txt"]);
    assert_snapshot!(env.aof(&["workflow", "create", "care", "--template", "basic", "--dry-run"]), @r#"
    exit 0
    --- stdout
    # yaml-language-server: $schema=../.aof/schema/workflow.json

    description: "Work, then a review that can send it back"
    gates:
      # First somebody does the work. `role` says who may: the roles are in org.yaml.
      - id: work
        role: worker
        description: Do what the task asks for

      # Then somebody else looks at it. `canReject` lets them send the task back to
      # the first gate, with a list of what must be fixed.
      - id: review
        role: reviewer
        canReject: true
        description: Check that the work does what the task asks for

    # More that a gate can have, when you need it:
    #   when: "tags.includes('urgent')"   the gate is only for tasks with this tag
    #   requireHuman: true                only people may complete it
    #   timeout: 4h                       after this long at the gate ...
    #   escalateTo: lead                  ... the task goes to this role
    #   lease: 30m                        a claim that is not renewed for so long ends
    --- stderr
    dry run: nothing was written; `workflows/care.yaml` could be committed
    "#);
    assert!(!env.exists("workflows/care.yaml"));
    assert_snapshot!(env.aof(&["workflow", "create", "care", "--template", "basic"]), @r#"
    exit 0
    --- stdout
    began `care` from the template `basic`: workflows/care.yaml, commit COMMIT

    try next:
      aof workflow graph care                 see the routes that a task can take
      aof new "..." --workflow care           create a task that follows it
      aof workflow prove care                 see that each task can come to an end

    The template keeps these promises. To have them proved, add to project.yaml:

    promises:
      - name: Nothing ends without a review
        workflow: care
        always: "!ended || passed('review')"
      - name: The latest work is what was reviewed
        workflow: care
        always: "!ended || before('work', 'review')"
    "#);
    assert_snapshot!(env.git_plain(&["show", "--stat", "--format=%an: %s%n%b"]), @"
    Ada: Begin workflow care: the basic process


     workflows/care.yaml | 22 ++++++++++++++++++++++
     1 file changed, 22 insertions(+)
    ");
    assert_eq!(env.git(&["diff", "--cached", "--name-only"]), "staged.txt\n");
    assert_snapshot!(env.aof(&["workflow", "list"]), @"
    exit 0
    --- stdout
    NAME     DEFAULT  GATES           DESCRIPTION
    default  yes      work
    care              work -> review  Work, then a review that can send it back
    ");
    assert_snapshot!(env.aof(&["task", "new", "Water the roses", "--workflow", "care"]), @"
    exit 0
    --- stdout
    AOF-xxxxx: created, tasks/AOF-xxxxx.md
      now at work, ready for agent-1
    ");
    assert_snapshot!(env.aof(&["workflow", "create", "care", "--template", "sdlc"]), @"
    exit 4
    --- stderr
    error: there is a workflow `care` already: `workflows/care.yaml`

    hint: choose another name; a workflow that is there is changed in its file, and by committing that
    ");
    env.git(&["reset", "--quiet", "staged.txt"]);
    std::fs::remove_file(env.path("staged.txt")).unwrap();
    check(&env);
}

#[test]
fn gaps_of_org_yaml_are_named_and_nothing_invalid_is_committed() {
    let env = TestEnvironment::with_rules(
        "workflow: {gates: [{id: work, role: developer}]}\n",
        "roles:\n  developer: {agents: [agent-1]}\nagents: {agent-1: {}, human-ada: {email: ada@example.org}}\n",
    );
    let head = env.head();
    assert_snapshot!(env.aof(&["workflow", "create", "feature", "--template", "feature-development"]), @r#"
    exit 0
    --- stderr
    wrote workflows/feature.yaml, and did not commit it: org.yaml lacks the roles `planner`, `owner`, `tester`, `reviewer`, `lead`

    add to `roles` in org.yaml, with agents of yours:

      planner:
        description: Says what will be done, and how
        agents: [agent-plan-1]
      owner:
        description: Accepts the result
        agents: [human-ada]
        # Only people may act in this role, whatever a gate says.
        requireHuman: true
      tester:
        description: Tries out what was built
        agents: [agent-test-1]
      reviewer:
        description: Looks for what is wrong with the work
        agents: [agent-review-1]
      lead:
        description: Is asked when nobody else can go on
        agents: [human-ada]

    and to `agents`:

      agent-plan-1:
      agent-review-1:
      agent-test-1:

    then commit both: `git add org.yaml workflows/feature.yaml && git commit -m "Begin workflow feature" -- org.yaml workflows/feature.yaml`
    "#);
    assert_eq!(env.head(), head);
    let output =
        env.aof(&["workflow", "create", "feature", "--template", "basic", "--json"]).code(4).json();
    assert_eq!(output["error"], "workflow_exists");
    let output = env
        .aof(&["workflow", "create", "two", "--template", "bug-fix", "--dry-run", "--json"])
        .success()
        .json();
    assert_eq!(output["lacking"]["roles"][0]["role"], "researcher");
    assert_eq!(
        output["lacking"]["agents"],
        serde_json::json!(["agent-research-1", "agent-test-1"])
    );
    // What was said is enough.
    env.write(
        "org.yaml",
        "\
roles:
  developer: {agents: [agent-1]}
  planner: {agents: [agent-1]}
  owner: {agents: [human-ada], requireHuman: true}
  tester: {agents: [agent-1]}
  reviewer: {agents: [agent-1]}
  lead: {agents: [human-ada]}
",
    );
    env.commit_all("workflow feature");
    let _ = env.aof(&["workflow", "show", "feature"]).success();
    // A second workflow beside one that nothing makes the default would leave it open which is.
    let env = TestEnvironment::with_rules(
        "",
        "roles:\n  worker: {agents: [agent-1]}\n  reviewer: {agents: [agent-2]}\n",
    );
    let _ = env.aof(&["workflow", "create", "first", "--template", "basic"]).success();
    assert_snapshot!(env.aof(&["workflow", "create", "second", "--template", "basic"]), @"
    exit 6
    --- stderr
    error: the configuration is invalid

    error[no_default_workflow]: none of the 2 workflows is the default
     --> workflows/first.yaml:1:1
      |
    1 | # yaml-language-server: $schema=../.aof/schema/workflow.json
      | ^
      |
      = help: add `defaultWorkflow: first` to project.yaml, or name another of `first`, `second`
    ");
    assert!(!env.exists("workflows/second.yaml"));
}

#[test]
fn the_templates_are_listed() {
    let env = TestEnvironment::without_repository();
    assert_snapshot!(env.aof(&["workflow", "create", "--list"]), @"
    exit 0
    --- stdout
    basic                Work, then a review that can send it back
    sdlc                 Software, from the first line to a person's approval
    sales                A sale, from the first contact to the signature
    publishing           A text, from the draft to its readers
    compound             Think, plan, work, review, and keep what was learned for the next time
    feature-development  A feature: a plan that a person accepts, code, tests, review, release
    bug-fix              A bug: find the cause, fix it, prove it
    comprehensive-test   All kinds of tests at the same time, and a report
    refactor             A change of form: looked into, accepted by a person, made, and checked from three sides at once
    deploy               A release: check it, have it approved, roll it out, watch it, and roll it back if need be
    solve-issue          An issue: five roles, ten ways out
    fast                 All of the work in one go, a hard review, a check
    reviewed             Work in small steps, a hard review, a check
    tdd                  Rounds of a failing test, the code, a hard review and a check, until nothing is missing
    spec-driven          Rounds of a specification that is agreed upon, the work, a hard review, and a check against it
    autonomous           No people: one point a round, a hard review, a check, until nothing is open; it fails rather than wait
    ");
    let list = env.aof(&["workflow", "create", "--list", "--json"]).success().json();
    assert_eq!(list["templates"].as_array().unwrap().len(), Template::ALL.len());
    let _ = env.aof(&["workflow", "create"]).code(2);
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/guides/workflows.md"))
            .unwrap();
    for template in Template::ALL {
        assert!(
            page.contains(&format!("`{template}`")),
            "docs/guides/workflows.md does not name the template `{template}`"
        );
    }
}

/// Killed anywhere, the next command that writes finds either a workflow or none, and another try makes it.
#[cfg(debug_assertions)]
#[test]
fn a_beginning_that_was_killed_is_no_half_a_workflow() {
    for point in aof::system::crash_points::POINTS {
        let org = "roles:\n  worker: {agents: [agent-1]}\n  reviewer: {agents: [agent-2]}\n";
        let env =
            TestEnvironment::with_rules("workflow: {gates: [{id: work, role: worker}]}\n", org);
        let mut command = env.aof_command(&["workflow", "create", "care", "--template", "basic"]);
        command.env("AOF_STOP_AT", point);
        let killed = env.run(command);
        let id = env.new_task(&["Something else"]);
        let listed = env.aof(&["workflow", "list"]).success();
        let _ = env.complete(&id, "agent-1");
        let made = listed.stdout.contains("care");
        assert_eq!(made, env.exists("workflows/care.yaml"), "{point}: {killed}\n{listed}");
        let again = env.aof(&["workflow", "create", "care", "--template", "basic"]);
        assert_eq!(again.code, Some(if made { 4 } else { 0 }), "{point}: {again}");
        assert_eq!(
            env.git(&["log", "--format=%s", "--", "workflows"]),
            "Begin workflow care: the basic process\n"
        );
        check(&env);
    }
}

#[test]
fn settings_that_a_clone_needs_beside_the_commit_are_named() {
    let env = TestEnvironment::without_rules();
    let help = env.aof(&["init", "--help"]).success().stdout;
    assert!(help.contains("pre-merge-commit") && help.contains("aof init --remove"), "{help}");
    let files = |value: &serde_json::Value| {
        let name = |key: &str| {
            value["setUp"][key].as_str().map(|path| path.split("/.git/").last().unwrap().to_owned())
        };
        (name("mergeDriver"), name("hook"))
    };
    let both = (Some("config".to_owned()), Some("hooks/pre-commit".to_owned()));
    assert_eq!(files(&env.aof(&["init", "--dry-run", "--json"]).success().json()), both);
    for args in [&["init", "--dry-run"][..], &["init"]] {
        let answer = env.aof(args).success().stdout;
        let line =
            "  .git/, .gitattributes   merge tasks by their meaning (undo: aof init --remove)\n";
        assert!(answer.contains(line), "{answer}");
    }
    // They are there, and go again as it was said.
    assert!(
        env.git(&["config", "merge.aof.driver"]).contains("aof merge-driver")
            && env.exists(".git/hooks/pre-merge-commit")
    );
    env.git(&["config", "--remove-section", "merge.aof"]);
    assert_eq!(env.try_git(&["config", "merge.aof.driver"]).code, Some(1));
    // A person's hook is not named: it is left alone.
    let other = TestEnvironment::without_rules();
    for name in ["pre-commit", "pre-merge-commit"] {
        other.write(&format!(".git/hooks/{name}"), "#!/bin/sh\n");
    }
    let value = other.aof(&["init", "--json"]).success().json();
    assert_eq!(files(&value), (Some("config".to_owned()), None), "{value}");
    assert_eq!(other.read(".git/hooks/pre-commit"), "#!/bin/sh\n");
}

#[test]
fn setup_in_a_linked_worktree_names_the_written_files() {
    let env = TestEnvironment::without_rules();
    env.write("code.txt", "one\n");
    env.commit_all("code");
    // There `.git` is a file, also where the worktree lies inside of the first one.
    for (folder, branch) in [("../linked", "one"), ("linked", "two")] {
        env.git(&["worktree", "add", "--quiet", "-b", branch, folder]);
        let answer = env.aof(&["-C", folder, "init"]).success().stdout;
        assert!(answer.contains("  $PROJECT/.git/, .gitattributes  merge tasks"), "{answer}");
        env.git(&["config", "--remove-section", "merge.aof"]);
        std::fs::remove_file(env.path(".git/hooks/pre-commit")).unwrap();
    }
    // From a folder of the first one it is the `.git` that one sees.
    let answer = env.aof(&["init", "code/project"]).success().stdout;
    assert!(answer.contains("  .git/, .gitattributes   merge"), "{answer}");
}

#[test]
fn attributes_under_edit_are_left_alone_and_named() {
    let env = TestEnvironment::without_rules();
    env.write(".gitattributes", "*.png binary\n");
    env.commit_all("attributes");
    env.write(".gitattributes", "*.jpg binary\n");
    for args in [&["init", "--dry-run"][..], &["init"]] {
        let answer = env.aof(args).success().stdout;
        assert!(
            answer.contains(
                "  .gitattributes          left alone: commit its changes, then `aof doctor --fix`"
            ),
            "{answer}"
        );
        assert!(!answer.contains("merge tasks by their meaning"), "{answer}");
    }
    assert_eq!(env.read(".gitattributes"), "*.jpg binary\n");
    let doctor = env.aof(&["doctor"]).code(1).stdout;
    assert!(
        doctor.contains("commit them, or take them back") && !doctor.contains("mends"),
        "{doctor}"
    );
    env.commit_all("attributes");
    let _ = env.aof(&["doctor", "--fix"]).success();
    assert!(env.read(".gitattributes").contains("merge=aof"));
}
