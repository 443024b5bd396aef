//! `aof workflow create`

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::{CliResult, Rehearsal, Session, bold, cyan, of_commit, template};
use crate::domain::{AgentId, WorkflowName, listed};
use crate::setup::create_workflow::{Fate, NewWorkflow, WorkflowFile, create_workflow};
use crate::setup::template::RoleCast;
use crate::setup::template::Template;
use crate::tasks::plan::DryRun;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof workflow create release --template deploy            workflows/release.yaml, committed
  aof workflow create release --template deploy --dry-run  see the file
  aof workflow create --list                               what each template is for

A workflow whose roles org.yaml lacks is written and not committed; the output says what to add.")]
pub(crate) struct WorkflowCreateArgs {
    /// The name of the workflow
    #[arg(required_unless_present = "list")]
    name: Option<WorkflowName>,
    /// The template that it is made from
    #[arg(long, value_name = "TEMPLATE", value_parser = template(), required_unless_present = "list")]
    template: Option<Template>,
    /// List the templates
    #[arg(long, conflicts_with_all = ["name", "template"])]
    list: bool,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &WorkflowCreateArgs) -> CliResult {
    let (Some(name), Some(template)) = (&args.name, args.template) else {
        list(session);
        return Ok(ExitCode::SUCCESS);
    };
    let workspace = session.workspace("workflow create")?;
    let new = NewWorkflow { name: name.clone(), template };
    let mode = args.rehearsal.mode();
    let made = create_workflow(&workspace, &new, mode)?;
    session.warn_of_rules(&made.before);
    if session.output.is_json() {
        session.output.data_of_act(value(&new, &made), mode);
    } else {
        show(session, &new, &made, mode);
    }
    Ok(ExitCode::SUCCESS)
}

fn list(session: &Session) {
    let all = Template::ALL.iter();
    let value = |template: &Template| json!({"name": template, "summary": template.summary()});
    let width = all.clone().map(|template| template.as_str().len()).max().unwrap_or(0);
    let line = |template: &Template| {
        format!("{}  {}\n", cyan(format!("{template:<width$}")), template.summary())
    };
    session.output.show(
        || json!({"templates": all.clone().map(value).collect::<Vec<_>>()}),
        || all.clone().map(line).collect(),
    );
}

fn show(session: &Session, new: &NewWorkflow, made: &WorkflowFile, mode: DryRun) {
    let output = session.output;
    let (NewWorkflow { name, template }, path) = (new, &made.path);
    if mode == DryRun::Yes {
        output.print(&made.text);
    }
    match &made.fate {
        Fate::Ready => {
            output.say(format!("dry run: nothing was written; `{path}` could be committed"));
        }
        Fate::Committed(commit) => {
            let commit = of_commit(Some(commit));
            output.line(format!("began `{name}` from the template `{template}`: {path}{commit}"));
            output.line(format!("\n{}", bold("try next:")));
            let (graph, new) = (
                format!("aof workflow graph {name}"),
                format!("aof task new \"...\" --workflow {name}"),
            );
            output.line(format!("  {graph:<38}  see the ways that a task can go"));
            output.line(format!("  {new:<38}  create a task that goes them"));
        }
        Fate::Lacks { roles, agents } => {
            let names: Vec<String> = roles.iter().map(|part| part.role.to_string()).collect();
            let s = if names.len() == 1 { "" } else { "s" };
            let lacks = format!("org.yaml lacks the role{s} {}", listed(&names));
            let told = match mode {
                DryRun::Yes => "dry run: nothing was written; it could not be committed yet",
                DryRun::No => &format!("wrote {path}, and did not commit it"),
            };
            let snippet = missing_roles(roles, agents);
            output.say(format!(
                "{told}: {lacks}\n\n{snippet}\nthen commit both: `git add org.yaml {path} && git commit -m \"Begin workflow {name}\" -- org.yaml {path}`"
            ));
        }
    }
}

/// Returns what org.yaml needs, ready to be pasted.
pub(crate) fn missing_roles(roles: &[RoleCast], agents: &[AgentId]) -> String {
    let parts: String = roles.iter().map(RoleCast::text).collect();
    let mut text = format!("add to `roles` in org.yaml, with agents of yours:\n\n{parts}");
    if !agents.is_empty() {
        text.push_str("\nand to `agents`:\n\n");
        text.extend(agents.iter().map(|agent| format!("  {agent}:\n")));
    }
    text
}

fn value(new: &NewWorkflow, made: &WorkflowFile) -> Value {
    let (mut roles, mut agents, mut commit) = (&[][..], &[][..], None);
    match &made.fate {
        Fate::Lacks { roles: lacking, agents: unknown } => (roles, agents) = (lacking, unknown),
        Fate::Committed(id) => commit = Some(id),
        Fate::Ready => {}
    }
    let role = |part: &RoleCast| {
        let (role, does, human) = (&part.role, part.does, part.require_human);
        json!({"role": role, "description": does, "agents": part.agents, "requireHuman": human})
    };
    json!({
        "workflow": new.name,
        "template": new.template,
        "path": made.path,
        "text": made.text,
        "commit": commit,
        "lacking": {"roles": roles.iter().map(role).collect::<Vec<_>>(), "agents": agents},
    })
}
