//! What the watcher has seen of the rules: which are in force, and whether people see others. Follows none of them itself.

use super::inbox::inbox::Desk;
use super::report::Report;
use crate::git::{CommitId, Head, TreeFile};
use crate::project::active_rules::Remark;
use crate::project::error::error::OpsError;
use crate::project::rule_sources::rules_mark;
use crate::project::workspace::Workspace;

/// What was seen of the rules.
#[derive(Default)]
pub(crate) struct Rules {
    mark: Option<(Option<CommitId>, Vec<TreeFile>)>,
    uncommitted: Vec<String>,
}

impl Rules {
    /// Has their files looked at again, whatever the commit.
    pub(crate) fn look_again(&mut self) {
        self.mark = self.mark.take().map(|(_, mark)| (None, mark));
    }

    /// Looks which rules are in force, and tells where they are others than before, or than those that people see.
    pub(crate) fn look(
        &mut self,
        workspace: &Workspace,
        head: &Head,
        desk: &mut Desk<'_>,
    ) -> Result<(), OpsError> {
        let Some(commit) = head.commit else { return Ok(()) };
        if self.mark.as_ref().is_some_and(|(seen, _)| *seen == Some(commit)) {
            return Ok(());
        }
        let mark = rules_mark(&workspace.repository, commit)?;
        let known = self.mark.as_ref().map(|(_, mark)| mark);
        let is_new = known.is_some_and(|known| *known != mark);
        let touched = self.mark.as_ref().is_none_or(|(seen, _)| seen.is_none());
        if touched || is_new {
            let in_force = workspace.rules()?;
            let mut uncommitted = Vec::new();
            let mut valid = true;
            for remark in in_force.remarks {
                match remark {
                    Remark::Uncommitted(files) => uncommitted = files,
                    Remark::Unheeded(file) => uncommitted.push(file.display().to_string()),
                    Remark::Superseded { commit, diagnostics } => {
                        valid = false;
                        if known.is_none() || is_new {
                            desk.tell(Report::RulesInvalid { in_force: commit, diagnostics });
                        }
                    }
                }
            }
            if is_new && valid {
                desk.tell(Report::RulesInForce { commit });
            }
            if self.uncommitted != uncommitted {
                if !uncommitted.is_empty() {
                    desk.tell(Report::RulesUncommitted { files: uncommitted.clone() });
                }
                self.uncommitted = uncommitted;
            }
        }
        self.mark = Some((Some(commit), mark));
        Ok(())
    }
}
