//! Task files in forms that would not be read as they are meant, and files that only look like tasks.

use insta::assert_snapshot;
use serde_json::json;

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;
use crate::support::mcp_client::{McpClient, WITH_BOSS, WITH_PERSON};

/// Returns the lines of the frontmatter of each form, and what is said of it.
const FORMS: &[(&str, &str)] = &[
    ("tags: api, security", ":3:7: `api, security` is read as one tag"),
    ("tags: api security", ":3:7: `api security` is read as one tag"),
    ("tags: [a, 'api;security']", ":3:11: `api;security` is read as one tag"),
    ("tags:\n  - \"#security\"", ":4:5: `#security` is read as one tag"),
    ("priority: High", ":3:11: `High` is no priority"),
    ("priority: P0", ":3:11: `P0` is no priority"),
    ("priority: 1", ":3:11: `1` is no priority"),
    ("metadata: {priority: urgent}", ":3:22: `urgent` is no priority"),
    ("metadata:\n  hotfix: yes", ":4:11: `hotfix: yes` is read as a text"),
    ("Tags: [security]", ":3:1: the key `Tags` is not read"),
    ("tag: security", ":3:1: the key `tag` is not read"),
    ("tags:\nTAGS: [security]", ":4:1: the key `TAGS` is not read"),
    ("tags: []\ntag: security", ":4:1: the key `tag` is not read"),
    ("labels: [security]", ":3:1: the key `labels` is not read"),
    ("depends_on: [AOF-abc]", ":3:1: the key `depends_on` is not read"),
    ("workflow: careful", ":3:1: the key `workflow` is not read"),
    ("work_flow: careful", ":3:1: the key `work_flow` is not read"),
    ("tags: #api #security", ":3:6: `#api #security` is a comment"),
    ("tags: api #security", ":3:7: `#security` is a comment"),
    ("tags:\n  -security", ":4:3: `-security` is read as one tag"),
    ("priority: #high", ":3:10: `#high` is a comment"),
    ("milestone: sprint #4", ":3:12: `#4` is a comment"),
    ("metadata:\n  a: {hotfix: yes}", ":4:15: `hotfix: yes` is read as a text"),
    ("metadata:\n  a:\n    - on", ":5:7: `a: on` is read as a text"),
    ("context:\n  input: {hotfix: no}", ":4:19: `hotfix: no` is read as a text"),
    (
        "links: https://a.example, https://b.example",
        ":3:8: `https://a.example, https://b.example` is read as one link",
    ),
];

fn form(at: usize) -> String {
    format!("AOF-form{}", char::from_digit(u32::try_from(at).unwrap(), 36).unwrap())
}

#[test]
fn a_hand_made_file_that_would_be_misread_waits() {
    let env = TestEnvironment::new();
    for (at, (lines, _)) in FORMS.iter().enumerate() {
        env.write(&format!("tasks/{}.md", form(at)), format!("---\ntitle: x\n{lines}\n---\n"));
    }
    let before = env.head();
    let status = env.aof(&["status", "--json"]);
    let doctor = env.aof(&["doctor", "--json"]);
    for (at, (lines, printed)) in FORMS.iter().enumerate() {
        let id = form(at);
        let refused = env
            .aof(&[
                "complete",
                &id,
                "--agent",
                "agent-7",
                "--outcome",
                "complete",
                "--summary",
                "ok",
            ])
            .code(5);
        for output in [&refused, &status, &doctor] {
            assert!(
                format!("{output}").contains(&format!("tasks/AOF-xxxxx.md{printed}")),
                "{lines}: {output}"
            );
        }
    }
    let _ = env.aof(&["watch", "--once"]);
    assert_eq!(env.head(), before, "nothing is adopted");
    // That a person has committed it makes no difference.
    env.commit_all("tasks, by hand");
    let refused = env.aof(&[
        "complete",
        "AOF-form0",
        "--agent",
        "agent-7",
        "--outcome",
        "complete",
        "--summary",
        "ok",
    ]);
    assert!(refused.code(5).stderr.contains("is read as one tag"));
    // Written as it is meant, it is.
    env.write("tasks/AOF-form0.md", "---\ntitle: x\ntags: [api, security]\n---\n");
    let _ = env.complete("AOF-form0", "agent-7");
    // A NUL is reported.
    env.write("tasks/AOF-nul.md", "---\ntitle: x\n---\nbefore \0 after\n");
    for agent in ["agent-7", "agent-3"] {
        let status = env.aof(&["status"]).success();
        assert!(status.stdout.contains(": a NUL character"), "{status}");
        let _ = env.complete("AOF-nul", agent);
    }
}

#[test]
fn forms_that_are_read_as_they_are_meant_are_fine() {
    let env = TestEnvironment::new();
    let text = "---\ntitle: x, y#2 # later\ntags: [two words, ä, '2024']\npriority: high\nmetadata: {priority: P1, size: 3, hotfix: \"yes\", urgent: true}\nlinks: docs/a file.md\nmilestone: a, b\nTagsOfMine: 1\ndue: #\nassignee: # who plans it\nlabels: x\ncustomer: yes\n---\n- a, b\n";
    env.write("tasks/AOF-fine.md", text);
    env.write("tasks/AOF-word.md", "---\ntitle: x\ntags: security\n---\n");
    let _ = env.complete("AOF-fine", "agent-7");
    let _ = env.complete("AOF-word", "agent-7");
    check(&env);
}

#[test]
fn a_found_edit_that_would_be_misread_waits_and_a_committed_one_is_reported() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Login", "--tag", "api"]);
    let path = env.task_path(&id);
    let written = env.task_text(&id);
    let edited = written.replace("tags:\n  - api\n", "tags: api, security\n");
    assert_ne!(edited, written);
    env.write(&path, &edited);
    let before = env.head();
    let refused = env
        .aof(&["complete", &id, "--agent", "agent-7", "--outcome", "complete", "--summary", "ok"])
        .code(5);
    assert!(
        refused.stderr.contains("`api, security` is read as one tag")
            && refused.stderr.contains("write `tags: [api, security]`"),
        "{refused}"
    );
    let _ = env.aof(&["watch", "--once"]);
    assert_eq!(env.head(), before, "the edit is not committed");
    let status = env.aof(&["status"]).stdout;
    assert_eq!(status.matches("`api, security` is read as one tag").count(), 1, "{status}");

    // What a person commits keeps its reading, and is reported.
    env.commit_all("tags");
    let _ = env.complete(&id, "agent-7");
    for view in ["status", "doctor"] {
        let output = env.aof(&[view]);
        assert!(output.stdout.contains("`api, security` is read as one tag"), "{output}");
    }
    // Other edits of it are taken.
    env.edit(&path, "title: Login", "title: Log in");
    let _ = env.aof(&["watch", "--once"]).success();
    assert!(env.git(&["show", &format!("HEAD:{path}")]).contains("title: Log in"));
    check(&env);
}

#[test]
fn the_doors_refuse_values_that_would_be_misread() {
    let env = TestEnvironment::with_rules(WITH_PERSON, WITH_BOSS);
    let id = env.new_task(&["Login"]);
    let before = env.head();
    for words in [
        &["new", "x", "--tag", "a, b"][..],
        &["new", "x", "--tag", "#a"],
        &["new", "x", "--meta", "priority=High"],
        &["edit", &id, "--tag", "a,b"],
        &["edit", &id, "--meta", "priority=P2"],
    ] {
        let refused = env.aof(&[words, &["--json"]].concat()).code(4);
        assert_eq!(refused.json()["error"], "misread_form", "{words:?}: {refused}");
    }
    env.write("list.json", r#"[{"title": "One"}, {"title": "Two", "tags": ["a; b"]}]"#);
    let refused = env.aof(&["new", "--from", "list.json"]).code(4);
    assert_snapshot!(refused.stderr, @"
    error: `a; b` is read as one tag of that name

    hint: write `tags: [a, b]`
    ");
    let mut worker = McpClient::of(&env, "agent-7");
    worker.call("aof_task_next", json!({}));
    let held = env.head();
    let output = worker.refused("aof_task_create", json!({"title": "x", "tags": ["a, b", "c"]}));
    assert_eq!(output["error"], "misread_form");
    assert_eq!(
        output["nextCall"]["arguments"],
        json!({"title": "x", "tags": ["a", "b", "c"]}),
        "{output}"
    );
    assert_eq!(env.head(), held);
    assert_ne!(held, before);
    worker.follow(&output);
    drop(worker);
    // Git's hook, for a person's own commit.
    env.write("tasks/AOF-own.md", "---\ntitle: x\ntags: a, b\n---\n");
    env.git(&["add", "tasks"]);
    let hook = env.aof(&["merge-driver", "--check-staged"]).code(1);
    assert!(hook.stderr.contains("not read as it is meant in tasks/AOF-"), "{hook}");
}

#[test]
fn a_nul_is_refused_at_the_doors() {
    let env = TestEnvironment::with_rules(WITH_PERSON, WITH_BOSS);
    let id = env.new_task(&["Login"]);
    let before = env.head();
    let refused = env.aof_reading(&["comment", &id, "-m", "-", "--json"], b"a\0b").code(4);
    assert_eq!(refused.json()["error"], "nul_byte", "{refused}");
    let _ = env.aof_reading(&["new", "x", "--body", "-"], b"a\0b").code(4);
    let _ = env.aof_reading(&["new", "--from", "-"], br#"[{"title": "a\u0000b"}]"#).code(4);
    env.write("result.md", "a\0b");
    let words = ["complete", &id, "--agent", "agent-7", "--outcome", "complete", "--summary", "s"];
    let _ = env.aof(&[&words[..], &["--file", "result.md"]].concat()).code(4);
    assert_eq!(env.head(), before);
    let mut worker = McpClient::of(&env, "agent-7");
    worker.call("aof_task_next", json!({}));
    let held = env.head();
    for (tool, arguments) in [
        ("aof_task_comment", json!({"text": "a\u{0}b"})),
        ("aof_task_create", json!({"title": "a", "description": "a\u{0}b"})),
        ("aof_task_complete", json!({"outcome": "complete", "summary": "a\u{0}b"})),
        (
            "aof_task_complete",
            json!({"outcome": "blocked", "summary": "a", "blockers": ["a\u{0}b"]}),
        ),
        (
            "aof_task_complete",
            json!({"outcome": "complete", "summary": "a", "metadata": {"k": ["a\u{0}b"]}}),
        ),
    ] {
        assert_eq!(worker.refused(tool, arguments)["error"], "nul_byte");
    }
    assert_eq!(env.head(), held);
    drop(worker);
    env.write(
        ".aof/inbox/one.json",
        format!(r#"{{"task": "{id}", "agent": "agent-7", "outcome": "complete", "summary": "a\u0000b"}}"#),
    );
    let _ = env.aof(&["watch", "--once"]);
    assert!(env.read(".aof/refused/one.json.reason.json").contains("nul_byte"));
    assert_eq!(env.head(), held);
    check(&env);
}

#[test]
fn copies_that_sync_programs_make_are_reported_and_not_archived() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Login"]);
    let copies = [
        " (conflicted copy).md",
        " (Ada's conflicted copy 2026-11-27).md",
        ".sync-conflict-20261127-101112-ABCDEFG.md",
        " (1).md",
        " 2.md",
        " - Copy.md",
        ".plan.sync-conflict-20261127-101112-ABCDEFG.md",
        ".data (conflicted copy 2026-11-27).yaml",
    ];
    env.write(&format!("tasks/{id}.plan.md"), "a plan\n");
    env.commit_all("plan");
    for copy in copies {
        env.write(&format!("tasks/{id}{copy}"), "---\ntitle: Login, again\n---\n");
    }
    let status = env.aof(&["status", "--json"]);
    for copy in copies {
        assert!(status.stdout.contains(&format!("tasks/AOF-xxxxx{copy}")), "{copy}: {status}");
    }
    assert!(status.stdout.contains("it is a copy of a file of"), "{status}");
    let _ = env.complete(&id, "agent-7");
    let _ = env.complete(&id, "agent-3");
    assert!(env.task_path(&id).contains("archive"));
    assert!(!env.exists(&format!("tasks/{id}.plan.md")), "a companion goes along");
    for copy in copies {
        assert!(env.exists(&format!("tasks/{id}{copy}")), "{copy} stays");
    }
    assert!(!env.git(&["ls-files"]).contains("opy"));
}

#[test]
fn a_file_under_a_finished_task_s_id_is_reported_with_advice_that_works() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Login"]);
    let _ = env.complete(&id, "agent-7");
    let _ = env.complete(&id, "agent-3");
    let archived = env.git(&["ls-files", "tasks/archive/**.md"]).trim().to_owned();
    let path = env.hand_made(&id, "Again");
    let made_by_hand = env.read(&path);
    let copy = env.read(&archived);
    let edited = format!("{copy}\nMore.\n");
    for (text, is_copy) in [(copy, true), (edited, false), (made_by_hand, false)] {
        env.write(&path, text);
        let status = env.aof(&["status", "--json"]).json();
        let issues = status["attention"].as_array().unwrap().iter();
        let issues: Vec<_> = issues.filter(|issue| issue["code"] != "no_watcher").collect();
        assert_eq!(
            issues.iter().map(|issue| issue["code"].as_str().unwrap()).collect::<Vec<_>>(),
            ["task_doubled"],
            "{status}"
        );
        let fix = issues[0]["fix"].as_str().unwrap();
        if is_copy {
            assert!(fix.contains("`aof doctor --fix` removes it"), "{status}");
        } else {
            assert!(fix.contains("mv tasks/AOF-xxxxx.md tasks/NEW-ID.md"), "{status}");
            assert!(fix.contains("aof reopen AOF-xxxxx --to GATE -m WHY"), "{status}");
        }
        let doctor = env.aof(&["doctor"]).stdout;
        assert!(doctor.contains("has 2 files") && !doctor.contains("watch --once"), "{doctor}");
    }
    std::fs::rename(env.path(&path), env.path("tasks/AOF-again.md")).unwrap();
    let _ = env.aof(&["watch", "--once"]).success();
    let _ = env.complete("AOF-again", "agent-7");
    check(&env);
}

#[test]
fn a_hint_restores_only_files_of_head() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Login"]);
    let path = env.task_path(&id);
    env.write("tasks/AOF-templ.md", "---\ntitle: x\ncreated: {{date}}\n---\n");
    env.write(&path, env.task_text(&id).replace("title: Login", "title: {{title}}"));
    let completed = |id: &str| {
        env.aof(&["complete", id, "--agent", "agent-7", "--outcome", "complete", "--summary", "s"])
            .code(6)
    };
    for output in [completed("AOF-templ"), env.aof(&["show", "AOF-templ"])] {
        assert!(!format!("{output}").contains("git restore"), "{output}");
        assert!(format!("{output}").contains("rm tasks/AOF-xxxxx.md"), "{output}");
    }
    for output in [completed(&id), env.aof(&["show", &id])] {
        assert!(
            format!("{output}").contains("git restore --source=HEAD tasks/AOF-xxxxx.md"),
            "{output}"
        );
    }
    let status = env.aof(&["status"]);
    assert_eq!(status.stdout.matches("git restore").count(), 1, "{status}");
}

#[test]
fn the_time_of_creation_of_a_hand_made_file_is_kept() {
    let env = TestEnvironment::new();
    for (id, written, kept) in [
        ("AOF-day", "2025-03-04", "2025-03-04T00:00:00Z"),
        ("AOF-zone", "2025-03-04T10:00:00+02:00", "2025-03-04T08:00:00Z"),
        ("AOF-past", "\"2025-03-04T10:00:00Z\" # by hand", "2025-03-04T10:00:00Z"),
        ("AOF-time", "2025-03-04 10:30", "2025-03-04T10:30:00Z"),
        ("AOF-civil", "2025-03-04T10:30:15", "2025-03-04T10:30:15Z"),
        // A task is not created after it is adopted.
        ("AOF-next", "2099-01-01 10:00", "2026-02-16T10:00:00Z"),
    ] {
        env.write(&format!("tasks/{id}.md"), format!("---\ntitle: x\ncreated: {written}\n---\n"));
        if id == "AOF-time" {
            env.commit_all("a task, by a person");
        }
        let _ = env.complete(id, "agent-7");
        let created = &env.aof(&["show", id, "--json"]).success().json()["created"];
        let time = |text: &str| text.parse::<jiff::Timestamp>().ok();
        let created = created.as_str().unwrap();
        let is_kept =
            time(created) == time(kept) || id == "AOF-next" && created.starts_with("2026-02-16T");
        assert!(is_kept, "{id}: {created}");
    }
    check(&env);
}
