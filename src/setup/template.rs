//! Templates of workflows: each is one file of this folder, with comments for newcomers.
//!
//! `aof workflow create` writes a template as a file of `workflows/`. `aof init` writes it as the `workflow` of project.yaml, with the
//! org.yaml that it needs and a first task that explains itself. The first line of each file states its purpose.

use crate::domain::words::words;
use crate::domain::{AgentId, RoleId, Shape, TaskId, Workflow, WorkflowName};
use crate::files::config::configuration::{Source, read};
use crate::files::printable::is_printable;

words!(
    /// A template of a workflow.
    Template, "a template", {
        /// Work and review: two gates.
        Basic = "basic",
        /// Software, from the first line to a person's approval: six gates.
        Sdlc = "sdlc",
        /// A sale.
        Sales = "sales",
        /// The publication of a text.
        Publishing = "publishing",
        /// A review with three decisions; lessons are recorded.
        Compound = "compound",
        /// A feature, with a plan that a person accepts.
        FeatureDevelopment = "feature-development",
        /// A bug.
        BugFix = "bug-fix",
        /// Tests of all kinds at once.
        ComprehensiveTest = "comprehensive-test",
        /// A refactoring.
        Refactor = "refactor",
        /// A release that can be rolled back.
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
pub struct ConfigFiles {
    /// project.yaml
    pub project: String,
    /// org.yaml
    pub org: String,
}

/// The first task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstTask {
    /// The title of the task.
    pub title: &'static str,
    /// The text of the task, in Markdown.
    pub body: String,
}

/// The place of the review that several templates share; the text after it belongs to the review's last gate.
const REVIEW_MARK: &str = "@review\n";

/// The person who creates the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Founder {
    /// The person's id in org.yaml.
    pub agent: AgentId,
    /// The person's name in git.
    pub name: String,
    /// The person's email in git, by which they are recognized later.
    pub email: String,
}

/// A role of a template, with its first agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleCast {
    pub role: RoleId,
    /// The purpose of the role.
    pub does: &'static str,
    pub agents: Vec<AgentId>,
    /// True if only people may act in the role.
    pub require_human: bool,
}

impl Template {
    /// Returns the purpose of the template, in one line.
    pub fn summary(self) -> &'static str {
        let (first, _) = self.parts();
        first.trim_start_matches("# ")
    }

    /// Returns the file of `workflows/` that holds the template.
    pub fn workflow_file(self) -> String {
        let (gates, _) = self.gates_and_promises();
        format!(
            "# yaml-language-server: $schema=../.aof/schema/workflow.json\n\ndescription: \"{}\"\n{}",
            self.summary(),
            reviewed(gates)
        )
    }

    /// Returns the configuration files for a project of that name.
    pub fn files(self, project: &str, founder: &Founder) -> ConfigFiles {
        let (gates, promises) = self.gates_and_promises();
        let project_file = format!(
            "{}  # {}.\n{}\n# What always holds of each task. `aof workflow prove` proves it, or says what would break it.\npromises:\n{promises}",
            filled(include_str!("template/project.yaml"), &[("project", &quotable(project))]),
            self.summary(),
            indented(&reviewed(gates))
        );
        let workflow = self.workflow();
        ConfigFiles {
            project: project_file,
            org: org_file(&self.cast(&workflow.roles(), founder), founder),
        }
    }

    /// Returns these roles with their first agents.
    pub fn cast(self, roles: &[&RoleId], founder: &Founder) -> Vec<RoleCast> {
        roles.iter().filter_map(|role| role_cast(self, role, founder)).collect()
    }

    /// Returns the template as a workflow.
    pub fn workflow(self) -> Workflow {
        let source = Source {
            name: format!("workflows/{self}.yaml"),
            bytes: self.workflow_file().into_bytes(),
        };
        let mut workflows = read(&[source]).configuration.project.workflows;
        workflows.pop().expect("a test reads every template")
    }

    /// Returns the first task, which shows how to work; its text contains its id.
    pub fn first_task(self, id: &TaskId, founder: &Founder) -> FirstTask {
        let (title, body) = match self {
            Self::Basic => ("Get to know aof", include_str!("template/basic.task.md")),
            Self::Sdlc => {
                ("Get to know aof: greet a user by name", include_str!("template/sdlc.task.md"))
            }
            _ => ("Get to know aof", include_str!("template/first.task.md")),
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

    /// Returns the first line of the template, and the other lines.
    fn parts(self) -> (&'static str, &'static str) {
        self.source().split_once('\n').unwrap_or_default()
    }

    /// Returns the lines of the workflow, and those of what a project with it promises, as a list.
    fn gates_and_promises(self) -> (&'static str, &'static str) {
        let (_, rest) = self.parts();
        rest.split_once("\npromises:\n").unwrap_or((rest, ""))
    }

    /// Returns what a project promises of a workflow of that name from the template, as a list for project.yaml.
    pub fn promises(self, name: &WorkflowName) -> String {
        let (_, promises) = self.gates_and_promises();
        promises.replace("\n    always:", &format!("\n    workflow: {name}\n    always:"))
    }

    const fn source(self) -> &'static str {
        match self {
            Self::Basic => include_str!("template/basic.yaml"),
            Self::Sdlc => include_str!("template/sdlc.yaml"),
            Self::Sales => include_str!("template/sales.yaml"),
            Self::Publishing => include_str!("template/publishing.yaml"),
            Self::Compound => include_str!("template/compound.yaml"),
            Self::FeatureDevelopment => include_str!("template/feature-development.yaml"),
            Self::BugFix => include_str!("template/bug-fix.yaml"),
            Self::ComprehensiveTest => include_str!("template/comprehensive-test.yaml"),
            Self::Refactor => include_str!("template/refactor.yaml"),
            Self::Deploy => include_str!("template/deploy.yaml"),
            Self::SolveIssue => include_str!("template/solve-issue.yaml"),
            Self::Fast => include_str!("template/fast.yaml"),
            Self::Reviewed => include_str!("template/reviewed.yaml"),
            Self::Tdd => include_str!("template/tdd.yaml"),
            Self::SpecDriven => include_str!("template/spec-driven.yaml"),
            Self::Autonomous => include_str!("template/autonomous.yaml"),
        }
    }
}

fn reviewed(text: &str) -> String {
    text.replace(REVIEW_MARK, include_str!("template/review.yaml"))
}

fn indented(text: &str) -> String {
    text.lines()
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") })
        .collect()
}

/// Returns the text with every `{{key}}` replaced, in one pass: values are not searched for keys.
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

/// The first agents of a role.
enum Staff {
    /// These agents.
    Agents(&'static [&'static str]),
    /// That agent and the founder.
    AgentAndFounder(&'static str),
    /// The founder.
    Founder,
    /// The founder, and only people may act in the role.
    Person,
}

const ROLES: &[(&str, &str, Staff)] = &[
    ("worker", "Does the work", Staff::AgentAndFounder("agent-1")),
    ("planner", "Says what will be done, and how", Staff::Agents(&["agent-plan-1"])),
    ("developer", "Writes code and tests", Staff::Agents(&["agent-dev-1", "agent-dev-2"])),
    ("reviewer", "Looks for what is wrong with the work", Staff::Agents(&["agent-review-1"])),
    ("tester", "Tries out what was built", Staff::Agents(&["agent-test-1"])),
    ("security", "Looks for ways to misuse it", Staff::Agents(&["agent-security-1"])),
    ("researcher", "Finds out how things are", Staff::Agents(&["agent-research-1"])),
    ("operator", "Brings releases out and takes them back", Staff::Agents(&["agent-operate-1"])),
    ("committer", "Brings changes in", Staff::Agents(&["agent-commit-1"])),
    ("writer", "Writes texts", Staff::Agents(&["agent-write-1"])),
    ("editor", "Makes texts better", Staff::Agents(&["agent-edit-1"])),
    ("fact-checker", "Checks what texts claim", Staff::Agents(&["agent-facts-1"])),
    ("lawyer", "Knows what may not be printed", Staff::Agents(&["agent-law-1"])),
    ("publisher", "Brings texts to their readers", Staff::Agents(&["agent-publish-1"])),
    ("prospector", "Finds customers", Staff::Agents(&["agent-prospect-1"])),
    ("sales-manager", "Judges offers and agrees on terms", Staff::Agents(&["agent-manage-1"])),
    ("account-executive", "Looks after a customer", Staff::Agents(&["agent-account-1"])),
    ("sales-director", "Signs", Staff::Person),
    ("owner", "Accepts the result", Staff::Person),
    ("lead", "Is asked when nobody else can go on", Staff::Founder),
];

impl Founder {
    /// Returns the founder with that name and email, as git has them; the id is derived from the name.
    pub fn new(name: &str, email: &str) -> Self {
        let words = [name, email.split('@').next().unwrap_or_default(), "me"];
        let agent =
            words.iter().find_map(|word| human_id(word)).expect("`human-me` is an agent id");
        let (name, email) = (signature(name), signature(email).replace(char::is_whitespace, ""));
        let name = if name.trim().is_empty() { agent.to_string() } else { name };
        let email = if email.is_empty() { format!("{agent}@aof.invalid") } else { email };
        Self { agent, name, email }
    }
}

impl RoleCast {
    /// Returns the role's text under `roles` in org.yaml.
    pub fn text(&self) -> String {
        let agents: Vec<&str> = self.agents.iter().map(AgentId::as_str).collect();
        let mut text = format!(
            "  {}:\n    description: {}\n    agents: [{}]\n",
            self.role,
            self.does,
            agents.join(", ")
        );
        if self.require_human {
            text.push_str("    # Only people may act in this role, whatever a gate says.\n    requireHuman: true\n");
        }
        text
    }
}

/// Returns the role with its first agents, if a template has it.
fn role_cast(template: Template, role: &RoleId, founder: &Founder) -> Option<RoleCast> {
    let (_, does, staff) = ROLES.iter().find(|(name, _, _)| *name == role.as_str())?;
    let agents = |names: &[&str]| {
        names.iter().map(|name| name.parse().expect("a test reads every name")).collect()
    };
    let agents: Vec<AgentId> = match staff {
        // In the basic template, one person can do everything.
        Staff::Agents(_) if template == Template::Basic => vec![founder.agent.clone()],
        Staff::Agents(names) => agents(names),
        Staff::AgentAndFounder(name) => {
            agents(&[*name]).into_iter().chain([founder.agent.clone()]).collect()
        }
        Staff::Founder | Staff::Person => vec![founder.agent.clone()],
    };
    Some(RoleCast {
        role: role.clone(),
        does,
        agents,
        require_human: matches!(staff, Staff::Person),
    })
}

/// Returns the org.yaml of a project with these roles.
fn org_file(cast: &[RoleCast], founder: &Founder) -> String {
    let mut text = include_str!("template/org.yaml").to_owned();
    text.extend(cast.iter().map(RoleCast::text));
    text.push_str("\n# What is known of each agent. Only agents listed here are handed work. Whoever has a `signingKey`\n# (the line of a `.pub` file) signs what it completes.\n# `may: [new]` lets an agent create parts of the task that it holds: at most 20 a visit, 3 levels deep,\n# none more urgent than that task. It may also start workflows that a person asks for.\nagents:\n");
    let mut agents: Vec<&AgentId> = Vec::new();
    for agent in cast.iter().flat_map(|part| &part.agents).filter(|agent| **agent != founder.agent)
    {
        if !agents.contains(&agent) {
            agents.push(agent);
        }
    }
    text.extend(agents.iter().map(|agent| format!("  {agent}: {{may: [new]}}\n")));
    text + &format!(
        "  {0}:\n    name: \"{1}\"\n    # This is you: whoever has this address in git acts as {0}.\n    email: \"{2}\"\n",
        founder.agent,
        quotable(&founder.name),
        quotable(&founder.email)
    )
}

/// Removes the characters that git removes from an author.
fn signature(text: &str) -> String {
    text.chars().filter(|c| is_printable(*c) && !matches!(c, '<' | '>')).collect()
}

/// Escapes a text for double quotes in YAML.
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

/// Returns the agent id for a person's name: `human-ada-lovelace`.
fn human_id(name: &str) -> Option<AgentId> {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    let slug = slug.get(..40).unwrap_or(&slug).trim_end_matches('-');
    (!slug.is_empty()).then(|| format!("human-{slug}").parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::config::configuration::{Source, load};
    use crate::files::diagnostic::{ColorMode, render_all};
    use crate::files::schema::Schema;
    use crate::files::yaml::{ParseLimits, parse};
    use serde_json::json;

    fn loaded(
        template: Template,
        project: &str,
        founder: &Founder,
    ) -> crate::files::config::configuration::Configuration {
        let files = template.files(project, founder);
        let sources = [("project.yaml", files.project), ("org.yaml", files.org)]
            .map(|(name, text)| Source { name: name.into(), bytes: text.into_bytes() });
        load(&sources).unwrap_or_else(|found| panic!("{}", render_all(&found, ColorMode::Plain)))
    }

    #[test]
    fn every_template_is_a_project_for_any_owner() {
        let hostile = "\"}} {{email}} \\ # : é\u{1b}\n- x";
        for (name, project) in
            [("Ada Lovelace", "Garden"), (hostile, hostile), ("", ""), ("李", "- a: b")]
        {
            let founder = Founder::new(name, "ada@garden.example");
            for template in Template::ALL {
                let configuration = loaded(*template, project, &founder);
                let shown: String = project.chars().filter(|c| !c.is_control()).collect();
                assert_eq!(configuration.project.name.as_deref(), Some(shown.as_str()));
                let agent = configuration.org.agent(&founder.agent).unwrap();
                assert_eq!(agent.email.as_deref(), Some("ada@garden.example"));
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
    fn every_template_is_valid_by_the_schemas() {
        for template in Template::ALL {
            let files = template.files("Garden", &Founder::new("Ada", "ada@garden.example"));
            let value = |text: &str| parse(text, &ParseLimits::default()).unwrap().to_value();
            let workflow = &value(&files.project)["workflow"];
            for (schema, instance) in [
                (Schema::Project, &value(&files.project)),
                (Schema::Org, &value(&files.org)),
                (Schema::Workflow, workflow),
                (Schema::Workflow, &json!({"workflow": workflow})),
            ] {
                let validator = jsonschema::draft202012::new(&schema.document()).unwrap();
                let faults: Vec<String> =
                    validator.iter_errors(instance).map(|fault| fault.to_string()).collect();
                assert!(faults.is_empty(), "{faults:#?}\n{instance:#}");
            }
        }
    }

    #[test]
    fn a_person_is_known_even_with_little_git_configuration() {
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
        let (process, promises) = files.project.split_once("\npromises:\n").unwrap();
        assert!(lines(process) <= 11, "{process}");
        assert!(lines(promises) <= 4, "{promises}");
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
            assert!(task.body.contains("aof complete AOF-7qk --"), "{}", task.body);
            let prose = task.body.lines().filter(|line| !line.starts_with("       "));
            let widest = prose.map(str::len).max();
            assert!(widest <= Some(80), "{}", task.body);
            let configuration = loaded(*template, "Garden", &founder);
            let first = &configuration.project.workflows[0].gates[0];
            assert!(task.body.contains(&format!("the gate `{}`", first.id)));
            for word in task.body.split_whitespace().filter(|word| word.starts_with("agent-")) {
                assert!(configuration.org.is_registered(&word.parse().unwrap()), "{word}");
            }
        }
    }
}
