//! Git's user, as author and as committer.

use super::configuration::{Configuration, outside_repositories};
use super::handle::Repository;
use crate::git::error::GitError;
use crate::git::objects::person::{Person, clean};

/// Which of git's two people is asked for.
#[derive(Debug, Clone, Copy)]
enum Part {
    Author,
    Committer,
}

impl Repository {
    /// Returns git's user, as committer.
    pub fn identity(&self) -> Result<Person, GitError> {
        self.person(Part::Committer)
    }

    /// Returns git's user, as author: the same but for `author.*` and `GIT_AUTHOR_*`.
    pub fn author_identity(&self) -> Result<Person, GitError> {
        self.person(Part::Author)
    }

    /// Returns git's user, as author, where there is no repository yet; refuses if the first commit would.
    pub fn user() -> Result<Person, GitError> {
        let config = outside_repositories()?;
        person(&config, Part::Committer)?;
        person(&config, Part::Author)
    }

    fn person(&self, part: Part) -> Result<Person, GitError> {
        person(self.config()?, part)
    }
}

fn person(config: &Configuration, part: Part) -> Result<Person, GitError> {
    let (word, env) = match part {
        Part::Author => ("author", "GIT_AUTHOR"),
        Part::Committer => ("committer", "GIT_COMMITTER"),
    };
    let find = |field: &str| {
        let from_env = std::env::var(format!("{env}_{}", field.to_uppercase())).ok();
        let from_config =
            |section: &str| config.text(&format!("{section}.{field}")).map(str::to_owned);
        [from_env, from_config(word), from_config("user")]
            .into_iter()
            .flatten()
            .find(|text| !clean(text).is_empty())
    };
    let name = find("name").ok_or(GitError::NoIdentity { missing: "`user.name`" })?;
    let email = find("email")
        .or_else(|| std::env::var("EMAIL").ok())
        .ok_or(GitError::NoIdentity { missing: "`user.email`" })?;
    Person::new(&name, &email)
}
