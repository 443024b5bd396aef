//! Files that cannot be read as tasks, and what brings each right.

use crate::domain::issue::Attention;
use crate::project::active_rules::InForce;
use crate::project::workspace::Workspace;
use crate::storage::{ProjectPath, layout};
use crate::tasks::headers::listing::Unreadable;
use crate::tasks::state::repair_hints::WayBack;
use crate::tasks::state::restore_hint::ways_back;

/// What was committed can be brought back only where something else stands.
pub(crate) fn of_unreadable(
    workspace: &Workspace,
    in_force: &InForce,
    files: &[Unreadable],
) -> Vec<Attention> {
    let task = |file: &Unreadable| {
        let path: ProjectPath = file.path.parse().ok()?;
        Some((layout::task_id(path.name())?.ok()?, path))
    };
    let known: Vec<_> =
        files.iter().filter(|file| !file.diagnostics.is_empty()).filter_map(task).collect();
    let ways = ways_back(workspace, in_force, &known);
    let way = |path: &str| {
        let place = known.iter().position(|(_, known)| known.as_str() == path)?;
        Some(ways[place].clone()).filter(|way| *way != WayBack::Unknown)
    };
    let point = |file: &Unreadable| {
        let help = file.diagnostics.first().and_then(|first| first.help.clone());
        Attention {
            code: "unreadable_task",
            problem: format!("`{}` cannot be read: {}", file.place(), file.reason),
            fix: match (&file.diagnostics[..], help, way(&file.path)) {
                ([], ..) if file.path == layout::TASKS => {
                    "make it a folder that you may read and search (`ls -ld tasks` shows it): no task is seen until then"
                        .to_owned()
                }
                ([], ..) => "mend that, or move it out of `tasks/`".to_owned(),
                (_, help, Some(way)) => {
                    let mend = format!("mend it{}", help.map(|help| format!(" ({help})")).unwrap_or_default());
                    way.fix(&mend, &file.path).unwrap_or(mend)
                }
                (_, Some(help), None) => format!("mend it: {help}"),
                (_, None, None) => "mend it, or move it out of `tasks/`".to_owned(),
            },
        }
    };
    files.iter().map(point).collect()
}
