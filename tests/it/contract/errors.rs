//! Exit codes, error codes, and the keys that each error has.

use std::collections::BTreeSet;

use insta::assert_snapshot;

use super::{ORG, PROJECT, documents, with_json, words};
use crate::support::environment::TestEnvironment;

/// Where the codes are documented.
const PAGE: &str = include_str!("../../../docs/reference/errors.md");

/// What commands were refused with.
struct Table {
    env: TestEnvironment,
    output: String,
}

impl Table {
    fn new(env: TestEnvironment) -> Self {
        Self { env, output: String::new() }
    }

    /// Runs a command with `--json`, which must fail, and notes how.
    #[track_caller]
    fn fails(&mut self, line: &str) {
        let output = self.env.aof(&with_json(&words(line)));
        assert_ne!(output.code, Some(0), "`{line}` did not fail: {output}");
        let code = output.code.map_or("killed".to_owned(), |code| code.to_string());
        // Of a stream of JSON the last line has the error.
        let value = documents(&output.stdout).pop().unwrap_or_default();
        let name = if value["event"] == "ended" { &value["code"] } else { &value["error"] };
        let keys: Vec<&str> =
            value.as_object().into_iter().flat_map(|map| map.keys().map(String::as_str)).collect();
        let name = name.as_str().unwrap_or("-");
        let mut shown = line.to_owned();
        if shown.len() > 120 {
            shown = format!("{}...", &shown[..60]);
        }
        let row = format!("{code} {name}: {}\n    aof {shown}\n", keys.join(" "));
        self.output += &self.env.plain(&row);
    }

    fn does(&self, line: &str) {
        let words = words(line);
        let _ = self.env.aof(&words.iter().map(String::as_str).collect::<Vec<_>>()).success();
    }

    fn task(&self, line: &str) -> String {
        let words = words(line);
        self.env.new_task(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Fails if a code is not documented.
    fn is_documented(&self) {
        let known = documented();
        let codes = self.output.lines().filter(|line| !line.starts_with(' '));
        let codes = codes.filter_map(|line| line.split([' ', ':']).nth(1));
        let missing: BTreeSet<&str> =
            codes.filter(|code| *code != "-" && !known.contains(code)).collect();
        assert!(missing.is_empty(), "docs/reference/errors.md has no {missing:?}");
    }
}

/// Returns the codes in the tables of error codes.
fn documented() -> BTreeSet<&'static str> {
    let (_, tables) = PAGE.split_once("## Error codes").unwrap();
    let (tables, _) = tables.split_once("\n## ").unwrap();
    let cells = tables.lines().filter_map(|line| line.strip_prefix("| `")?.split('|').next());
    let names = cells.flat_map(|cell| cell.split(['`', ',', ' ', '(', ')']));
    names.filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase())).collect()
}

#[test]
fn the_documentation_has_these_codes() {
    assert_snapshot!(documented().into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn completions_are_refused_with_these_codes() {
    let more = "  gone: {gates: [{id: work, role: backend}]}
  picky: {gates: [{id: work, role: backend, when: 'false'}]}
  apart:
    gates:
      - {id: work, role: backend}
      - {id: look, role: backend, separateFrom: [work], requireHuman: true}
      - {id: again, role: backend, separateFrom: [work]}
";
    let rules = PROJECT.replace("  solo:", &format!("{more}  solo:"));
    let env = TestEnvironment::with_rules(&rules, ORG);
    let mut table = Table::new(env);
    let id = table.task("'Add login'");
    let solo = table.task("Solo --workflow solo");
    let says = |task: &str, agent: &str, rest: &str| {
        format!("task complete {task} --agent {agent} {rest}")
    };
    for rest in [
        "-o done -s Done",
        "-o complete",
        "-o blocked -s Done",
        "-o blocked -s Done -b ''",
        "-o needs_review -s Done -b No",
        "-o complete -s Done --output branch=3",
        "-o complete -s Done --output brnch=3",
        "-o complete -s Done --file nope.md",
    ] {
        table.fails(&says(&id, "agent-7", rest));
    }
    table.env.write("answer.md", "---\n$status: blocked\n---\nText\n");
    table.fails(&says(&id, "agent-7", "-o complete -s Done --file answer.md"));
    table.fails(&says(&id, "agent-7", &format!("-o complete -s '{}'", "x".repeat(17_000))));
    let long = format!("-o complete -s Done --output branch={}", "x".repeat(33_000));
    table.fails(&says(&id, "agent-7", &long));
    table.fails(&says(&id, "agent-3", "-o complete -s Done"));
    table.fails(&says(&format!("{id}@9"), "agent-7", "-o complete -s Done"));
    table.fails("task complete AOF-nothinglikeit --agent agent-7 -o complete -s Done");
    table.fails("task complete ../x --agent agent-7 -o complete -s Done");
    // Somebody has it.
    table.does(&format!("task assign --claim {id} agent-7"));
    table.does(&format!("task assign --claim {solo} agent-8"));
    table.fails(&says(&id, "agent-8", "-o complete -s Done"));
    table.does(&format!("task release {solo} --agent agent-8"));
    table.fails(&says(&id, "agent-8", "-o complete -s Done"));
    table.does(&format!("task hold {id} --reason Wait"));
    table.fails(&says(&id, "agent-7", "-o complete -s Done"));
    table.does(&format!("task unblock {id}"));
    table.does(&says(&id, "agent-7", "-o complete -s Done --id c1"));
    // It has gone on, to a fork.
    table.fails(&says(&format!("{id}@0"), "agent-8", "-o complete -s Done"));
    table.fails(&says(&format!("{id}@0"), "agent-7", "-o complete -s Other --id c1"));
    table.fails(&says(&id, "agent-7", "-o complete -s Done"));
    table.fails(&says(&id, "agent-7", "-o complete -s Done --gate implement"));
    table.fails(&says(&format!("{id}@1"), "agent-7", "-o complete -s Done"));
    table.fails(&says(&format!("{id}@1"), "agent-8", "-o complete -s Done"));
    table.fails(&says(&format!("{id}@1/taste"), "agent-3", "-o complete -s Done"));
    table.fails(&format!("task hold {id}@1/style --reason Wait"));
    table.does(&says(&format!("{id}@1/security"), "agent-4", "-o complete -s Done"));
    table.does(&says(&format!("{id}@1/style"), "agent-3", "-o complete -s Done"));
    // A review, a person, the end.
    table.fails(&says(&id, "agent-3", "-s Done"));
    table.fails(&says(&id, "agent-3", "-o skip -s Done"));
    table.fails(&says(&id, "agent-3", "-o needs_review -s Done"));
    table.does(&says(&format!("{id}@3"), "agent-3", "-o complete -s Done"));
    table.fails(&says(&format!("{id}@4"), "agent-3", "-o complete -s Done"));
    table.does(&says(&id, "human-ada", "-o complete -s Done"));
    table.fails(&says(&id, "human-ada", "-o complete -s Done"));
    let apart = table.task("Apart --workflow apart");
    table.does(&says(&apart, "agent-7", "-o complete -s Done"));
    table.fails(&says(&apart, "agent-8", "-o complete -s Done"));
    table.does(&format!("task override {apart} --to again --reason So"));
    table.fails(&says(&apart, "agent-7", "-o complete -s Done"));
    // A claim that ran out.
    let lapsed = table.task("Lapsed");
    table.does(&format!("task assign --claim {lapsed} agent-7"));
    table.env.pass_minutes(40);
    table.does("sweep");
    table.does(&format!("task assign --claim {lapsed} agent-8"));
    table.fails(&says(&lapsed, "agent-7", "-o complete -s Done"));
    // Rules that are not there.
    table.fails("task new Picky --workflow picky");
    let gone = table.task("Gone --workflow gone");
    table.env.edit("project.yaml", "  gone: {gates: [{id: work, role: backend}]}\n", "");
    table.env.commit_all("a workflow is gone");
    table.fails(&says(&gone, "agent-7", "-o complete -s Done"));
    assert_snapshot!(table.output);
    table.is_documented();
}

#[test]
fn other_acts_are_refused_with_these_codes() {
    let mut table = Table::new(TestEnvironment::with_rules(PROJECT, ORG));
    let id = table.task("'Add login'");
    let second = table.task(&format!("Second --depends {id}"));
    for line in [
        "task new ''",
        "task new Deploy --workflow quick",
        "task new Deploy --workflow quick --context repo=web --context other=1",
        "task new Deploy --workflow quick --context repo=web --agent agent-3",
        "task new Deploy --workflow nope",
        "task new Deploy --agent agent-8",
        "task new Deploy --depends AOF-nothinglikeit",
        "task new --from nope.json",
        "task new --from answer.json",
        "task show AOF-nothinglikeit",
        "why AOF-nothinglikeit",
        "task next --role nope --agent agent-7",
        "task next --role architect --agent agent-7",
        "task next --agent agent-9",
        "task edit ID",
        "task edit ID --depends ID",
        "task edit ID --depends SECOND",
        "task edit ID --title ''",
        "task comment ID -m ''",
        "task comment ID",
        "task release ID --agent agent-7",
        "task renew ID --agent agent-7",
        "task assign --claim ID agent-3",
        "task assign --claim ID agent-9",
        "task hold ID --reason ''",
        "task hold ID --reason Wait --agent agent-7",
        "task unblock ID",
        "task cancel ID --reason ''",
        "task cancel ID --reason No --agent agent-7",
        "task reopen ID --to implement --reason More",
        "task override ID --to nope --reason So",
        "task override ID --to implement --reason ''",
        "task history ID@0 --export out",
        "mcp token agent-70",
        "mcp token human-ada",
        "mcp token --revoke agent-8",
        "task show aof-",
        "task sign nope.yaml",
        "task sign answer.json",
        "task sign done.json --print",
        "task sign done.json",
    ] {
        table.env.write("answer.json", "{\"titel\": 3}");
        table.env.write(
            "done.json",
            format!(
                r#"{{"task": "{id}", "agent": "agent-7", "outcome": "complete", "summary": "x"}}"#
            ),
        );
        table.fails(&line.replace("ID", &id).replace("SECOND", &second));
    }
    for title in ["One", "Two"] {
        table.task(title);
        table.does("task next --agent agent-7 --another");
    }
    table.fails("task next --agent agent-7 --another");
    let blocked = table.task("Blocked");
    let says = format!("task complete {blocked} --agent agent-8 -o blocked -s Stuck -b No");
    table.does(&says);
    table.fails(&format!("task assign --claim {blocked} agent-8"));
    assert_snapshot!(table.output);
    table.is_documented();
}

#[test]
fn other_commands_fail_with_these_codes() {
    let mut table = Table::new(TestEnvironment::with_rules(PROJECT, ORG));
    table.task("'Add login'");
    table.env.write("bad.json", "{\"steps\": 3}");
    for line in [
        "nope",
        "task nope",
        "task complete",
        "events --type nope",
        "stats --since nope",
        "demo",
        "-C nope status",
        "init",
        "workflow show nope",
        "workflow graph nope",
        "workflow diff nope",
        "workflow create quick --template basic",
        "workflow validate nope.yaml",
        "workflow import nope.json",
        "workflow import bad.json",
        "workflow run quick --input Now",
        "workflow run nope --input Now",
        "workflow run solo",
        "org show nope",
        "run --agent agent-7",
        "run --agent human-ada",
        "run --agent nope",
        "run --task AOF-nothinglikeit",
        "runner doctor agent-7",
        "migrate tasks --add-gates --workflow nope",
        "verify nope..HEAD",
        "verify --since nope",
        "verify --project nope",
        "verify --trusted-keys nope",
        "metrics --output nope/metrics",
        "watch --metrics 256.0.0.1:9090",
        "watch --metrics localhost",
        "sync",
        "sync --remote nope",
        "man answer",
    ] {
        table.env.write("answer", "a file");
        table.fails(line);
    }
    table.env.git(&["remote", "add", "one", "../one.git"]);
    table.fails("sync --remote two");
    table.env.git(&["remote", "add", "two", "../two.git"]);
    table.fails("sync");
    assert_snapshot!(table.output);
    table.is_documented();
}

/// Brings a project out of order. `ID` is a task.
type Harm = fn(&TestEnvironment, &str);

/// What can be out of order, and which command sees it.
const HARMS: &[(Harm, &str)] = &[
    (
        |env, id| env.edit(&env.task_path(id), "current: implement", "current: review"),
        "task comment ID -m No",
    ),
    (|env, id| env.edit(&env.task_path(id), "title:", "title: ["), "task comment ID -m No"),
    (
        |env, id| {
            let text = env.task_text(id);
            std::fs::remove_file(env.path(&env.task_path(id))).unwrap();
            env.write(&format!("tasks/one/{id}.md"), &text);
            env.write(&format!("tasks/two/{id}.md"), &text);
        },
        "task comment ID -m No",
    ),
    (|env, _| env.write("project.yaml", "workflow: {gates: 3}\n"), "workflow validate"),
    (|env, _| env.write("org.yaml", "roles: 3\n"), "org validate"),
    (|env, _| drop(env.git(&["config", "user.email", ""])), "task next"),
    (|env, _| env.write(".git/index.lock", ""), "task comment ID -m No --wait 0s"),
    (
        |env, _| {
            let path = env.hand_made("AOF-abc", "By hand");
            env.git(&["add", &path]);
            env.edit(&path, "By hand", "By another hand");
        },
        "task complete AOF-abc --agent agent-7 -o complete -s Done",
    ),
    (
        |env, _| {
            let _ = env.aof(&["status"]);
            env.write(".aof/mine", "x");
            env.git(&["add", "--force", ".aof/mine"]);
        },
        "task new More",
    ),
    (
        |env, _| {
            env.write("project.yaml", format!("{PROJECT}git: {{branch: tasks}}\n"));
            env.commit_all("a branch");
        },
        "task new More",
    ),
    (
        |env, _| {
            let sync = "git: {sync: true}\n";
            env.write("project.yaml", format!("{PROJECT}{sync}"));
            env.git(&["remote", "add", "origin", "../gone.git"]);
            env.commit_all("synced");
        },
        "task next --agent agent-7",
    ),
];

#[test]
fn disorder_is_reported_with_these_codes() {
    let scene = TestEnvironment::with_rules(PROJECT, ORG);
    let id = scene.new_task(&["Add login"]);
    let mut output = String::new();
    for (harm, line) in HARMS {
        let mut table = Table::new(scene.copy());
        harm(&table.env, &id);
        table.fails(&line.replace("ID", &id));
        table.is_documented();
        output += &table.output;
    }
    // Where there is no project, no rule, or no repository.
    let mut nothing = Table::new(TestEnvironment::without_repository());
    nothing.fails("status");
    nothing.fails("verify");
    nothing.fails("init --branch aof");
    let mut empty = Table::new(TestEnvironment::without_rules());
    empty.fails("task new More");
    empty.fails("init --branch aof");
    empty.env.write("project.yaml", PROJECT);
    empty.env.write("org.yaml", ORG);
    empty.fails("task new More");
    empty.fails("org reload");
    nothing.is_documented();
    empty.is_documented();
    assert_snapshot!(output + &nothing.output + &empty.output);
}
