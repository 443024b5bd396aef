//! The arguments of commands, compared with the table of operations.

use clap::{Arg, Command};

use super::command;
use crate::operations::Operation;
use crate::operations::fields::{Doors, InputField};
use crate::operations::table::OPERATIONS;

/// Arguments that are not fields: the task, who acts, and how the command runs; and what the command line alone offers.
const BESIDES: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "words",
            "task",
            "agent",
            "dry_run",
            "offline",
            "json",
            "no_pager",
            "quiet",
            "verbose",
            "color",
            "wait",
            "directory",
            "help",
            "log_format",
        ],
    ),
    ("new", &["from"]),
    (
        "edit",
        &["unset", "unlinks", "untags", "unset_metadata", "independent_of", "orphan", "accept"],
    ),
    ("assign", &["claim"]),
    ("complete", &["sign_with", "run", "session", "no_sign"]),
];

/// Fields that have another name at the command line.
const RENAMED: &[(&str, &str)] = &[("rejectionNotes", "notes"), ("agent", "name")];

/// Returns the argument of a command that is the field: one in the place of a value, by the name in the help; otherwise by its name.
fn argument<'c>(command: &'c Command, field: &InputField) -> Option<&'c Arg> {
    let renamed = RENAMED.iter().find(|(name, _)| *name == field.name);
    let name = field.name.chars().flat_map(|c| {
        let bar = c.is_uppercase().then_some('_');
        bar.into_iter().chain(c.to_lowercase())
    });
    let name = renamed.map_or_else(|| name.collect(), |(_, name)| (*name).to_owned());
    let is_placed = |arg: &&Arg| {
        let shown = arg.get_value_names().unwrap_or_default();
        let is_task = ["task", "words"].contains(&arg.get_id().as_str());
        arg.is_positional() && !is_task && shown.iter().any(|one| one.to_lowercase() == name)
    };
    let placed = command.get_arguments().find(is_placed);
    placed.or_else(|| command.get_arguments().find(|arg| *arg.get_id() == name))
}

#[test]
fn commands_take_the_fields_of_the_table() {
    let mut program = command();
    program.build();
    let mut faults = Vec::new();
    let has = |operation: &&&Operation| operation.doors.has(Doors::COMMAND);
    for operation in OPERATIONS.iter().filter(has) {
        let name = operation.command;
        let command = program.find_subcommand(name).unwrap_or_else(|| panic!("no `aof {name}`"));
        let besides = BESIDES.iter().filter(|(of, _)| [name, ""].contains(of));
        let besides: Vec<&str> = besides.flat_map(|(_, args)| *args).copied().collect();
        for field in operation.fields_at(Doors::COMMAND) {
            let arg = argument(command, field);
            match arg.map(Arg::is_required_set) {
                None => faults.push(format!("`aof {name}` has no `{}`", field.name)),
                Some(needed) if needed != field.needed.has(Doors::COMMAND) => {
                    faults.push(format!("`{}` of `aof {name}` is needed: {needed}", field.name));
                }
                Some(_) => {}
            }
        }
        for arg in command.get_arguments() {
            let id = arg.get_id().as_str();
            let mut fields = operation.fields_at(Doors::COMMAND);
            let is_field =
                fields.any(|one| argument(command, one).is_some_and(|arg| arg.get_id() == id));
            if !is_field && !besides.contains(&id) {
                faults.push(format!("`{id}` of `aof {name}` is in no table"));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
