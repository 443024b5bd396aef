//! The commands, their arguments, their options and the words that options take.

use std::collections::{HashMap, VecDeque};

use insta::assert_snapshot;

use crate::support::environment::TestEnvironment;

/// Sections of a help page that name no commands.
const OTHER_SECTIONS: &[&str] = &["Options", "Global options", "Arguments", "Example", "Examples"];

/// What a help page says of one command.
#[derive(Default)]
struct Page {
    usages: Vec<String>,
    commands: Vec<String>,
    arguments: Vec<Entry>,
    options: Vec<Entry>,
    globals: Vec<Entry>,
}

/// An argument or an option, with all lines that tell of it.
struct Entry {
    spelling: String,
    text: String,
}

/// The part of a page in which a line stands.
#[derive(Clone, Copy, PartialEq)]
enum Section {
    Commands,
    Arguments,
    Options,
    Globals,
    Other,
}

impl Page {
    fn read(text: &str) -> Self {
        let mut page = Self::default();
        let mut section = Section::Other;
        for line in text.lines() {
            let indent = line.len() - line.trim_start().len();
            let words = line.trim();
            if words.starts_with("Usage: ") || indent == 7 && words.starts_with("aof ") {
                page.usages.push(words.trim_start_matches("Usage: ").to_owned());
            } else if indent == 0 && !words.is_empty() {
                section = page.section_of(words);
            } else {
                page.take_line(section, indent, words);
            }
        }
        page
    }

    fn section_of(&self, line: &str) -> Section {
        match line.strip_suffix(':') {
            Some("Options") => Section::Options,
            Some("Global options") => Section::Globals,
            Some("Arguments") => Section::Arguments,
            Some(name) if !OTHER_SECTIONS.contains(&name) && self.has_commands() => {
                Section::Commands
            }
            _ => Section::Other,
        }
    }

    fn has_commands(&self) -> bool {
        self.usages.iter().any(|usage| usage.contains("COMMAND"))
    }

    fn take_line(&mut self, section: Section, indent: usize, line: &str) {
        let (spelling, text) = line.split_once("  ").unwrap_or((line, ""));
        let begins = match section {
            Section::Commands => {
                if indent == 2 && !text.is_empty() && spelling != "help" {
                    self.commands.push(spelling.to_owned());
                }
                return;
            }
            Section::Arguments => indent == 2 && line.starts_with(['<', '[']),
            Section::Options | Section::Globals => indent <= 6 && line.starts_with('-'),
            Section::Other => return,
        };
        let entries = match section {
            Section::Arguments => &mut self.arguments,
            Section::Options => &mut self.options,
            _ => &mut self.globals,
        };
        if begins {
            let (spelling, text) = (spelling.to_owned(), text.trim().to_owned());
            entries.push(Entry { spelling, text });
        } else if let Some(last) = entries.last_mut() {
            last.text += &format!("\n{line}");
        }
    }
}

impl Entry {
    /// Returns the entry in one line, without its sentences.
    fn shown(&self) -> String {
        let mut line = format!("  {}", self.spelling);
        let text = self.text.replace('\n', " ");
        for name in ["possible values", "default", "env", "alias", "aliases"] {
            let mark = format!("[{name}: ");
            if let Some((_, rest)) = text.split_once(&mark) {
                let value = rest.split(']').next().unwrap();
                line += &format!(" [{name}: {value}]");
            }
        }
        let values: Vec<_> = self.text.lines().filter_map(value_of).collect();
        if !values.is_empty() {
            line += &format!(" [possible values: {}]", values.join(", "));
        }
        line
    }
}

/// Returns the value that a line of a list of values is about.
fn value_of(line: &str) -> Option<&str> {
    let (value, _) = line.strip_prefix("- ")?.split_once(':')?;
    Some(value).filter(|value| !value.contains(' '))
}

fn shown(entries: &[Entry]) -> Vec<String> {
    // Everybody knows `--help`, and clap moves it about.
    let lines = entries.iter().map(Entry::shown);
    lines.filter(|line| !line.starts_with("  -h, --help")).collect()
}

#[test]
fn commands_take_these_words() {
    let env = TestEnvironment::without_repository();
    let mut waiting = VecDeque::from([String::new()]);
    let mut output: Vec<String> = Vec::new();
    let mut everywhere = Vec::new();
    let mut abouts = HashMap::new();
    while let Some(command) = waiting.pop_front() {
        let words = match &command[..] {
            "" => vec!["help", "all"],
            command => command.split_whitespace().chain(["--help"]).collect(),
        };
        let text = env.aof(&words).success().stdout;
        if let Some(short) = command.strip_prefix("task ")
            && abouts.values().any(|known| known == short)
        {
            let same = env.aof(&[short, "--help"]).success().stdout;
            let in_short = |text: &str| text.replace("aof task ", "aof ");
            assert_eq!(in_short(&text), in_short(&same));
            continue;
        }
        let about = text.lines().next().unwrap_or_default().to_owned();
        if let Some(other) = abouts.insert(about.clone(), command.clone()) {
            panic!("`{command}` and `{other}` describe themselves alike: {about}");
        }
        let page = Page::read(&text);
        assert!(!page.usages.is_empty(), "`{command}` has no usage");
        let mut lines = page.usages.clone();
        let mut options = shown(&page.options);
        options.extend(shown(&page.globals));
        lines.extend(shown(&page.arguments));
        if command.is_empty() {
            // The top has what every command has, and tells its version.
            everywhere = options.clone();
            everywhere.retain(|line| !line.contains("--version"));
        } else {
            let lacks: Vec<_> = everywhere.iter().filter(|own| !options.contains(own)).collect();
            assert!(lacks.is_empty(), "`{command}` lacks {lacks:?}");
            options.retain(|line| !everywhere.contains(line));
        }
        lines.extend(options);
        output.push(lines.join("\n"));
        let below = page.commands.iter().rev();
        below.for_each(|name| waiting.push_front(format!("{command} {name}").trim().to_owned()));
    }
    assert!(output.len() > 50, "{} commands", output.len());
    assert_snapshot!(output.join("\n\n"));
}

#[test]
fn completions_and_pages_are_of_all_commands() {
    let env = TestEnvironment::without_repository();
    let _ = env.aof(&["man", "pages"]).success();
    let mut pages = env.files("pages");
    pages.retain(|page| !page.contains("-help"));
    assert_snapshot!(pages.join("\n"));
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = env.aof(&["completions", shell]).success().stdout;
        assert!(script.contains("COMPLETE") && script.contains("aof"), "{script}");
    }
}
