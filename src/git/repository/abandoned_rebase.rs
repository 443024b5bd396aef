//! A rebase that neither goes on nor can be taken back: git knows nothing of it any more but that it was, or the branch has moved since it
//! began, as one with `--autostash` lets it. There `git rebase --continue` fails for ever, and `--abort` moves the branch back over
//! what was committed meanwhile.

use super::git_file;
use super::head::Head;
use super::repository::Repository;
use crate::git::objects::id::CommitId;
use crate::system::shell::quoted;

impl Repository {
    /// Returns the command that gives up such a rebase; nothing where there is none.
    pub(crate) fn give_up_rebase(&self) -> Option<String> {
        let folder = self.git_dir().join("rebase-merge");
        let read = |name: &str| {
            git_file::read_text(&folder.join(name)).ok().map(|text| text.trim_end().to_owned())
        };
        let quit = "git rebase --quit";
        let Some(reference) = read("head-name") else {
            // Before it writes that, it has only put aside what was changed, and gone nowhere.
            return (folder.is_dir() && !folder.join("head-name").exists())
                .then(|| quit.to_owned());
        };
        let begun: CommitId = read("orig-head")?.parse().ok()?;
        let now = reference
            .starts_with("refs/heads/")
            .then(|| self.read_reference(&reference).ok())
            .flatten()??;
        let branch = Head { reference, commit: Some(now) };
        (now != begun).then(|| format!("{quit} && git switch {}", quoted(branch.branch())))
    }
}
