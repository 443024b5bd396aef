//! Processes to begin with: each is one file of this folder, a workflow with comments for whoever meets it first.
//!
//! `aof workflow create` writes it as a file of `workflows/`, `aof init` as the `workflow` of project.yaml, with the org.yaml
//! that it needs and a first task that explains itself. The first line of each says what it is for.

use super::people;
use super::people::{Founder, Part};

use crate::domain::words::words;
use crate::domain::{RoleId, Shape, TaskId, Workflow};
use crate::files::config::configuration::{Source, read};

words!(
    /// A process to begin with.
    Template, "a template", {
        /// Work and review: two gates.
        Basic = "basic",
        /// Software, from the first line to a person's approval: six gates.
        Sdlc = "sdlc",
        /// A sale.
        Sales = "sales",
        /// A text on its way to its readers.
        Publishing = "publishing",
        /// A review with three decisions, and what was learned is kept.
        Compound = "compound",
        /// A feature with a plan that a person accepts.
        FeatureDevelopment = "feature-development",
        /// A bug.
        BugFix = "bug-fix",
        /// Tests of all kinds at once.
        ComprehensiveTest = "comprehensive-test",
        /// A change of form.
        Refactor = "refactor",
        /// A release that can be taken back.
        Deploy = "deploy",
        /// An issue, by five roles.
        SolveIssue = "solve-issue",
        /// All in one go, then a hard review.
        Fast = "fast",
        /// Small steps, then a hard review.
        Reviewed = "reviewed",
        /// Tests first, then a hard review.
        Tdd = "tdd",
        /// A specification first, then a hard review.
        SpecDriven = "spec-driven",
        /// Without people.
        Autonomous = "autonomous",
    }
);

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

/// Where the review goes that several templates share; what follows it belongs to its last gate.
const REVIEW_MARK: &str = "@review\n";

impl Template {
    /// Returns what it is for, in one line.
    pub fn summary(self) -> &'static str {
        let (first, _) = self.parts();
        first.trim_start_matches("# ")
    }

    /// Returns the file of `workflows/` that holds it.
    pub fn workflow_file(self) -> String {
        let (_, rest) = self.parts();
        format!(
            "# yaml-language-server: $schema=../.aof/schema/workflow.json\n\ndescription: \"{}\"\n{}",
            self.summary(),
            reviewed(rest)
        )
    }

    /// Returns the configuration files for a project of that name.
    pub fn files(self, project: &str, founder: &Founder) -> Files {
        let (_, rest) = self.parts();
        let project_file = format!(
            "{}  # {}.\n{}",
            filled(include_str!("project.yaml"), &[("project", &people::quotable(project))]),
            self.summary(),
            indented(&reviewed(rest))
        );
        let workflow = self.workflow();
        Files {
            project: project_file,
            org: people::org_file(&self.cast(&workflow.roles(), founder), founder),
        }
    }

    /// Returns who does what in roles of it.
    pub fn cast(self, roles: &[&RoleId], founder: &Founder) -> Vec<Part> {
        roles.iter().filter_map(|role| people::part(self, role, founder)).collect()
    }

    /// Returns it as a workflow.
    pub fn workflow(self) -> Workflow {
        let source = Source {
            name: format!("workflows/{self}.yaml"),
            bytes: self.workflow_file().into_bytes(),
        };
        let mut workflows = read(&[source]).configuration.project.workflows;
        workflows.pop().expect("a test reads every template")
    }

    /// Returns the task that shows how it is done; its text speaks of itself by its id.
    pub fn first_task(self, id: &TaskId, founder: &Founder) -> FirstTask {
        let (title, body) = match self {
            Self::Basic => ("Get to know aof", include_str!("basic.task.md")),
            Self::Sdlc => ("Get to know aof: greet a user by name", include_str!("sdlc.task.md")),
            _ => ("Get to know aof", include_str!("first.task.md")),
        };
        let workflow = self.workflow();
        let first = &workflow.gates[0];
        let cast = self.cast(&first.roles(), founder);
        let agent = cast.first().and_then(|part| part.agents.first()).unwrap_or(&founder.agent);
        let outcome =
            first.exits.decisions().next().map_or("complete", |decision| decision.as_str());
        let shape = first.duty().and_then(|duty| duty.outputs.shape(outcome));
        let required = shape
            .and_then(Shape::fields)
            .map(|fields| fields.required.as_slice())
            .unwrap_or_default();
        let outputs: String = required
            .iter()
            .fold(String::new(), |line, name| line + &format!(" --output {name}=..."));
        let values = [
            ("task", id.as_str()),
            ("gate", first.id.as_str()),
            ("agent", agent.as_str()),
            ("outcome", outcome),
            ("outputs", &outputs),
        ];
        FirstTask { title, body: filled(body, &values) }
    }

    /// Returns the first line, and the others.
    fn parts(self) -> (&'static str, &'static str) {
        self.source().split_once('\n').unwrap_or_default()
    }

    const fn source(self) -> &'static str {
        match self {
            Self::Basic => include_str!("basic.yaml"),
            Self::Sdlc => include_str!("sdlc.yaml"),
            Self::Sales => include_str!("sales.yaml"),
            Self::Publishing => include_str!("publishing.yaml"),
            Self::Compound => include_str!("compound.yaml"),
            Self::FeatureDevelopment => include_str!("feature-development.yaml"),
            Self::BugFix => include_str!("bug-fix.yaml"),
            Self::ComprehensiveTest => include_str!("comprehensive-test.yaml"),
            Self::Refactor => include_str!("refactor.yaml"),
            Self::Deploy => include_str!("deploy.yaml"),
            Self::SolveIssue => include_str!("solve-issue.yaml"),
            Self::Fast => include_str!("fast.yaml"),
            Self::Reviewed => include_str!("reviewed.yaml"),
            Self::Tdd => include_str!("tdd.yaml"),
            Self::SpecDriven => include_str!("spec-driven.yaml"),
            Self::Autonomous => include_str!("autonomous.yaml"),
        }
    }
}

fn reviewed(text: &str) -> String {
    text.replace(REVIEW_MARK, include_str!("review.yaml"))
}

fn indented(text: &str) -> String {
    text.lines()
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") })
        .collect()
}

/// Returns the text with every `{{key}}` replaced, in one pass: what a value holds is never looked at.
fn filled(text: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let (key, after) = after.split_once("}}").expect("the templates close what they open");
        let (_, value) =
            values.iter().find(|(name, _)| *name == key).expect("the templates name what there is");
        out.push_str(value);
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::config::configuration::{Source, load};
    use crate::files::diagnostic::diagnostic::{Paint, render_all};

    fn loaded(
        template: Template,
        project: &str,
        founder: &Founder,
    ) -> crate::files::config::configuration::Configuration {
        let files = template.files(project, founder);
        let sources = [("project.yaml", files.project), ("org.yaml", files.org)]
            .map(|(name, text)| Source { name: name.into(), bytes: text.into_bytes() });
        load(&sources).unwrap_or_else(|found| panic!("{}", render_all(&found, Paint::Plain)))
    }

    #[test]
    fn every_template_is_a_project_whoever_begins_it() {
        let hostile = "\"}} {{email}} \\ # : é\u{1b}\n- x";
        for (name, project) in
            [("Ada Lovelace", "Garden"), (hostile, hostile), ("", ""), ("李", "- a: b")]
        {
            let founder = Founder::new(name, "ada@garden.example");
            for template in Template::ALL {
                let configuration = loaded(*template, project, &founder);
                let shown: String = project.chars().filter(|c| !c.is_control()).collect();
                assert_eq!(configuration.project.name.as_deref(), Some(shown.as_str()));
                let own = configuration.org.agent(&founder.agent).unwrap();
                assert_eq!(own.email.as_deref(), Some("ada@garden.example"));
                for role in configuration.project.workflows[0].roles() {
                    assert!(!configuration.org.role(role).unwrap().agents.is_empty());
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
        assert_eq!(
            (founder.name.as_str(), founder.email.as_str()),
            ("human-me", "human-me@aof.invalid")
        );
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
        let lines = |text: &str| {
            text.lines().filter(|l| !l.trim().is_empty() && !l.trim().starts_with('#')).count()
        };
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
            let task = template.first_task(&id, &founder);
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
