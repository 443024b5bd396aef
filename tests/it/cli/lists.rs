//! Lists: columns, groups, widths.

use insta::assert_snapshot;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::cli::web::Board;
use crate::support::environment::{ORG, Output, TestEnvironment};
use crate::support::terminal::Seat;

fn at_width(env: &TestEnvironment, columns: &str, args: &[&str]) -> Output {
    let mut command = env.aof_command(args);
    command.env("COLUMNS", columns);
    env.run(command)
}

const LONG: &str = "A title that is so long that it has to be cut at eighty columns";

fn project() -> TestEnvironment {
    let env = TestEnvironment::new();
    for (id, title) in [("AOF-aaa", "Add login"), ("AOF-bbb", "Tidy up"), ("AOF-ccc", "Fix it")] {
        env.hand_made(id, title);
        let _ = env.complete(id, "agent-7");
    }
    let _ = env
        .say("AOF-bbb", "agent-3", "needs_review", &["--blocker", "The cellar is still untidy"])
        .success();
    env.hand_made("AOF-ddd", LONG);
    env
}

#[test]
fn a_list_is_grouped_below_headings_in_the_order_of_the_gates() {
    let env = project();
    let _ = env.aof(&["task", "next", "--agent", "agent-3", "--role", "architect"]).success();
    assert_snapshot!(env.aof(&["list", "--group-by", "gate"]), @"
    exit 0
    --- stdout
    ID       TITLE                                                            STATUS       WHO        AGE

    implement (1 task)
    AOF-bbb  Tidy up                                                          ready        backend    now

    review (2 tasks)
    AOF-aaa  Add login                                                        in_progress  @agent-3   now
    AOF-ccc  Fix it                                                           ready        architect  now

    at no gate (1 task)
    AOF-ddd  A title that is so long that it has to be cut at eighty columns  new          new
    ");
    assert_snapshot!(env.aof(&["list", "--group-by", "agent", "--columns", "id,gate"]), @"
    exit 0
    --- stdout
    ID       GATE

    agent-3 (1 task)
    AOF-aaa  review

    not claimed (3 tasks)
    AOF-ccc  review
    AOF-bbb  implement
    AOF-ddd
    ");
    assert_snapshot!(env.aof(&["list", "--group-by", "role", "--columns", "title"]), @"
    exit 0
    --- stdout
    TITLE

    architect (2 tasks)
    Add login
    Fix it

    backend (1 task)
    Tidy up

    no role (1 task)
    A title that is so long that it has to be cut at eighty columns
    ");
    assert_eq!(
        env.aof(&["list", "--json", "--group-by", "role", "--columns", "id"]).json(),
        env.aof_aside(&["list", "--json"]).json(),
        "programs get all of it, in its own order"
    );
    let _ = env.aof(&["list", "--group-by", "gate", "--tree"]).code(2);
    let output = env.aof(&["list", "--group-by", "colour"]).code(2);
    assert!(output.stderr.contains("[possible values: gate, role, agent"), "{output}");
}

#[test]
fn columns_are_shown_as_they_are_named() {
    let env = project();
    let columns = "updated,status,id,tags,path";
    env.write(
        "tasks/AOF-ddd.md",
        "---\ntitle: Due\ndue: 2026-02-15\nmilestone: v1\n---\n\n- [x] one\n- [ ] two\n",
    );
    assert_snapshot!(env.aof(&["list", "--status=ready", "--columns", columns]), @"
    exit 0
    --- stdout
    UPDATED        STATUS  ID       TAGS  PATH
    Feb 16, 10:00  ready   AOF-aaa        tasks/AOF-aaa.md
    Feb 16, 10:00  ready   AOF-ccc        tasks/AOF-ccc.md
    Feb 16, 10:00  ready   AOF-bbb        tasks/AOF-bbb.md
    ");
    for (wrong, said) in [
        ("id,colour", "invalid value 'colour' for '--columns <NAMES>'"),
        ("id,,title", "a value is required for '--columns <NAMES>'"),
        ("", "a value is required for '--columns <NAMES>'"),
        ("ID", "[possible values: id, title, gate, status, who,"),
    ] {
        let output = env.aof(&["list", "--columns", wrong]).code(2);
        assert!(output.stderr.contains(said), "{output}");
    }
    assert_snapshot!(env.aof(&["list", "--group-by", "milestone"]), @"
    exit 0
    --- stdout
    ID       TITLE      GATE       STATUS  WHO            DUE  AGE

    v1 (1 task)
    AOF-ddd  Due                   new     new        1d late

    no milestone (3 tasks)
    AOF-aaa  Add login  review     ready   architect           now
    AOF-ccc  Fix it     review     ready   architect           now
    AOF-bbb  Tidy up    implement  ready   backend             now
    ");
    let twice = env.aof(&["list", "--columns", "id", "--columns", "id"]).success();
    assert!(twice.stdout.starts_with("ID       ID\n"), "{twice}");
    let empty = TestEnvironment::new();
    let none = empty.aof(&["list", "--columns", "id", "--group-by", "gate"]).success();
    assert_eq!((none.stdout.as_str(), none.stderr.as_str()), ("", "no tasks\n"));
}

#[test]
fn lines_fit_the_terminal_and_titles_end_with_a_word() {
    let env = project();
    env.hand_made("AOF-eee", &"宽".repeat(300));
    assert_snapshot!(at_width(&env, "40", &["list", "--sort=id"]), @"
    exit 0
    --- stdout
    ID   TITLE                     WHO
    aaa  Add login                 architect
    bbb  Tidy up                   backend
    ccc  Fix it                    architect
    ddd  A title that is so long…  new
    eee  宽宽宽宽宽宽宽宽宽宽宽…   new
    ");
    assert_snapshot!(at_width(&env, "80", &["list", "--sort=id"]), @"
    exit 0
    --- stdout
    ID   TITLE                                             GATE       WHO        AGE
    aaa  Add login                                         review     architect  now
    bbb  Tidy up                                           implement  backend    now
    ccc  Fix it                                            review     architect  now
    ddd  A title that is so long that it has to be cut a…             new
    eee  宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽…              new
    ");
    for columns in [40, 60, 80, 100, 120, 200] {
        let output = at_width(&env, &columns.to_string(), &["list"]).success();
        for line in output.stdout.lines() {
            assert!(line.width() <= columns, "{columns}: {line}");
            let cut = line.strip_prefix("AOF-ddd  ").and_then(|rest| rest.split_once('…'));
            if let Some((title, _)) = cut {
                assert!(LONG.strip_prefix(title).unwrap().starts_with(' '), "{columns}: {line}");
            }
        }
    }
    let _ = at_width(&env, "10", &["list"]).success();
    let uncut = env.aof(&["list"]).success();
    assert!(uncut.stdout.contains("cut at eighty columns"), "{uncut}");
}

#[test]
fn a_role_and_an_agent_are_named_once() {
    let project = "\
workflow:
  gates:
    - id: checks
      type: fork
      joinStrategy: all
      branches:
        - {id: security, role: backend}
        - {id: style, role: backend}
        - {id: law, role: architect}
        - {id: names, role: backend}
";
    let env = TestEnvironment::with_rules(project, ORG);
    let id = env.new_task(&["Add login"]);
    let row = |env: &TestEnvironment| {
        let list = env.aof(&["list", "--columns", "who,role,agent"]).success();
        list.stdout.lines().nth(1).unwrap().split("  ").map(str::trim).collect::<Vec<_>>().join("|")
    };
    assert_eq!(row(&env).trim_matches('|'), "backend, architect|backend, architect");
    for branch in ["security", "names"] {
        let ticket = format!("{id}@0/{branch}");
        let _ = env.aof(&["claim", &ticket, "--agent", "agent-7"]).success();
    }
    assert_eq!(row(&env), "@agent-7, backend, architect|backend, architect|agent-7");
}

#[test]
fn all_views_have_one_order() {
    let env = TestEnvironment::new();
    let plans: [&[&str]; 6] = [
        &["Oldest"],
        &["Soon", "--due", "fri"],
        &["Low and late", "--due", "2026-02-15", "-p", "low"],
        &["High", "-p", "high"],
        &["Late", "--due", "2026-02-15"],
        &["Newest"],
    ];
    for plan in plans {
        let id = env.new_task(plan);
        let _ = env.complete(&id, "agent-7");
    }
    let titles = |tasks: &Value| -> Vec<String> {
        let title = |task: &Value| task["title"].as_str().unwrap().to_owned();
        tasks.as_array().unwrap().iter().map(title).collect()
    };
    let wanted = ["Late", "Low and late", "High", "Soon", "Oldest", "Newest"];
    let json = |args: &[&str]| env.aof(args).success().json();
    assert_eq!(titles(&json(&["list", "--json"])["tasks"]), wanted);
    assert_eq!(titles(&json(&["decide", "--json", "--agent", "agent-3"])["waiting"]), wanted);
    assert_eq!(titles(&json(&["status", "--json", "--agent", "agent-3"])["waitingForYou"]), wanted);
    assert_eq!(titles(&json(&["status", "--json"])["overdue"]), wanted[..2]);
    let board = Board::start(&env, &["--agent", "agent-3"]);
    let shown: Value =
        serde_json::from_str(&board.get("/api/v1/project/board").body).expect("it is JSON");
    let columns = shown["lanes"][0]["columns"].as_array().unwrap();
    let review = columns.iter().find(|column| !column["cards"].as_array().unwrap().is_empty());
    let by_board = titles(&review.unwrap()["cards"]);
    assert_eq!(by_board.len(), wanted.len());
    // The server has the clock of the machine, by which all three with a date are late.
    assert_eq!(by_board, ["Late", "Soon", "Low and late", "High", "Oldest", "Newest"]);
    let listed: Vec<&str> =
        shown["waitingForYou"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(listed.len(), wanted.len());
}

#[test]
fn a_long_list_goes_through_the_pager_of_git_and_nothing_else_does() {
    let env = TestEnvironment::new();
    let tasks: Vec<Value> = (0..30).map(|n| json!({"title": format!("Task {n}")})).collect();
    env.write("list.json", json!(tasks).to_string());
    let _ = env.aof(&["new", "--from", "list.json"]).success();
    let paged = |args: &[&str], variables: &[(&str, &str)]| {
        let seat = Seat::with(&env, args, |command| {
            command.env("TERM", "xterm").env("GIT_PAGER", "sed s/^/paged:/").env_remove("CI");
            command.envs(variables.iter().copied());
        });
        let (status, screen) = seat.ends();
        assert!(status.success() && screen.contains("Task 29"), "{screen}");
        screen.contains("paged:")
    };
    assert!(paged(&["list"], &[]));
    assert!(!paged(&["list", "--no-pager"], &[]));
    assert!(!paged(&["list", "--json"], &[]));
    for (name, value) in [("AOF_AGENT", "agent-7"), ("CI", "true"), ("TERM", "dumb")] {
        assert!(!paged(&["list"], &[(name, value)]), "{name}");
    }
    assert!(!paged(&["list"], &[("GIT_PAGER", "no-such-pager")]), "the list is shown all the same");
    let short = Seat::with(&env, &["list", "--limit", "3"], |command| {
        command.env("TERM", "xterm").env("GIT_PAGER", "sed s/^/paged:/");
    });
    assert!(!short.ends().1.contains("paged:"));
}

#[test]
fn the_list_in_the_browser_filters_as_the_command() {
    let rules = "workflow: {gates: [{id: implement, role: backend}, {id: review, role: architect, canReject: true}]}\n";
    let env = TestEnvironment::with_rules(rules, ORG);
    let id = |args: &[&str]| env.new_task(args);
    let first =
        id(&["Add login", "--tag", "web", "--tag", "api", "-p", "high", "--due", "2026-01-02"]);
    let taken = id(&["Log out everywhere", "--tag", "web", "--milestone", "one"]);
    let blocked = id(&["Blocked by legal", "-p", "critical", "--milestone", "Two words"]);
    let review = id(&["Look at the login", "-p", "low"]);
    let done = id(&["Done long ago", "--tag", "api"]);
    let ended = id(&["Not needed"]);
    let _ = id(&["After the login", "--depends", &first]);
    let _ = id(&["Planned", "--assignee", "agent-8"]);
    let _ = env.aof(&["claim", &taken, "--agent", "agent-7"]).success();
    let _ = env.aof(&["block", &blocked, "-m", "legal", "--agent", "agent-7"]).success();
    let _ = env.complete(&review, "agent-7");
    let _ = env.complete(&done, "agent-7");
    let _ = env.complete(&done, "agent-3");
    let _ = env.aof(&["cancel", &ended, "--reason", "no"]).success();
    let board = Board::start(&env, &["--agent", "agent-3"]);
    let filters = [
        "login",
        "LOGIN",
        "log",
        "out every",
        "nothing",
        "add login",
        "\"Add login\"",
        "tag:web",
        "tag:api",
        "tag:web tag:api",
        "tag:none",
        "role:backend",
        "role:architect",
        "role:backend role:architect",
        "agent:agent-7",
        "agent:agent-8",
        "assignee:agent-8",
        "milestone:one",
        "\"milestone:Two words\"",
        "gate:implement",
        "gate:review",
        "gate:implement gate:review",
        "status:ready",
        "status:blocked",
        "status:in_progress",
        "status:waiting",
        "status:complete",
        "status:cancelled",
        "status:ready status:complete",
        "priority:high",
        "priority:low",
        "priority:medium",
        "priority:critical priority:high",
        "is:overdue",
        "is:ready",
        "is:blocked",
        "is:waiting",
        "is:mine",
        "is:held",
        "is:escalated",
        "workflow:default",
        "login tag:web",
        "login is:ready",
        "tag:api status:complete",
    ];
    assert!(filters.len() >= 40);
    for filter in filters {
        let words: Vec<&str> = match filter.trim_matches('"') {
            quoted if quoted != filter => vec![quoted],
            plain => plain.split(' ').collect(),
        };
        let listed = env.aof(&[&["list", "--json", "--me", "agent-3"][..], &words].concat());
        let listed: Value = serde_json::from_str(&listed.success().stdout).unwrap();
        let titles =
            listed["tasks"].as_array().unwrap().iter().map(|task| task["title"].as_str().unwrap());
        let mut wanted: Vec<String> = titles.map(str::to_owned).collect();
        let query: String = filter.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let page = board.get(&format!("/project/list?group=none&q={query}")).body;
        let rows = page.split("<tr data-task").skip(1);
        let title = |row: &str| {
            let link = row.split_once("dir=\"auto\"").unwrap().1.split_once('>').unwrap().1;
            link.split('<').next().unwrap().to_owned()
        };
        let mut shown: Vec<String> = rows.map(title).collect();
        wanted.sort();
        shown.sort();
        assert_eq!(shown, wanted, "{filter}");
    }
}

#[test]
fn no_line_is_wider_than_the_terminal_and_titles_have_room() {
    let env = project();
    let wide = "\u{5bbf}\u{5c4b}\u{306e}\u{4e88}\u{7d04} \u{1f600} and a title that is far too long for any list of eighty columns, whatever else it shows beside it";
    let id =
        env.new_task(&[wide, "-p", "critical", "-t", "forms", "-t", "payments", "--due", "fri"]);
    let part = env.new_task(&["A part", "--parent", &id]);
    let _ = env.aof(&["assign", "--claim", &id, "agent-7"]).success();
    let _ = env
        .aof(&[
            "comment",
            &part,
            "-m",
            "Please look at Safari, and at the other browsers, too, before it is released to all",
        ])
        .success();
    let commands: [&[&str]; 8] = [
        &["list"],
        &["list", "--tree", "--all"],
        &["list", "--mine", "--me", "agent-7"],
        &["list", "--group-by", "gate"],
        &["search", "title"],
        &["status"],
        &["gate"],
        &["--help"],
    ];
    for columns in ["40", "60", "80", "100", "120", "200"] {
        for args in commands {
            let room = columns.parse::<usize>().unwrap();
            let at_once = |color| {
                let args = [&["--color", color], args].concat();
                env.aside(|| at_width(&env, columns, &args)).0.success()
            };
            let plain = at_once("never");
            let longest = plain.stdout.lines().max_by_key(|line| line.width()).unwrap();
            assert!(longest.width() <= room, "{columns} {args:?}: {}: {longest}", longest.width());
            let coloured = at_once("always");
            let bare = env.plain(&anstream::adapter::strip_str(&coloured.stdout).to_string());
            assert_eq!(bare, plain.stdout, "{columns} {args:?}");
        }
        // These have lines of any length in a pipe.
        for args in [["show", &part], ["history", &part], ["show", &id], ["history", &id]] {
            let seat = Seat::with(&env, &args, |command| {
                command.env("COLUMNS", columns).env("NO_COLOR", "1").env("TERM", "xterm");
            });
            let (status, screen) = seat.ends();
            let longest =
                screen.lines().map(str::trim_end).max_by_key(|line| line.width()).unwrap();
            let room = columns.parse::<usize>().unwrap();
            assert!(status.success() && longest.width() <= room, "{columns} {args:?}: {longest}");
        }
        let list = at_width(&env, columns, &["list"]).success().stdout;
        let cut = list.lines().find(|line| line.contains("\u{5bbf}")).unwrap();
        let start = cut.find('\u{5bbf}').unwrap();
        let end = cut.find('\u{2026}').map_or(cut.len(), |at| at + '\u{2026}'.len_utf8());
        let title = cut[start..end].width();
        assert!(title >= 40 || columns.parse::<usize>().unwrap() < 80, "{columns}: {title}: {cut}");
    }
}
