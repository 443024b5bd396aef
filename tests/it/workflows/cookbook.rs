//! What the documentation shows is true: every workflow on its pages is valid and can be walked, every command does what is said.

use std::fs;
use std::path::Path;

use aof::domain::{Duty, Severity, Target, Workflow};
use aof::files::config::configuration::{Configuration, Source, load};
use aof::files::diagnostic::{ColorMode, render_all};
use aof::rules::Rules;

use crate::support::environment::{TestEnvironment, is_of_a_person, silent_terminal};
use crate::support::workflow_walker::walk;

/// The id that pages use for whichever task was made last.
const ID: &str = "AOF-7qk";

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
        let named =
            line.strip_prefix("# ").filter(|name| name.split('.').next_back() == Some("yaml"));
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
    let guides = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guides");
    for guide in fs::read_dir(guides).unwrap().map(|entry| entry.unwrap().file_name()) {
        let page = format!("docs/guides/{}", guide.to_str().unwrap());
        let mut project: Vec<(String, String)> = Vec::new();
        for block in blocks(&page).iter().filter(|block| block.kind == "yaml") {
            let shown = files(&block.text);
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

/// Each block as it is written, in an empty folder, one after the other.
#[test]
fn every_command_of_recipes_loops_and_children_says_what_is_shown() {
    for (page, least) in [
        ("docs/guides/recipes.md", 15),
        ("docs/guides/loops.md", 14),
        ("docs/guides/children.md", 7),
    ] {
        let env = TestEnvironment::without_repository();
        let (mut last, mut ran) = (String::new(), 0);
        for block in &blocks(page) {
            match block.kind.as_str() {
                "yaml" => {
                    for (name, text) in &files(&block.text) {
                        env.write(name, text);
                    }
                }
                "console" => ran += run(&env, page, block, &mut last),
                other => panic!("{page}:{}: a block of `{other}`", block.line),
            }
        }
        assert!(ran >= least, "{page}: only {ran} commands");
    }
}

/// Runs the commands of a block, and returns how many there are. `last` is the task that was made last.
fn run(env: &TestEnvironment, page: &str, session: &Block, last: &mut String) -> usize {
    let text = session.text.strip_prefix("$ ").expect("a block begins with a command");
    let commands: Vec<&str> = text.split("\n$ ").collect();
    let folder = Path::new(env!("CARGO_BIN_EXE_aof")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    for text in &commands {
        let (line, shown) = text.split_once('\n').unwrap_or((text, ""));
        let mut shell = env.command("sh");
        shell.args(["-c", &line.replace(ID, last)]).env("PATH", &path);
        if is_of_a_person(&line.split(' ').skip(1).collect::<Vec<_>>()) {
            shell.stdin(silent_terminal());
        }
        let known = env.files("tasks");
        let output = env.run(shell).success();
        let made = env
            .files("tasks")
            .into_iter()
            .find(|path| !known.contains(path) && line.contains("aof new"));
        if let Some(path) = made {
            Path::new(&path).file_stem().unwrap().to_str().unwrap().clone_into(last);
        }
        let said = format!("{}{}", output.stdout, output.stderr).replace("AOF-xxxxx", ID);
        assert_eq!(said.trim_end(), shown.trim_end(), "{page}:{}: {line}", session.line);
    }
    commands.len()
}
