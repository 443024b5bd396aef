//! The list of commands in `--help`, by what people want to do.

use clap::Command;
use unicode_width::UnicodeWidthStr;

use super::render::table;

/// Wider than this, clap wraps as well.
const WIDEST: usize = 100;

/// A heading, and the commands under it.
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
    let width = command.get_subcommands().map(|sub| sub.get_name().len()).max().unwrap_or(0);
    let room = table::width().min(WIDEST).saturating_sub(width + 4);
    let line = |sub: &Command| {
        let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
        let about = hanging(&about, room, width + 4);
        format!("  {literal}{:<width$}{literal:#}  {about}\n", sub.get_name())
    };
    let mut text = String::new();
    for (title, names) in groups {
        let subs: Vec<&Command> =
            names.iter().filter_map(|name| command.find_subcommand(name)).collect();
        if subs.is_empty() {
            continue;
        }
        text.push_str(&format!("{heading}{title}:{heading:#}\n"));
        text.extend(subs.into_iter().map(line));
        text.push('\n');
    }
    text
}

/// Returns a text in lines that have so much room, those after the first below its beginning. Clap would begin them where the names do.
fn hanging(text: &str, room: usize, indent: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one from the start");
        if !line.is_empty() && line.width() + 1 + word.width() > room {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join(&format!("\n{}", " ".repeat(indent)))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_command_is_listed_once() {
        let command = crate::cli::program::command();
        for (command, groups) in
            [(&command, super::TOP), (command.find_subcommand("task").unwrap(), super::TASK)]
        {
            for sub in command.get_subcommands().map(clap::Command::get_name) {
                let times = groups
                    .iter()
                    .flat_map(|(_, names)| *names)
                    .filter(|name| **name == sub)
                    .count();
                assert_eq!(times, 1, "`{sub}` must be in one group of the help");
            }
        }
    }

    #[test]
    fn the_command_line_is_well_formed() {
        crate::cli::program::command().debug_assert();
    }
}
