//! Looking: lists, tasks, histories; nothing that is broken hides the rest, and nothing that is read is changed.

use insta::assert_snapshot;

use crate::cli::web::Board;
use crate::support::checker::check;
use crate::support::environment::TestEnvironment;

/// A project in which much has gone well, and something has not.
fn project() -> TestEnvironment {
    let env = TestEnvironment::new();
    for (id, title) in [("AOF-aaa", "Add login"), ("AOF-bbb", "Tidy up"), ("AOF-ccc", "Fix it")] {
        env.hand_made(id, title);
        let _ = env.complete(id, "agent-7");
    }
    let _ = env
        .say("AOF-bbb", "agent-3", "needs_review", &["--blocker", "The cellar is still untidy"])
        .success();
    let _ = env.complete("AOF-ccc", "agent-3");
    env
}

#[test]
fn one_unreadable_task_never_hides_the_others() {
    let env = project();
    env.write("tasks/AOF-bad.md", "---\ntitle: [\n---\n");
    assert_snapshot!(env.aof(&["task", "list"]), @"
    exit 6
    --- stdout
    ID       TITLE      GATE       STATUS  WHO        AGE
    AOF-aaa  Add login  review     ready   architect  now
    AOF-bbb  Tidy up    implement  ready   backend    now
    --- stderr
    error: `tasks/AOF-bad.md:2:8` cannot be read as a task: not valid YAML: unclosed bracket '['
    `-v` shows all of them, with details
    ");
    let listed = env.aof(&["task", "list", "--json"]).code(6).json();
    let ids: Vec<&str> = listed["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["AOF-aaa", "AOF-bbb"]);
    for args in [
        &["status"][..],
        &["gate", "status"],
        &["task", "show", "AOF-aaa"],
        &["task", "history", "AOF-aaa"],
    ] {
        let output = env.aof(args);
        assert!(!output.stdout.is_empty(), "{args:?}: {output}");
    }
    let _ = env.aof(&["task", "next", "--agent", "agent-3"]).success();
}

#[test]
fn reading_changes_nothing_and_needs_no_right_to_write() {
    let env = project();
    let everything = || (env.files("tasks"), env.files(".git"), env.head());
    let was = everything();
    for args in [
        &["task", "list", "--all"][..],
        &["task", "show", "AOF-aaa"],
        &["task", "history", "AOF-bbb"],
        &["task", "brief", "AOF-bbb"],
        &["why", "AOF-bbb"],
        &["status"],
        &["gate", "status"],
        &["stats"],
        &["workflow", "list"],
        &["workflow", "show"],
        &["workflow", "graph"],
        &["workflow", "validate"],
        &["org", "show"],
        &["org", "validate"],
    ] {
        let output = env.aof(args).success();
        assert!(!output.stdout.is_empty(), "{args:?}");
        let json = env.aof(&[args, &["--json"]].concat()).success().json();
        assert_eq!(json["jsonVersion"], 1, "{args:?}");
    }
    assert_eq!(everything(), was);
    check(&env);
}

#[test]
fn while_git_is_busy_reading_goes_on() {
    let env = project();
    env.git(&["checkout", "--quiet", "--detach"]);
    env.write(".git/index.lock", "");
    for args in [
        &["task", "list"][..],
        &["task", "show", "AOF-aaa"],
        &["task", "history", "AOF-aaa"],
        &["status"],
    ] {
        let _ = env.aof(args).success();
    }
}

#[test]
fn text_of_agents_cannot_control_the_terminal() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["\u{1b}[31mAdd\u{7} login\u{202e}", "--tag", "\u{1b}[32mtag\u{202e}"]);
    let _ = env
        .say(
            &id,
            "agent-7",
            "blocked",
            &["--blocker", "\u{1b}]0;owned\u{7}", "--notes", "\u{9b}31m"],
        )
        .success();
    for args in [
        &["task", "list"][..],
        &["task", "show", &id],
        &["task", "history", &id],
        &["task", "brief", &id],
        &["why", &id],
        &["status"],
        &["stats"],
        &["stats", "--by", "tag"],
    ] {
        let output = env.aof(args);
        let bad = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202a}'..='\u{202e}');
        assert!(
            !output.stdout.contains(bad) && !output.stderr.contains(bad),
            "{args:?}: {:?}",
            output.stdout
        );
    }
}

#[test]
fn a_history_reads_like_a_story() {
    let env = project();
    assert_snapshot!(env.aof(&["task", "history", "AOF-bbb"]), @"
    exit 0
    --- stdout
    AOF-bbb  Tidy up

    Today
      10:00           created
      10:00  agent-7  implement → review         Did it                                            0 s
      10:00  agent-3  sent back to implement     Did it                                            2 s
                                                 - The cellar is still untidy
      now             at implement, second time                                                    2 s

    By gate: implement 2 s, review 2 s. Sent back once.
    ");
}

#[test]
fn a_frozen_task_is_shown_as_frozen_with_the_way_back() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    env.edit(&env.task_path(&id), "current: implement", "current: review");

    let output = env.aof(&["task", "show", &id]).success();
    assert!(output.stderr.contains("changed by hand in what the engine keeps: gate"), "{output}");
    assert_eq!(env.aof(&["--json", "task", "show", &id]).success().json()["frozen"][0], "gate");

    let refused = env.say(&id, "agent-3", "complete", &[]).code(5);
    let hint = refused.stderr.split("hint: ").nth(1).unwrap().replace("AOF-xxxxx", &id);
    let commands: Vec<&str> = hint.split('`').skip(1).step_by(2).collect();
    let restore = commands.iter().find(|command| command.starts_with("git restore")).unwrap();
    env.git(&restore.strip_prefix("git ").unwrap().split(' ').collect::<Vec<_>>());
    let step = commands.iter().find(|command| command.starts_with("aof override")).unwrap();
    let step = step.replace("GATE", "review").replace("\"...\"", "why");
    let _ = env.aof(&step.split(' ').skip(1).collect::<Vec<_>>()).success();
}

#[test]
fn advice_on_an_unreadable_file_works() {
    let env = TestEnvironment::new();
    let fix = |env: &TestEnvironment| {
        let status = env.aof(&["--json", "status"]).success().json();
        let points = status["attention"].as_array().unwrap();
        let point = points
            .iter()
            .find(|point| point["code"] == "unreadable_task")
            .expect("it cannot be read");
        point["fix"].as_str().unwrap().to_owned()
    };
    env.write("tasks/AOF-open.md", "---\ntitle: x\n");
    assert_eq!(
        fix(&env),
        "add a line that is exactly `---` after the last key; fix it there; HEAD does not have it, so if it is no task, \
         `rm tasks/AOF-open.md` removes it"
    );
    env.write("tasks/AOF-open.md", "---\ntitle: x\n---\n");
    let _ = env.aof(&["watch", "--once"]).success();
    assert!(env.git(&["log", "-p", "--", "tasks/AOF-open.md"]).contains("title: x"));
}

#[test]
fn a_readme_among_the_tasks_is_no_broken_task() {
    let env = TestEnvironment::new();
    env.write("tasks/README.md", "What we work on.\n");
    let _ = env.aof(&["task", "list"]).success();
    let status = env.aof(&["status"]).success();
    assert!(!status.stdout.contains("README"), "{status}");
}

#[test]
fn an_edit_is_examined_without_its_author() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    env.edit(&env.task_path(&id), "title: Add login", "title: Add a login");
    std::fs::write(env.home().join(".gitconfig"), "").unwrap();

    let _ = env.aof(&["why", &id]).success();
    let status = env.aof(&["status"]).success();
    assert!(status.stdout.contains("1 edit of a task is not committed"), "{status}");
    let output = env.say(&id, "agent-7", "complete", &[]).code(1);
    assert!(output.stderr.contains("git does not know who you are"), "{output}");
}

#[test]
fn a_comment_is_in_the_next_brief_once() {
    let env = TestEnvironment::with_rules(
        "workflow: {gates: [{id: implement, role: backend}, {id: review, role: architect, canReject: true}]}\n",
        "roles: {backend: {agents: [agent-7]}, architect: {agents: [human-ada]}}\n\
         agents: {agent-7: {}, human-ada: {email: ada@example.org}}\n",
    );
    let id = env.new_task(&["Add login"]);
    let _ = env.say(&id, "agent-7", "blocked", &["--blocker", "Which blue?"]).success();
    let _ = env.aof(&["task", "unblock", &id, "--reason", "The dark blue"]).success();
    let brief =
        |more: &[&str]| env.aof(&[&["task", "brief", &id][..], more].concat()).success().stdout;
    let once = |text: &str, what: &str| assert_eq!(text.matches(what).count(), 1, "{text}");
    for format in ["text", "markdown", "json"] {
        once(&brief(&["--format", format]), "The dark blue");
    }
    let shown = env.aof(&["task", "show", &id]).success().stdout;
    once(&shown, "The dark blue");
    let next = env.aof(&["task", "next", "--agent", "agent-7"]).success().stdout;
    once(&next, ": The dark blue");

    let _ = env.complete(&format!("{id}@1"), "agent-7");
    let words =
        ["--blocker", "Contrast is 3:1", "--notes", "See WCAG", "--summary", "Nearly there"];
    let args = ["task", "complete", &id, "--agent", "human-ada", "--outcome", "needs_review"];
    let _ = env.aof(&[&args[..], &words].concat()).success();
    for format in ["text", "markdown", "json"] {
        let text = brief(&["--format", format]);
        for words in ["Contrast is 3:1", "See WCAG", "Nearly there"] {
            once(&text, words);
        }
        assert!(!text.contains("The dark blue"), "{text}");
    }

    let _ = env.complete(&format!("{id}@3"), "agent-7");
    let _ = env.say(&id, "human-ada", "complete", &[]).success();
    let reason = "The tests are red";
    let _ = env.aof(&["task", "reopen", &id, "--to", "implement", "--reason", reason]).success();
    once(&brief(&[]), "ago: The tests are red");
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn an_escalated_visit_shows_its_origin_time_and_reason() {
    let env = TestEnvironment::with_rules(
        "workflow: {gates: [{id: review, role: architect, timeout: 1h, escalateTo: lead}]}\n",
        "roles: {architect: {agents: [agent-3]}, lead: {agents: [agent-9]}}\n",
    );
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["task", "next", "--agent", "agent-3"]).success();
    env.pass_minutes(61);
    let why = env.aof(&["why", &id]).success().stdout;
    assert!(!why.contains("has time until") && why.contains("ended on Feb 16, 11:00"), "{why}");
    assert_snapshot!(env.aof(&["sweep"]), @"
    exit 0
    --- stdout
    AOF-xxxxx: timed out at review, which agent-3 had; it is lead's now
    ");
    let status = env.aof(&["gate", "status", "--json"]).success().json();
    let row = &status["gates"][0];
    assert_eq!((row["escalated"].as_u64(), row["overdue"].as_u64()), (Some(1), Some(0)), "{row}");
    let status = env.aof(&["gate", "status"]).success().stdout;
    assert!(status.contains("ESCALATED") && !status.contains("OVERDUE"), "{status}");
    assert_snapshot!(env.aof(&["task", "show", &id]), @"
    exit 0
    --- stdout
    AOF-xxxxx  Add login
    review  lead just now

    Escalated  to lead from agent-3, now: Timed out after 1h
    File       tasks/AOF-xxxxx.md

    review: timeout  > review
    ");
    let escalated = "escalated to role `lead` at 2026-02-16T11:01:07Z from `agent-3` (role architect): Timed out after 1h";
    let next = env.aof(&["task", "next", "--agent", "agent-9"]).success().stdout;
    assert!(next.contains(escalated), "{next}");
    let brief = env.aof(&["task", "brief", &id, "--json"]).success().json();
    assert_snapshot!(brief["escalated"], @"{\"role\":\"lead\",\"from\":\"agent-3\",\"fromRole\":\"architect\",\"since\":\"2026-02-16T11:01:07Z\",\"why\":\"Timed out after 1h\"}");
    let shown = env.aof(&["task", "show", &id, "--json"]).success().json();
    assert_eq!(shown["escalated"], brief["escalated"]);
}

#[test]
fn an_overdue_visit_counts_as_a_timeout_for_good() {
    let env = TestEnvironment::with_rules(
        "workflow: {gates: [{id: implement, role: backend, timeout: 1h}, {id: review, role: architect}]}\n",
        crate::support::environment::ORG,
    );
    let id = env.new_task(&["Add login"]);
    env.pass_minutes(61);
    let _ = env.aof(&["sweep"]).success();
    let counted = || {
        let text = env.aof(&["metrics"]).success().stdout;
        let line = text
            .lines()
            .find(|line| line.starts_with("aof_gate_timeouts_total") && line.contains("implement"));
        line.and_then(|line| line.rsplit(' ').next()).map(str::to_owned)
    };
    assert_eq!(counted().as_deref(), Some("1"));
    let status = env.aof(&["gate", "status", "--json"]).success().json();
    assert_eq!(status["gates"][0]["overdue"].as_u64(), Some(1), "{status}");
    let _ = env.say(&id, "agent-7", "blocked", &["--blocker", "No API"]).success();
    let _ = env.aof(&["task", "unblock", &id]).success();
    assert_eq!(counted().as_deref(), Some("1"));
    let _ = env.complete(&format!("{id}@1"), "agent-7");
    assert_eq!(counted().as_deref(), Some("1"));
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn links_to_pull_requests_have_their_names() {
    let env = TestEnvironment::new();
    let links = [
        "https://github.com/acme/shop/pull/12/files?w=1#top",
        "https://gitlab.com/acme/web/shop/-/merge_requests/3",
        "https://codeberg.org/acme/shop/issues/7",
        "https://example.org/design/12",
        "javascript:alert(1)/x/pull/1",
    ];
    let args: Vec<&str> =
        ["Add login"].into_iter().chain(links.iter().flat_map(|link| ["--link", link])).collect();
    let id = env.new_task(&args);
    let shown = env.aof(&["show", &id]).success().stdout;
    let shown: Vec<&str> = shown.lines().filter(|line| line.contains('/')).collect();
    assert_snapshot!(shown.join("\n"), @"
    Link  PR acme/shop#12  https://github.com/acme/shop/pull/12/files?w=1#top
          MR acme/web/shop!3  https://gitlab.com/acme/web/shop/-/merge_requests/3
          acme/shop#7  https://codeberg.org/acme/shop/issues/7
          https://example.org/design/12
          javascript:alert(1)/x/pull/1
    File  tasks/AOF-xxxxx.md
    ");
    let board = Board::start(&env, &[]);
    let page = board.get(&format!("/project/tasks/{id}")).body;
    assert!(page.contains(&format!("href=\"{}\">PR acme/shop#12</a>", links[0])), "{page}");
    assert!(page.contains(&format!("href=\"{}\">MR acme/web/shop!3</a>", links[1])), "{page}");
    assert!(!page.contains("href=\"javascript:"), "{page}");
}
