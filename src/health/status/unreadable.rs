//! Files that cannot be read as tasks, and how to mend each.

use crate::domain::issue::Attention;
use crate::storage::layout;
use crate::system::shell::quoted;
use crate::tasks::headers::listing::Unreadable;

pub(crate) fn of_unreadable(files: &[Unreadable]) -> Vec<Attention> {
    let point = |file: &Unreadable| {
        let help = file.diagnostics.first().and_then(|first| first.help.clone());
        let earlier = format!("`git log -p -- {}` shows what it said before", quoted(&file.path));
        Attention {
            code: "unreadable_task",
            problem: format!("`{}` cannot be read: {}", file.place(), file.reason),
            fix: match (&file.diagnostics[..], help) {
                ([], _) if file.path == layout::TASKS => {
                    "make it a folder that you may read and search (`ls -ld tasks` shows it): no task is seen until then"
                        .to_owned()
                }
                ([], _) => "mend that, or move it out of `tasks/`".to_owned(),
                (_, Some(help)) => format!("mend it ({help}); {earlier}"),
                (_, None) => format!("mend it; {earlier}"),
            },
        }
    };
    files.iter().map(point).collect()
}
