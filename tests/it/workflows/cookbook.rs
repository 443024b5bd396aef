//! What the documentation shows is true: every workflow on its pages is valid and can be walked, every command does what is said.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, iter};

use aof::domain::{Duty, Severity, Target, Workflow};
use aof::files::config::configuration::{Configuration, Source, load};
use aof::files::diagnostic::{ColorMode, render_all};
use aof::rules::Rules;
use serde_json::Value;

use crate::agents::forge::{Forge, check, copy_recipes, request};
use crate::support::environment::{TestEnvironment, is_of_a_person, silent_terminal};
use crate::support::scripted_agents::timeless;
use crate::support::workflow_walker::walk;

/// The id that pages use for whichever task was made last, the token that they show, and the key.
const ID: &str = "AOF-7qk";
const TOKEN: &str = "aof_p2v9...";
const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDrGwTXlPu6BCAs/WbjSjtwBTL/ZF3EAOFL3allUTOAO";

/// The blocks that need what a test cannot have: the page, how the first command begins, and why.
const NOT_RUN: [(&str, &str, &str); 7] = [
    ("board.md", "aof board ", "waits for keys at a terminal"),
    ("notices.md", "from standardwebhooks", "needs a package of PyPI; `.ci/webhook` runs it"),
    ("running.md", "aof workflow run feature", "starts claude and codex"),
    ("running.md", "aof run --agent coder", "needs claude at its usage limit"),
    ("watching.md", "mkdir -p ~/.config/systemd", "needs systemd"),
    ("watching.md", "cp docs/services/org.aof", "needs macOS"),
    ("web.md", "aof serve ", "serves until it is stopped"),
];

/// A block of code on a page.
struct Block {
    kind: String,
    line: usize,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for (number, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), open) {
            (Some(kind), false) => {
                blocks.push(Block { kind: kind.to_owned(), line: number + 1, text: String::new() });
                open = true;
            }
            (Some(_), true) => open = false,
            (None, true) => {
                let block = blocks.last_mut().unwrap();
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, false) => {}
        }
    }
    blocks
}

/// Returns what a page shows of a workflow as a whole one.
fn whole(text: &str) -> String {
    let indented = |by: &str| text.lines().map(|line| format!("{by}{line}\n")).collect::<String>();
    if text.lines().any(|line| line.starts_with("gates:")) {
        return text.to_owned();
    }
    match text.trim_start().split(':').next().unwrap() {
        "context" => format!("{text}gates: [{{id: work, role: worker}}]\n"),
        "routes" => {
            format!(
                "gates:\n  - {{id: start, role: worker}}\n  - id: review\n    role: reviewer\n{}",
                indented("    ")
            )
        }
        _ => format!("gates:\n  - {{id: start, role: worker}}\n{text}"),
    }
}

/// Returns the workflow with a gate for every name that it mentions and does not have.
fn completed(text: &str) -> String {
    let text = whole(text);
    let workflow = configuration(&text, "").project.workflows.remove(0);
    let mut lacking: Vec<String> = Vec::new();
    for gate in &workflow.gates {
        for (_, route) in gate.exits.written() {
            let to = match &route.to {
                Target::Gate(to) => Some(to),
                _ => None,
            };
            lacking.extend(to.into_iter().chain(&route.clear).map(ToString::to_string));
        }
        let context =
            gate.when.as_deref().and_then(|when| when.split("context.").nth(1)?.split('.').next());
        lacking.extend(context.map(str::to_owned));
    }
    lacking.retain(|name| !workflow.gates.iter().any(|gate| gate.id.as_str() == name));
    lacking.dedup();
    let stubs: String =
        lacking.iter().map(|name| format!("  - {{id: {name}, role: worker}}\n")).collect();
    text.replacen("gates:\n", &format!("gates:\n{stubs}"), 1)
}

fn configuration(workflow: &str, org: &str) -> Configuration {
    let source = |name: &str, text: &str| Source { name: name.to_owned(), bytes: text.into() };
    load(&[source("workflows/shown.yaml", workflow), source("org.yaml", org)])
        .unwrap_or_else(|faults| panic!("{}\n{workflow}", render_all(&faults, ColorMode::Plain)))
}

/// Returns an org.yaml in which each role has an agent of its name; a person where a gate is for people, or who steps in there.
fn org(workflow: &Workflow) -> String {
    let mut roles: Vec<String> = workflow.roles().iter().map(ToString::to_string).collect();
    roles.extend(
        workflow
            .visible_to
            .iter()
            .filter(|name| !roles.contains(name))
            .cloned()
            .collect::<Vec<_>>(),
    );
    let people = |role: &String| {
        let mut duties = workflow.gates.iter().filter_map(|gate| gate.duty());
        let works = |duty: &Duty| {
            duty.role.as_str() == role
                || duty.escalate_to.as_ref().is_some_and(|to| to.as_str() == role)
        };
        duties.any(|duty| duty.require_human && works(duty))
    };
    let line = |role: &String| {
        let kind = if people(role) { "human" } else { "agent" };
        format!("  {role}: {{agents: [{kind}-{role}]}}\n")
    };
    format!("roles:\n{}", roles.iter().map(line).collect::<String>())
}

fn rules(text: &str) -> Rules {
    let workflow = configuration(text, "").project.workflows.remove(0);
    let configuration = configuration(text, &org(&workflow));
    Rules::new(configuration.project, configuration.org)
        .unwrap_or_else(|found| panic!("{found:#?}\n{text}"))
        .0
}

#[test]
fn every_recipe_is_valid_without_a_warning_and_can_be_walked() {
    let blocks = blocks("docs/guides/recipes.md");
    let is_recipe = |block: &&Block| block.text.starts_with("# workflows/");
    let recipes: Vec<&Block> = blocks.iter().filter(is_recipe).collect();
    assert!(recipes.len() >= 15, "only {} recipes", recipes.len());
    for block in recipes {
        let workflow = configuration(&block.text, "").project.workflows.remove(0);
        let configuration = configuration(&block.text, &org(&workflow));
        let (rules, findings) = Rules::new(configuration.project, configuration.org).unwrap();
        let worse: Vec<_> =
            findings.iter().filter(|finding| finding.severity > Severity::Note).collect();
        assert!(worse.is_empty(), "docs/guides/recipes.md:{}: {worse:#?}", block.line);
        walk(&rules, &rules.project.workflows[0]);
    }
}

#[test]
fn every_example_of_the_language_is_valid() {
    for (page, least) in [("workflows", 8), ("tests", 1), ("watching", 1)] {
        let blocks = blocks(&format!("docs/guides/{page}.md"));
        let is_example = |block: &&Block| {
            block.kind == "yaml"
                && !block.text.starts_with("tests:")
                && !block.text.starts_with("# project.yaml")
        };
        let examples: Vec<&Block> = blocks.iter().filter(is_example).collect();
        assert!(examples.len() >= least, "{page}: only {} examples", examples.len());
        for block in examples {
            let text = block.text.split("# org.yaml").next().unwrap();
            let text = match text.strip_prefix("workflow:\n") {
                Some(inner) => inner.replace("\n  ", "\n").split_off(2),
                None => text.to_owned(),
            };
            rules(&completed(&text));
        }
    }
}

#[test]
fn an_imported_workflow_is_as_the_guide_shows_it() {
    let env = TestEnvironment::without_repository();
    let shown = blocks("docs/guides/importing.md");
    let shown: Vec<&Block> = shown.iter().filter(|block| block.kind == "yaml").collect();
    env.write("recipe.yml", &shown[0].text);
    let imported = env.aof(&["workflow", "import", "recipe.yml", "--dry-run"]).success();
    assert!(imported.stdout.ends_with(&shown[1].text), "{imported}");
}

/// Returns the files that a block shows, each behind a comment with its name.
fn files(text: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        let named = line
            .strip_prefix("# ")
            .filter(|name| matches!(name.split('.').next_back(), Some("yaml" | "yml")));
        match (named, files.last_mut()) {
            (Some(name), _) => files.push((name.to_owned(), format!("{line}\n"))),
            (None, Some((_, text))) => text.push_str(&format!("{line}\n")),
            (None, None) => {}
        }
    }
    files
}

#[test]
fn every_rules_file_of_the_guides_is_valid() {
    let mut found = 0;
    let source = |(name, text): &(String, String)| Source {
        name: name.clone(),
        bytes: text.as_bytes().to_vec(),
    };
    for guide in guides() {
        let page = format!("docs/guides/{guide}");
        let mut project: Vec<(String, String)> = Vec::new();
        for block in blocks(&page).iter().filter(|block| block.kind == "yaml") {
            let mut shown = files(&block.text);
            // A workflow of another system, to be imported.
            shown.retain(|(name, _)| name != "recipe.yml");
            found += shown.len();
            let sources: Vec<Source> = shown.iter().map(source).collect();
            if let Err(faults) = load(&sources) {
                panic!("{page}:{}: {}", block.line, render_all(&faults, ColorMode::Plain));
            }
            // With those that the page showed before, they are a project.
            for (name, text) in shown {
                project.retain(|(known, _)| *known != name);
                project.push((name, text));
            }
        }
        let sources: Vec<Source> = project.iter().map(source).collect();
        let configuration = load(&sources).unwrap();
        if let Err(found) = Rules::new(configuration.project, configuration.org) {
            panic!("{page}: {found:#?}");
        }
    }
    assert!(found >= 25, "only {found} files");
}

/// Returns the names of all guides.
fn guides() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guides");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

/// Each block as it is written, in an empty folder, one after the other.
#[test]
fn every_guide_works_in_an_empty_folder_with_the_shown_output() {
    let (mut ran, mut unmatched) = (0, NOT_RUN.to_vec());
    for name in guides() {
        let blocks = blocks(&format!("docs/guides/{name}"));
        let (mut reader, mut is_listed) = (Reader::new(&name), false);
        for block in &blocks {
            let is_of_block = |(page, first, _): &(&str, &str, &str)| {
                *page == name && block.text.trim_start_matches("$ ").starts_with(first)
            };
            match unmatched.iter().position(is_of_block) {
                Some(at) => {
                    unmatched.remove(at);
                    is_listed = true;
                }
                None => reader.follow(block),
            }
        }
        // What stands in the text alone is another test's.
        let is_covered = reader.ran > 0 || is_listed || blocks.is_empty();
        assert!(is_covered, "{name}: nothing is run, and nothing is listed in `NOT_RUN`");
        ran += reader.ran;
    }
    assert!(unmatched.is_empty(), "no block begins as these of `NOT_RUN`: {unmatched:#?}");
    assert!(ran >= 118, "only {ran} commands");
}

/// Somebody who does in an empty folder what a page says.
struct Reader<'a> {
    page: &'a str,
    env: TestEnvironment,
    start: String,
    /// The task that was made last.
    task: String,
    trusts: bool,
    /// The forge, for the page that needs one.
    forge: Option<Forge>,
    ran: usize,
}

impl<'a> Reader<'a> {
    fn new(page: &'a str) -> Self {
        let env = TestEnvironment::without_repository();
        let start = env.path("").display().to_string().trim_end_matches('/').to_owned();
        let forge = (page == "pull-requests.md").then(|| Forge::new(&env));
        if let Some(forge) = &forge {
            forge.issue(12, "Log out", "It is not there.");
            copy_recipes(&env.home().join("aof/docs/recipes"));
        }
        Self { page, env, start, task: ID.to_owned(), trusts: false, forge, ran: 0 }
    }

    /// Writes the files of a block, or runs its commands.
    fn follow(&mut self, block: &Block) {
        match block.kind.as_str() {
            "yaml" => {
                for (name, text) in files(&block.text) {
                    self.env.write(&name, self.own(&text));
                }
                // What a job runs.
                for line in block.text.lines().filter(|line| line.trim().starts_with("- aof ")) {
                    self.run(block, line.trim().trim_start_matches("- "), "");
                }
            }
            // Its client would start the server so.
            "json" => {
                let shown: Value = serde_json::from_str(&block.text).unwrap();
                let server = &shown["mcpServers"]["aof"];
                let words =
                    iter::once(&server["command"]).chain(server["args"].as_array().unwrap());
                let words: Vec<&str> = words.map(|word| word.as_str().unwrap()).collect();
                self.run(block, &format!("{} --check", words.join(" ")), "");
            }
            "sh" => drop(self.run(block, &format!("set -e\n{}", block.text), "")),
            "console" => {
                let text = block.text.strip_prefix("$ ").expect("a block begins with a command");
                for text in text.split("\n$ ") {
                    let (line, shown) = text.split_once('\n').unwrap_or((text, ""));
                    let answer = self.run(block, line, shown);
                    let (answer, shown) = (alike(&answer), alike(shown));
                    let (answer, shown): (Vec<_>, Vec<_>) =
                        (answer.lines().collect(), shown.lines().collect());
                    assert!(
                        agree(&answer, &shown),
                        "{}:{}: {line}\n--- shown\n{}\n--- said\n{}",
                        self.page,
                        block.line,
                        shown.join("\n"),
                        answer.join("\n")
                    );
                }
            }
            "text" => {}
            other => panic!("{}:{}: a block of `{other}`", self.page, block.line),
        }
    }

    /// Runs a command where the last one ended, and returns what it says.
    fn run(&mut self, block: &Block, line: &str, shown: &str) -> String {
        let folder = self.env.home().join("folder");
        let mut shell = self.env.command("sh");
        let script = format!("exec 2>&1\n{}\ncode=$?\npwd > ~/folder\nexit $code", self.own(line));
        shell.args(["-c", &script]);
        // At a terminal this asks, and the reader says yes.
        self.trusts |= line.starts_with("aof trust");
        if !self.trusts {
            shell.env_remove("AOF_TRUST");
        }
        let words: Vec<&str> = line.split(' ').skip_while(|word| *word != "aof").skip(1).collect();
        if is_of_a_person(&words) || matches!(words.first(), Some(&("approve" | "reject"))) {
            shell.stdin(silent_terminal());
        }
        if let Some(forge) = self.forge.as_ref().filter(|_| line.starts_with("gh pr create")) {
            forge.requests(&self.task, &[request(7, "OPEN", &"1".repeat(40))]);
            forge.checks(7, &[check("pass", "test")]);
            let url = "https://github.com/ada/shop/pull/7\n";
            forge.answer("create", &["pr", "create", "--fill"], (url, "", 0));
        }
        let tasks = || [self.env.files("tasks"), self.env.files(".aof/branch/tasks")].concat();
        let known = tasks();
        let output = self.env.run(shell);
        let makes = ["aof new", "adopt-issue"].iter().any(|word| line.contains(word));
        let made = tasks().into_iter().find(|path| !known.contains(path) && makes);
        if let Some(path) = made {
            Path::new(&path).file_stem().unwrap().to_str().unwrap().clone_into(&mut self.task);
        }
        let is_refused = shown.lines().any(|line| line.starts_with("error: "));
        assert_eq!(
            output.code != Some(0),
            is_refused,
            "{}:{}: {line}\n{output}",
            self.page,
            block.line
        );
        if folder.exists() {
            self.env.enter(fs::read_to_string(&folder).unwrap().trim());
        }
        self.ran += 1;
        let answer = output.stdout.replace("AOF-xxxxx", ID).replace("aof_TOKEN", TOKEN);
        match self.key() {
            Some(key) => answer.replace(&key, KEY),
            None => answer,
        }
    }

    /// Returns a text of the page with what this reader has.
    fn own(&self, text: &str) -> String {
        let text = text.replace(ID, &self.task).replace("/home/ada", &self.start);
        match self.key() {
            Some(key) => text.replace(KEY, &key),
            None => text,
        }
    }

    /// Returns the public key that was made.
    fn key(&self) -> Option<String> {
        let file = fs::read_to_string(self.env.home().join("aof-key.pub")).ok()?;
        Some(file.split(' ').take(2).collect::<Vec<_>>().join(" "))
    }
}

/// Makes paths and commits the same in every run, and on the page.
fn alike(text: &str) -> String {
    let text = text.replace("$PROJECT", "/home/ada").replace("AOF-first", ID);
    let text = timeless(&text);
    let parts = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()).map(|part| {
        let word = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_commit =
            word.len() == 7 && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_commit { part.replace(word, "COMMIT") } else { part.to_owned() }
    });
    parts.collect()
}

/// Returns whether the lines are those of the page, where a line `...` stands for any lines, and `...` ends a line that goes on.
fn agree(answer: &[&str], shown: &[&str]) -> bool {
    match shown {
        [] => answer.is_empty(),
        ["...", rest @ ..] => (0..=answer.len()).any(|at| agree(&answer[at..], rest)),
        [line, rest @ ..] => answer.split_first().is_some_and(|(first, others)| {
            let is_same = match line.strip_suffix("...") {
                Some(begin) => first.starts_with(begin),
                None => first.trim_end() == line.trim_end(),
            };
            is_same && agree(others, rest)
        }),
    }
}

/// Each command in the text of a page is one, with its options; what it would do is not tried.
#[test]
fn every_command_in_the_text_of_the_guides_is_understood() {
    let env = TestEnvironment::without_repository();
    let mut commands = BTreeSet::new();
    for name in guides() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guides").join(name);
        let page = fs::read_to_string(page).unwrap();
        let text: String = page.split("```").step_by(2).collect();
        let quoted = text.replace('\n', " ");
        let quoted = quoted.split('`').skip(1).step_by(2);
        commands.extend(quoted.filter(|text| text.starts_with("aof ")).map(str::to_owned));
    }
    for command in &commands {
        let mut shell = env.command("sh");
        shell.args(["-c", &format!("{} --help", command.replace("TEMPLATE", "basic"))]);
        shell.env("LAST_JUDGED", "HEAD");
        let output = env.run(shell);
        assert_eq!(output.code, Some(0), "{command}\n{output}");
    }
    assert!(commands.len() >= 90, "only {} commands", commands.len());
}
