//! Shell completion. The shell asks the program, which offers values of the project. It writes nothing and prints no errors.

use std::any::TypeId;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, Command};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter};
use clap_complete::env::Shells;

use crate::cli::task::named_tasks::TaskWord;
use crate::cli::{AGENT, now};
use crate::domain::{AgentId, Gate, GateId, RoleId, Status, TaskId, TypedTask, WorkflowName};
use crate::files::printable::one_line;
use crate::project::active_rules::InForce;
use crate::project::workspace::{Workspace, known_as};
use crate::setup::template::Template;
use crate::tasks::headers::list::{ListRequest, Sort, list};
use crate::tasks::headers::listing::{ListScope, read_all};
use crate::tasks::headers::lookup;
use crate::tasks::headers::summary::TaskSummary;
use crate::tasks::view::brief::task_brief;

/// The variable with which a shell asks: `COMPLETE=bash aof -- aof show AOF`.
const VARIABLE: &str = "COMPLETE";

/// Returns a parser for the name of a shell.
pub(super) fn shell() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(Shells::builtins().names())
}

/// Returns the script with which the shell asks `aof` for completions.
pub(super) fn registration(shell: &str) -> String {
    let mut script = Vec::new();
    if let Some(shell) = Shells::builtins().completer(shell) {
        let written = shell.write_registration(VARIABLE, "aof", "aof", "aof", &mut script);
        written.expect("a script in memory can be written to");
    }
    if shell == "zsh" {
        // Zsh reads a file `_aof` of `$fpath` at the first completion, and expects candidates at once.
        script.extend(b"if [[ $funcstack[1] == _aof ]]; then _clap_dynamic_completer_aof; fi\n");
    }
    String::from_utf8_lossy(&script).into_owned()
}

/// Prints the candidates if a shell asks for them. Returns true if it does.
pub(super) fn answer(command: impl Fn() -> Command) -> bool {
    let is_asked = std::env::var_os(VARIABLE).is_some()
        && std::env::args_os().nth(1).is_some_and(|word| word == "--");
    if is_asked {
        let folder = std::env::current_dir().ok();
        let asked = CompleteEnv::with_factory(|| {
            let mut command = command();
            command.build();
            with_candidates(command)
        });
        // An unknown shell, or one that is gone, gets no candidates.
        let _ = asked.try_complete(std::env::args_os(), folder.as_deref());
        let _ = io::stdout().flush();
    }
    is_asked
}

fn with_candidates(command: Command) -> Command {
    let with = |arg: Arg| {
        // Hidden options are offered only if there is nothing else.
        let arg = if arg.is_positional() { arg } else { arg.hide(true) };
        match completer(&arg) {
            Some(completer) => arg.add(completer),
            None => arg,
        }
    };
    command.mut_args(with).mut_subcommands(with_candidates)
}

/// A function that returns the project's candidates for an argument.
type Offer = fn(&CompletedProject, typed: &str) -> Vec<CompletionCandidate>;

/// Returns the completer of an argument: by its type, otherwise by the name of its value.
fn completer(arg: &Arg) -> Option<ArgValueCompleter> {
    let kind = arg.get_value_parser().type_id();
    let is = |name: &str| arg.get_value_names().is_some_and(|names| names[0].contains(name));
    let offer: Offer = if kind == TypeId::of::<TypedTask>() {
        CompletedProject::tasks
    } else if kind == TypeId::of::<TaskWord>() {
        CompletedProject::named_words
    } else if kind == TypeId::of::<GateId>() {
        CompletedProject::gates
    } else if kind == TypeId::of::<RoleId>() {
        CompletedProject::roles
    } else if kind == TypeId::of::<AgentId>() {
        CompletedProject::agents
    } else if kind == TypeId::of::<WorkflowName>() && is("WORKFLOW") {
        CompletedProject::workflows_and_templates
    } else if kind == TypeId::of::<WorkflowName>() {
        CompletedProject::workflows
    } else if is("OUTCOME") {
        CompletedProject::outcomes
    } else if is("TAG") {
        CompletedProject::tags
    } else if is("FILE") {
        return Some(ArgValueCompleter::new(PathCompleter::any()));
    } else if is("DIR") {
        return Some(ArgValueCompleter::new(PathCompleter::dir()));
    } else {
        return None;
    };
    Some(ArgValueCompleter::new(move |typed: &OsStr| {
        let project = CompletedProject::open().zip(typed.to_str());
        project.map(|(project, typed)| offer(&project, typed)).unwrap_or_default()
    }))
}

/// The project that the words of the command line are about.
struct CompletedProject {
    workspace: Workspace,
    in_force: InForce,
    words: Vec<String>,
}

impl CompletedProject {
    fn open() -> Option<Self> {
        let words = std::env::args_os().skip_while(|word| word != "--").skip(1);
        let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
        let folder = words.iter().skip_while(|word| *word != "-C").nth(1);
        let folder = folder.map_or_else(|| PathBuf::from("."), PathBuf::from);
        let name = "aof completions".to_owned();
        let mut workspace = Workspace::open(&folder, name, now, Duration::ZERO, |_| {}).ok()?;
        workspace.paths = workspace.paths.read_only();
        let in_force = workspace.rules().ok()?;
        Some(Self { workspace, in_force, words })
    }

    /// Returns the active tasks, those that wait for the user first. If none begins with the typed text, returns archived ones.
    fn tasks(&self, typed: &str) -> Vec<CompletionCandidate> {
        let mut tasks = self.active();
        if !typed.is_empty() && tasks.iter().all(|task| !task.id.begins_with(typed)) {
            let all = read_all(&self.workspace, &self.in_force, ListScope::All);
            tasks = all.tasks.into_iter().map(|(task, _)| *task).collect();
        }
        let org = &self.in_force.rules.org;
        let named = std::env::var(AGENT).ok().and_then(|agent| agent.parse().ok());
        let you = named.or_else(|| known_as(&self.workspace, org));
        let is_own = |task: &TaskSummary, agent: &AgentId| {
            let may_take = task.free_roles().any(|role| org.roles_of(agent).any(|one| one == role));
            task.is_held_by(agent) || (may_take && task.status == Status::Ready)
        };
        tasks.sort_by_key(|task| you.as_ref().is_none_or(|agent| !is_own(task, agent)));
        let candidate = |task: &TaskSummary| {
            Some(offered(whole(&task.id, typed)?, Some(one_line(&task.title))))
        };
        tasks.iter().filter_map(candidate).collect()
    }

    /// Returns the tasks; for an assignment, after its first task, also the agents.
    fn named_words(&self, typed: &str) -> Vec<CompletionCandidate> {
        let mut all = self.tasks(typed);
        if self.words.iter().any(|word| word == "assign") && self.named_task().is_some() {
            all.extend(self.agents(typed));
        }
        all
    }

    fn active(&self) -> Vec<TaskSummary> {
        let listing =
            list(&self.workspace, &self.in_force, &ListRequest::default(), Sort::Priority);
        listing.tasks.into_iter().map(|(task, _)| *task).collect()
    }

    fn gates(&self, typed: &str) -> Vec<CompletionCandidate> {
        let workflows = self.in_force.rules.project.workflows.iter();
        let gates = workflows.flat_map(|workflow| &workflow.gates);
        matching(
            typed,
            gates.map(|gate| (gate.id.to_string(), gate.role().map(|role| format!("role {role}")))),
        )
    }

    fn roles(&self, typed: &str) -> Vec<CompletionCandidate> {
        let rules = &self.in_force.rules;
        let of_gates = rules.project.workflows.iter().flat_map(|workflow| &workflow.gates);
        let of_gates = of_gates.flat_map(|gate| gate.roles());
        let roles = rules.org.roles.iter().map(|(role, _)| role).chain(of_gates);
        matching(typed, roles.map(|role| (role.to_string(), None)))
    }

    fn agents(&self, typed: &str) -> Vec<CompletionCandidate> {
        let org = &self.in_force.rules.org;
        let roles = |agent| org.roles_of(agent).map(RoleId::as_str).collect::<Vec<_>>().join(", ");
        let agents = org.all_agents().into_iter();
        matching(typed, agents.map(|agent| (agent.to_string(), Some(roles(agent)))))
    }

    fn workflows(&self, typed: &str) -> Vec<CompletionCandidate> {
        matching(typed, self.workflow_names())
    }

    fn workflows_and_templates(&self, typed: &str) -> Vec<CompletionCandidate> {
        let template = |one: &Template| (one.as_str().to_owned(), Some(one.summary().to_owned()));
        matching(typed, self.workflow_names().chain(Template::ALL.iter().map(template)))
    }

    fn workflow_names(&self) -> impl Iterator<Item = (String, Option<String>)> {
        let workflows = self.in_force.rules.project.workflows.iter();
        workflows.map(|workflow| (workflow.name.to_string(), None))
    }

    fn tags(&self, typed: &str) -> Vec<CompletionCandidate> {
        let mut tags: Vec<String> =
            self.active().iter().flat_map(|task| task.tags.clone()).collect();
        tags.sort();
        matching(typed, tags.into_iter().map(|tag| (tag, None)))
    }

    /// Returns the outcomes of the task named earlier in the line, otherwise those of all gates.
    fn outcomes(&self, typed: &str) -> Vec<CompletionCandidate> {
        let named = self.named_task();
        let brief = named.and_then(|task| {
            task_brief(&self.workspace, &lookup::ticket(&self.workspace, &task).ok()?).ok()
        });
        if let Some((_, context, _)) = brief {
            let outcomes = context.outcomes.into_iter();
            return matching(
                typed,
                outcomes.map(|(outcome, text)| (outcome.to_string(), Some(one_line(&text)))),
            );
        }
        let gates = self.in_force.rules.project.workflows.iter().flat_map(|flow| &flow.gates);
        matching(typed, gates.flat_map(Gate::possible).map(|outcome| (outcome.to_string(), None)))
    }

    /// Returns the first word that can only be a task.
    fn named_task(&self) -> Option<TypedTask> {
        let tasks = self.active();
        let is_task = |typed: &TypedTask| {
            tasks.iter().filter(|task| task.id.begins_with(&typed.task)).count() == 1
        };
        let mut words = self.words.iter().skip(2).filter_map(|word| word.parse().ok());
        words.find(is_task)
    }
}

/// Returns the id that begins with the typed text, in the typed case, with or without the prefix: shells compare.
fn whole(id: &TaskId, typed: &str) -> Option<String> {
    let whole = [id.as_str(), id.local()].into_iter();
    let mut fits = whole.filter(|whole| {
        whole.get(..typed.len()).is_some_and(|start| start.eq_ignore_ascii_case(typed))
    });
    Some(format!("{typed}{}", &fits.next()?[typed.len()..]))
}

/// Returns the words that begin with the typed text, each once, with a description that helps to choose.
fn matching(
    typed: &str,
    words: impl Iterator<Item = (String, Option<String>)>,
) -> Vec<CompletionCandidate> {
    let mut seen = Vec::new();
    let is_new = |(word, _): &(String, Option<String>)| {
        let is_new = word.starts_with(typed) && !seen.contains(word);
        if is_new {
            seen.push(word.clone());
        }
        is_new
    };
    words.filter(is_new).map(|(word, help)| offered(word, help)).collect()
}

fn offered(word: String, help: Option<String>) -> CompletionCandidate {
    CompletionCandidate::new(word).help(help.filter(|help| !help.is_empty()).map(Into::into))
}
