//! The list of commands in `--help`, grouped by what people want to do.

use clap::Command;
use unicode_width::UnicodeWidthStr;

use super::output::width;

/// Clap wraps at this width as well.
const WIDEST: usize = 100;

/// A heading, and the commands below it.
type Group = (&'static str, &'static [&'static str]);

const TOP: &[Group] = &[
    ("Begin", &["init", "demo"]),
    ("Work", &["task", "run", "watch", "sweep", "sync", "mcp"]),
    ("Look", &["status", "gate", "why", "events", "stats", "metrics", "verify", "notices"]),
    ("Rules", &["workflow", "org", "schema"]),
    ("Set up", &["doctor", "runner", "migrate", "merge-driver", "completions", "man"]),
];

const TASK: &[Group] = &[
    ("Write", &["new", "edit", "comment"]),
    ("Work", &["next", "brief", "complete", "sign", "renew", "release"]),
    ("Look", &["list", "show", "history"]),
    ("Step in", &["assign", "hold", "unblock", "cancel", "reopen", "override"]),
];

const TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}";

/// Returns the command line with its commands listed in groups.
pub(crate) fn grouped(command: Command) -> Command {
    with_list(command.mut_subcommand("task", |task| with_list(task, TASK)), TOP)
}

fn with_list(command: Command, groups: &[Group]) -> Command {
    let list = list(&command, groups);
    command.before_help(list).help_template(TEMPLATE)
}

fn list(command: &Command, groups: &[Group]) -> String {
    let style = command.get_styles();
    let (heading, literal) = (*style.get_header(), *style.get_literal());
    let name_width = command.get_subcommands().map(|sub| sub.get_name().len()).max().unwrap_or(0);
    let room = width().min(WIDEST).saturating_sub(name_width + 4);
    let mut text = String::new();
    for (title, names) in groups {
        text.push_str(&format!("{heading}{title}:{heading:#}\n"));
        for sub in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            let about = hanging(&about, room, name_width + 4);
            let name = sub.get_name();
            text.push_str(&format!("  {literal}{name:<name_width$}{literal:#}  {about}\n"));
        }
        text.push('\n');
    }
    text
}

/// Returns a text wrapped to so many columns, its further lines indented.
fn hanging(text: &str, room: usize, indent: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join(&format!("\n{}", " ".repeat(indent)))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_command_is_listed_once() {
        let mut command = crate::cli::program::command();
        command.build();
        for (command, groups) in
            [(&command, super::TOP), (command.find_subcommand("task").unwrap(), super::TASK)]
        {
            for sub in command.get_subcommands().map(clap::Command::get_name) {
                let times =
                    groups.iter().flat_map(|(_, names)| *names).filter(|name| **name == sub);
                let times = times.count();
                assert!(times == 1 || sub == "help", "`{sub}` must be in one group of the help");
            }
        }
    }

    #[test]
    fn the_command_line_is_well_formed() {
        crate::cli::program::command().debug_assert();
    }
}
