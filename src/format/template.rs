//! What `aof init` writes: a commented project.yaml and org.yaml, and a first task that explains itself.

use super::frontmatter::is_printable;
use crate::model::words::words;
use crate::model::{AgentId, TaskId};

words!(
    /// A process to begin with.
    Template, "a template", {
        /// Work and review: two gates.
        Basic = "basic",
        /// Software, from the first line to a person's approval: six gates.
        Sdlc = "sdlc",
    }
);

/// Who begins the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Founder {
    /// The id that org.yaml will know them by.
    pub agent: AgentId,
    /// Their name, as git has it.
    pub name: String,
    /// Their address, as git has it: it tells later who acts.
    pub email: String,
}

/// The two configuration files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// project.yaml
    pub project: String,
    /// org.yaml
    pub org: String,
}

/// The first task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstTask {
    /// What it is called.
    pub title: &'static str,
    /// What it says, in Markdown.
    pub body: String,
}

impl Founder {
    /// Returns the founder of that name and address, as git has them; the id is made of the name.
    pub fn new(name: &str, email: &str) -> Self {
        let words = [name, email.split('@').next().unwrap_or_default(), "me"];
        let agent = words.iter().find_map(|word| human_id(word)).expect("`human-me` is an agent id");
        let (name, email) = (signature(name), signature(email).replace(char::is_whitespace, ""));
        let name = if name.trim().is_empty() { agent.to_string() } else { name };
        let email = if email.is_empty() { format!("{agent}@aof.invalid") } else { email };
        Self { agent, name, email }
    }
}

impl Template {
    /// Returns the configuration files for a project of that name.
    pub fn files(self, project: &str, founder: &Founder) -> Files {
        let (project_file, org_file) = match self {
            Self::Basic => (include_str!("templates/basic.project.yaml"), include_str!("templates/basic.org.yaml")),
            Self::Sdlc => (include_str!("templates/sdlc.project.yaml"), include_str!("templates/sdlc.org.yaml")),
        };
        let (project, name, email) = (quotable(project), quotable(&founder.name), quotable(&founder.email));
        let values = [
            ("project", project.as_str()),
            ("agent", founder.agent.as_str()),
            ("name", name.as_str()),
            ("email", email.as_str()),
        ];
        Files { project: filled(project_file, &values), org: filled(org_file, &values) }
    }

    /// Returns the task that shows how it is done; its text speaks of itself by its id.
    pub fn first_task(self, id: &TaskId) -> FirstTask {
        let (title, body) = match self {
            Self::Basic => ("Get to know aof", include_str!("templates/basic.task.md")),
            Self::Sdlc => ("Get to know aof: greet a user by name", include_str!("templates/sdlc.task.md")),
        };
        FirstTask { title, body: filled(body, &[("task", id.as_str())]) }
    }
}

/// Returns the text with every `{{key}}` replaced, in one pass: what a value holds is never looked at.
fn filled(text: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let (key, after) = after.split_once("}}").expect("the templates close what they open");
        let (_, value) = values.iter().find(|(name, _)| *name == key).expect("the templates name what there is");
        out.push_str(value);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Returns the text without what git leaves out of an author, too.
fn signature(text: &str) -> String {
    text.chars().filter(|c| is_printable(*c) && !matches!(c, '<' | '>')).collect()
}

/// Returns a text as it can stand between double quotes in YAML.
fn quotable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !c.is_control()) {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Returns the agent id of a person, made of their name: `human-ada-lovelace`.
fn human_id(name: &str) -> Option<AgentId> {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    let slug = slug.get(..40).unwrap_or(&slug).trim_end_matches('-');
    (!slug.is_empty()).then(|| format!("human-{slug}").parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::config::{Source, load};
    use crate::format::diagnostic::{Paint, render_all};

    fn loaded(template: Template, project: &str, founder: &Founder) -> crate::format::config::Configuration {
        let files = template.files(project, founder);
        let sources = [("project.yaml", files.project), ("org.yaml", files.org)]
            .map(|(name, text)| Source { name: name.into(), bytes: text.into_bytes() });
        load(&sources).unwrap_or_else(|found| panic!("{}", render_all(&found, Paint::Plain)))
    }

    #[test]
    fn every_template_is_a_project_whoever_begins_it() {
        let hostile = "\"}} {{email}} \\ # : é\u{1b}\n- x";
        for (name, project) in [("Ada Lovelace", "Garden"), (hostile, hostile), ("", ""), ("李", "- a: b")] {
            let founder = Founder::new(name, "ada@garden.example");
            for template in Template::ALL {
                let configuration = loaded(*template, project, &founder);
                let shown: String = project.chars().filter(|c| !c.is_control()).collect();
                assert_eq!(configuration.project.name.as_deref(), Some(shown.as_str()));
                let own = configuration.org.agent(&founder.agent).unwrap();
                assert_eq!(own.email.as_deref(), Some("ada@garden.example"));
                for gate in &configuration.project.workflows[0].gates {
                    assert!(!configuration.org.role(gate.role().unwrap()).unwrap().agents.is_empty());
                }
                for agent in configuration.org.all_agents() {
                    assert!(configuration.org.is_registered(agent), "{agent}");
                }
            }
        }
    }

    #[test]
    fn a_person_is_known_even_where_git_knows_little() {
        let founder = Founder::new("<>\n", " ");
        assert_eq!((founder.name.as_str(), founder.email.as_str()), ("human-me", "human-me@aof.invalid"));
        loaded(Template::Basic, "Garden", &founder);
    }

    #[test]
    fn a_person_is_named_after_their_name() {
        let id = |name: &str, email: &str| Founder::new(name, email).agent.to_string();
        assert_eq!(id("Ada  King, Countess", "x@y"), "human-ada-king-countess");
        assert_eq!(id("李", "li.wei@garden.example"), "human-li-wei");
        assert_eq!(id("", ""), "human-me");
        assert!(id(&"a".repeat(300), "").len() < 64);
    }

    #[test]
    fn the_basic_process_is_about_ten_lines() {
        let files = Template::Basic.files("Garden", &Founder::new("Ada", "ada@garden.example"));
        let lines = |text: &str| text.lines().filter(|l| !l.trim().is_empty() && !l.trim().starts_with('#')).count();
        assert!(lines(&files.project) <= 11, "{}", files.project);
        for (text, schema) in [(&files.project, "project"), (&files.org, "org")] {
            let first = format!("# yaml-language-server: $schema=.aof/schema/{schema}.json\n");
            assert!(text.starts_with(&first));
        }
    }

    #[test]
    fn the_first_task_speaks_of_itself_and_of_gates_that_there_are() {
        let id: TaskId = "AOF-7qk".parse().unwrap();
        let founder = Founder::new("Ada", "ada@garden.example");
        for template in Template::ALL {
            let task = template.first_task(&id);
            assert!(task.body.contains("aof task complete AOF-7qk --"), "{}", task.body);
            let configuration = loaded(*template, "Garden", &founder);
            let first = &configuration.project.workflows[0].gates[0];
            assert!(task.body.contains(&format!("the gate `{}`", first.id)));
            for word in task.body.split_whitespace().filter(|word| word.starts_with("agent-")) {
                assert!(configuration.org.is_registered(&word.parse().unwrap()), "{word}");
            }
        }
    }
}
