//! Commits by the names that people and git give them: branches, tags, `HEAD~3`, the beginning of an id. Only reads.
//!
//! The names are looked up by libgit2. The objects behind them are not: a damaged one is to be told, and never waited for. Only what a name
//! says of times, of messages and of where a branch was, libgit2 answers alone.

use git2::ErrorCode;

use crate::git::error::{During, GitError};
use crate::git::id::{CommitId, ObjectId};
use crate::git::objects::loose::Kind;
use crate::git::repository::handle::Repository;

/// Fewer digits are no beginning of an id.
const SHORTEST: usize = 4;

impl Repository {
    /// Returns the commit that git knows by that name: a branch, a tag, `HEAD~3`, the beginning of an id.
    pub fn commit_named(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        let (base, steps) = name.split_at(name.find(['~', '^']).unwrap_or(name.len()));
        if base.is_empty() {
            return Ok(None);
        }
        let (Some(steps), false) = (steps_of(steps), base.contains([':', '{'])) else {
            return self.parsed(name);
        };
        let Some(object) = self.object_named(base)? else { return Ok(None) };
        let Some(mut commit) = self.peeled(object)? else { return Ok(None) };
        for step in steps {
            let parents = match step {
                Step::Back(count) => {
                    for _ in 0..count {
                        let Some(parent) = self.links(commit)?.parents.first().copied() else {
                            return Ok(None);
                        };
                        commit = parent;
                    }
                    continue;
                }
                Step::Parent(0) => continue,
                Step::Parent(number) => self.links(commit)?.parents.get(number - 1).copied(),
            };
            let Some(parent) = parents else { return Ok(None) };
            commit = parent;
        }
        Ok(Some(commit))
    }

    /// Returns the commit that an object is, or that it is a tag of; nothing where it is about something else.
    pub fn commit_behind(&self, id: ObjectId) -> Result<Option<CommitId>, GitError> {
        self.peeled(id)
    }

    /// Returns the commits that any reference stands for: branches, tags, and whatever hosts keep besides.
    pub fn named_commits(&self) -> Result<Vec<CommitId>, GitError> {
        let mut commits = Vec::new();
        for object in self.references_below("refs/")? {
            // One that is broken names nothing.
            commits.extend(self.peeled(object).unwrap_or_default());
        }
        commits.sort();
        commits.dedup();
        Ok(commits)
    }

    /// Returns what the references name that begin so, as far as they lead to anything.
    pub(crate) fn references_below(&self, prefix: &str) -> Result<Vec<ObjectId>, GitError> {
        let doing = || "list the references".to_owned();
        self.check_reference("HEAD")?;
        let mut objects = Vec::new();
        for reference in self.git().references_glob(&format!("{prefix}*")).during(doing)? {
            let Ok(direct) = reference.during(doing)?.resolve() else { continue };
            objects.extend(direct.target().map(ObjectId::from_git));
        }
        Ok(objects)
    }

    /// Returns the object of that name, if that is all that the name says.
    fn object_named(&self, name: &str) -> Result<Option<ObjectId>, GitError> {
        let doing = || format!("find the commit `{name}`");
        if let Ok(id) = name.to_ascii_lowercase().parse::<ObjectId>() {
            // Somebody may have mistyped it.
            return Ok(match self.reader().any(id) {
                Err(GitError::Missing { .. }) => None,
                _ => Some(id),
            });
        }
        let name = if name == "@" { "HEAD" } else { name };
        for folder in ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"] {
            self.check_reference(&format!("{folder}{name}"))?;
        }
        match self.git().resolve_reference_from_short_name(name) {
            Ok(reference) => {
                return match reference.resolve() {
                    Ok(direct) => Ok(direct.target().map(ObjectId::from_git)),
                    // A branch that has no commit yet.
                    Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
                    Err(error) => Err(error).during(doing),
                };
            }
            Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::InvalidSpec) => {}
            Err(error) => return Err(error).during(doing),
        }
        // As `git describe` writes it, with the beginning of the id at the end.
        let start = name.rsplit_once("-g").map_or(name, |(_, start)| start);
        if start.len() < SHORTEST
            || start.len() >= 40
            || !start.bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            return Ok(None);
        }
        let odb = self.git().odb().during(doing)?;
        let mut whole = format!("{start:0<40}");
        whole.make_ascii_lowercase();
        let short: ObjectId = whole.parse().expect("40 hexadecimal digits are a name");
        match odb.exists_prefix(short.to_git(), start.len()) {
            Ok(id) => Ok(Some(ObjectId::from_git(id))),
            Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::Ambiguous) => {
                Ok(None)
            }
            Err(error) => Err(error).during(doing),
        }
    }

    /// Follows tags to a commit.
    fn peeled(&self, mut id: ObjectId) -> Result<Option<CommitId>, GitError> {
        loop {
            let (kind, bytes) = self.reader().any(id)?;
            match kind {
                Kind::Commit => return Ok(Some(CommitId::new(id))),
                Kind::Tag => {
                    let named = bytes.strip_prefix(b"object ").and_then(|rest| rest.get(..40));
                    let named = named.and_then(|name| str::from_utf8(name).ok()?.parse().ok());
                    let Some(named) = named else { return Ok(None) };
                    id = named;
                }
                Kind::Blob | Kind::Tree => return Ok(None),
            }
        }
    }

    /// Leaves it to libgit2 what a name means that says more than where to go back to.
    fn parsed(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        match self.git().revparse_single(name) {
            Ok(object) => self.peeled(ObjectId::from_git(object.id())),
            Err(error)
                if matches!(
                    error.code(),
                    ErrorCode::NotFound
                        | ErrorCode::InvalidSpec
                        | ErrorCode::Ambiguous
                        | ErrorCode::Peel
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error).during(|| format!("find the commit `{name}`")),
        }
    }
}

/// One step from a commit to one that led to it.
enum Step {
    /// So often to the first parent.
    Back(usize),
    /// To the parent of that number; to the commit itself for 0.
    Parent(usize),
}

/// Reads `~3^2^{commit}`; nothing where it says something else.
fn steps_of(mut text: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    while !text.is_empty() {
        let is_back = text.starts_with('~');
        text = text.strip_prefix(['~', '^'])?;
        if let Some(rest) =
            text.strip_prefix("{commit}").or_else(|| text.strip_prefix("{}")).filter(|_| !is_back)
        {
            text = rest;
            continue;
        }
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let count = if digits == 0 { 1 } else { text[..digits].parse().ok()? };
        steps.push(if is_back { Step::Back(count) } else { Step::Parent(count) });
        text = &text[digits..];
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn steps_are_read_out_of_any_text(text in r"([~^]|[~^]\PC|[~^][0-9]{1,24}|\{commit\}|\{\}|\PC){0,6}") {
            if let Some(steps) = steps_of(&text) {
                prop_assert!(text.is_ascii(), "{text:?}");
                prop_assert!(steps.len() <= text.matches(['~', '^']).count(), "{text:?}");
            }
        }
    }
}
