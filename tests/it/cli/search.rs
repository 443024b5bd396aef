//! Search: what is found, in which order, and that its index is never the truth.

use serde_json::Value;

use crate::support::environment::{Output, TestEnvironment};
use crate::support::terminal::Seat;

/// Runs a command long after the files were written, so that what it reads is kept.
fn later(env: &TestEnvironment, args: &[&str]) -> Output {
    let mut command = env.aof_command(args);
    command.env("AOF_NOW", "2099-01-01T00:00:00Z");
    env.run(command)
}

fn write_task(env: &TestEnvironment, id: &str, head: &str, body: impl AsRef<str>) {
    env.write(&format!("tasks/{id}.md"), format!("---\n{head}\n---\n\n{}\n", body.as_ref()));
}

/// Returns the ids of what was found, without their prefix.
fn ids(output: &Output) -> Vec<String> {
    let found = output.json();
    let id = |task: &Value| task["id"].as_str().unwrap()[4..].to_owned();
    found["tasks"].as_array().unwrap().iter().map(id).collect()
}

fn search(env: &TestEnvironment, words: &[&str]) -> Vec<String> {
    ids(&later(env, &[&["search", "--json"], words].concat()).success())
}

#[test]
fn a_better_field_comes_first_then_whole_words_then_the_newer_task() {
    let env = TestEnvironment::new();
    let at = |day: u32| format!("created: 2026-01-0{day}T00:00:00Z");
    write_task(&env, "AOF-bo1", &format!("title: One\n{}", at(1)), "The login is here.");
    write_task(&env, "AOF-bo2", &format!("title: Two\n{}", at(2)), "The login is there.");
    write_task(&env, "AOF-bo3", "title: Three", "The logins are everywhere.");
    write_task(&env, "AOF-tag", "title: Four\ntags: [login]", "");
    write_task(&env, "AOF-ti1", "title: All logins", "");
    write_task(&env, "AOF-ti2", "title: One Login", "");
    write_task(&env, "AOF-non", "title: Relogin", "nologin");
    let said = env.new_task(&["Something else"]);
    let more = ["--blocker", "No login there"];
    let _ = env.say(&said, "agent-7", "blocked", &more).success();
    let found = search(&env, &["LOGIN"]);
    assert_eq!(
        found,
        ["ti2", "ti1", "tag", "xxxxx", "bo2", "bo1", "bo3"],
        "the id without its prefix"
    );
    assert_eq!(search(&env, &["login", "every"]), ["bo3"], "all words must be there");
    assert_eq!(search(&env, &["aof-tag"]), ["tag"], "an id");
    assert_eq!(search(&env, &["TI1"]), ["ti1"], "an id without its prefix");
    let listed = later(&env, &["list", "--json", "--search", "login"]);
    let sorted = |mut ids: Vec<String>| {
        ids.sort();
        ids
    };
    assert_eq!(sorted(ids(&listed.success())), sorted(found), "a list finds the same");
    let first = &later(&env, &["search", "--json", "login", "there"]).json()["tasks"][0];
    assert_eq!(
        (&first["field"], &first["excerpt"], &first["score"]),
        (&"summary".into(), &"No login there".into(), &8.into())
    );
}

#[test]
fn words_are_compared_as_people_write_them() {
    let env = TestEnvironment::new();
    write_task(&env, "AOF-wr1", "title: One", "The session\r\ncookie, and a\nshort_name.");
    write_task(&env, "AOF-wr2", "title: Two", "A cookie of the session");
    write_task(&env, "AOF-gre", "title: ΟΔΟΣ", "Straße nach İzmir");
    write_task(&env, "AOF-kan", "title: 新しい日本語テキスト", "");
    write_task(&env, "AOF-acc", "title: Cafe\u{301} Zu\u{308}rich", "");
    assert_eq!(search(&env, &["session", "cookie"]).len(), 2);
    assert_eq!(search(&env, &["session cookie"]), ["wr1"], "a phrase, over the end of a line");
    assert_eq!(search(&env, &["\"cookie of\" two"]), ["wr2"]);
    let listed = ["list", "--json", "--search", "one \"session cookie\""];
    assert_eq!(ids(&later(&env, &listed).success()), ["wr1"]);
    assert_eq!(search(&env, &["short_name"]), ["wr1"]);
    assert_eq!(search(&env, &["name.*"]), ["wr1"], "no regular expression");
    assert_eq!(search(&env, &["οδος"]), ["gre"]);
    assert_eq!(search(&env, &["STRAßE izmir"]), Vec::<String>::new(), "a phrase");
    assert_eq!(search(&env, &["STRAßE", "izmir"]), ["gre"]);
    assert_eq!(search(&env, &["テキスト"]), ["kan"], "words without spaces between them");
    assert_eq!(search(&env, &["語新"]), Vec::<String>::new());
    assert_eq!(search(&env, &["cafe", "zurich"]), ["acc"]);
}

#[test]
fn at_a_terminal_matches_are_marked_in_a_short_excerpt() {
    let env = TestEnvironment::new();
    let filler = "far away from it all ".repeat(20);
    write_task(&env, "AOF-aaa", "title: A login page", "");
    write_task(&env, "AOF-bbb", "title: Other", format!("{filler}the logins {filler}"));
    let seat = Seat::with(&env, &["search", "login"], |command| {
        command.env("TERM", "xterm").env("COLUMNS", "50");
    });
    let (status, screen) = seat.ends();
    assert!(status.success());
    assert!(screen.contains("A \u{1b}[1m\u{1b}[33mlogin\u{1b}[0m page"), "{screen}");
    assert!(screen.contains("the \u{1b}[1m\u{1b}[33mlogins\u{1b}[0m far"), "{screen}");
    let plain = anstream::adapter::strip_str(&screen).to_string();
    let lines: Vec<&str> = plain.lines().collect();
    assert_eq!(
        lines,
        [
            "AOF-aaa  A login page  new",
            "AOF-bbb  Other  new",
            "    …it all the logins far away from it all far…"
        ]
    );
    assert_eq!(env.aof(&["search", "login"]).success().stdout.lines().count(), 3);
}

#[test]
fn the_index_is_made_anew_and_is_never_the_truth() {
    let env = TestEnvironment::new();
    let done = env.new_task(&["Finished", "--body", "A walrus was here"]);
    write_task(&env, "AOF-aaa", "title: One", "A walrus");
    write_task(&env, "AOF-bbb", "title: Two", "A seal");
    assert_eq!(search(&env, &["walrus", "--all"]), ["aaa", "xxxxx"]);
    let index = env.path(".aof/text");
    let whole = std::fs::read(&index).unwrap();
    assert_eq!(search(&env, &["walrus"]).len(), 2);
    assert_eq!(std::fs::read(&index).unwrap(), whole, "nothing has changed");
    for damaged in [&b""[..], b"x", &whole[..whole.len() - 1], b"aof-cache 9 other\n"] {
        std::fs::write(&index, damaged).unwrap();
        let output = later(&env, &["search", "--json", "walrus"]).success();
        assert_eq!((ids(&output).len(), output.stderr.as_str()), (2, ""));
        assert_eq!(std::fs::read(&index).unwrap().len(), whole.len());
    }
    // The same size, and moments later.
    write_task(&env, "AOF-bbb", "title: Two", "A fish");
    assert_eq!(search(&env, &["fish"]), ["bbb"]);
    write_task(&env, "AOF-bbb", "title: Two", "A crab");
    assert_eq!(search(&env, &["fish"]), Vec::<String>::new());
    assert_eq!(search(&env, &["crab"]), ["bbb"]);
    let _ = env.aof(&["task", "cancel", &done, "--reason", "gone"]).success();
    assert_eq!(search(&env, &["walrus"]), ["aaa"]);
    assert_eq!(search(&env, &["--all", "walrus"]), ["aaa", "xxxxx"]);
    std::fs::remove_file(env.path("tasks/AOF-aaa.md")).unwrap();
    assert_eq!(search(&env, &["--all", "walrus"]), ["xxxxx"]);
}

#[test]
fn every_search_has_a_plain_answer() {
    let env = TestEnvironment::new();
    write_task(&env, "AOF-aaa", "title: One", format!("{}end", "word ".repeat(12_000)));
    env.write("tasks/AOF-bad.md", b"---\ntitle: Bad\n---\n\xff\xfe walrus\n");
    for nothing in ["", "  ", "(.*)", "\"\"", "🦭"] {
        for args in
            [["search", "--all", nothing], ["list", "--sort=id", &format!("--search={nothing}")]]
        {
            let output = env.aof(&args).code(2);
            assert!(output.stderr.contains("no letter or digit to search for"), "{output}");
        }
    }
    let long = "word ".repeat(2_000);
    for (word, hits) in [("end", 1), (&long, 1), (&format!("\"end\" {long}"), 1), ("\u{1b}[31m", 0)]
    {
        let output = env.aof(&["list", "--json", "--search", word]).code(6);
        assert_eq!(output.json()["tasks"].as_array().unwrap().len(), hits, "{word:.20}");
    }
    let output = env.aof(&["search", "walrus"]).code(6);
    assert!(
        output.stderr.contains("nothing found; `--all` searches finished tasks too"),
        "{output}"
    );
    assert!(output.stderr.contains("tasks/AOF-bad.md"), "{output}");
    for number in 0..4 {
        write_task(&env, &format!("AOF-n{number}n"), "title: Numbers", "");
    }
    env.git(&["clean", "-q", "-f", "tasks/AOF-bad.md"]);
    let output = env.aof(&["search", "numbers", "--limit", "3"]).success();
    assert_eq!(output.stdout.lines().count(), 3, "{output}");
    assert!(output.stderr.contains("3 of 4 tasks; `--limit 4` shows all"), "{output}");
    let found = env.aof(&["search", "numbers", "--limit", "3", "--json"]).success().json();
    assert_eq!((found["tasks"].as_array().unwrap().len(), &found["total"]), (3, &4.into()));
}
