//! The command line with a single command in it: describing all of them takes longer than most of them run.
//!
//! It is tried first, and only believed where it understands every word. Whatever it does not understand, from a request for
//! help to a mistake, is left to the whole command line, which therefore says the same as if it had been asked alone.

use std::ffi::OsString;

use clap::{ArgMatches, Args, Command};

use super::input::arguments::Global;
use crate::cli::task::command as task;

/// Returns what the words say, if they name a command of `aof task` and nothing about them is odd.
pub(crate) fn matches(words: &[OsString]) -> Option<ArgMatches> {
    let mut said = words
        .iter()
        .skip(1)
        .filter_map(|word| word.to_str())
        .skip_while(|word| *word != "task")
        .skip(1);
    let name = said.next()?;
    let (name, describe) = task::ALONE.iter().find(|(known, _)| *known == name)?;
    let mut command = alone(name, *describe);
    let matches = command.try_get_matches_from_mut(words).ok();
    // The process ends soon, and the system takes memory back faster than it can be given back in small pieces.
    std::mem::forget(command);
    matches
}

fn alone(name: &'static str, describe: task::Describe) -> Command {
    let command = describe(Command::new(name));
    let task = Command::new("task").subcommand_required(true).subcommand(command);
    without_empty_variables(
        Global::augment_args(Command::new("aof")).subcommand_required(true).subcommand(task),
    )
}

/// Returns the command without the environment variables that are set to nothing: in a shell, `AOF_AGENT= aof ...` unsets it.
pub(crate) fn without_empty_variables(command: Command) -> Command {
    if std::env::vars_os().all(|(_, value)| !value.is_empty()) {
        return command;
    }
    let empty = |arg: &clap::Arg| {
        arg.get_env().and_then(std::env::var_os).is_some_and(|value| value.is_empty())
    };
    command
        .mut_args(|arg| if empty(&arg) { arg.env(None::<&str>) } else { arg })
        .mut_subcommands(without_empty_variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_task_is_the_same_alone() {
        let whole = crate::cli::program::command();
        let task = whole.find_subcommand("task").unwrap();
        assert_eq!(task.get_subcommands().count(), task::ALONE.len());
        for (name, describe) in task::ALONE {
            let arguments = |command: &Command| -> Vec<String> {
                command.get_arguments().map(|argument| format!("{argument:?}")).collect()
            };
            let lean = alone(name, *describe);
            let lean_task = lean.find_subcommand("task").unwrap();
            let inside = task.find_subcommand(name).unwrap();
            assert_eq!(
                arguments(lean_task.find_subcommand(name).unwrap()),
                arguments(inside),
                "{name}"
            );
            assert_eq!(inside.get_subcommands().count(), 0, "{name}");
            let global = |command: &Command| -> Vec<String> {
                command
                    .get_arguments()
                    .filter(|argument| argument.is_global_set())
                    .map(|a| format!("{a:?}"))
                    .collect()
            };
            assert_eq!(global(&lean), global(&whole));
            assert_eq!(arguments(lean_task), arguments(task));
        }
    }

    #[test]
    fn what_is_odd_is_left_to_the_whole_command_line() {
        let said = |words: &[&str]| {
            matches(&words.iter().map(OsString::from).collect::<Vec<_>>()).is_some()
        };
        assert!(
            said(&["aof", "task", "show", "AOF-abc"])
                && said(&["aof", "-C", "x", "task", "list", "--json"])
        );
        for odd in [
            &["aof"][..],
            &["aof", "status"],
            &["aof", "task"],
            &["aof", "task", "show"],
            &["aof", "task", "ls"],
            &["aof", "task", "show", "--help"],
            &["aof", "task", "show", "nonsense"],
            &["aof", "why", "task", "show"],
            &["aof", "--version", "task", "show", "AOF-abc"],
        ] {
            assert!(!said(odd), "{odd:?}");
        }
    }
}
