//! Who a commit is by. Only a cleaned name and address can be built: no brackets, newlines or control characters
//! ever reach an object.

use crate::git::error::AuditError;
use crate::git::repository::configuration::{Configuration, outside_repositories};
use crate::git::repository::repository::Repository;

/// A name and an address, fit for a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    name: String,
    email: String,
}

/// Which of git's two people is asked for.
#[derive(Debug, Clone, Copy)]
enum Part {
    Author,
    Committer,
}

impl Person {
    /// Cleans a name and an address as git does; refuses when nothing is left of one.
    pub fn new(name: &str, email: &str) -> Result<Self, AuditError> {
        let part = |part, text: &str| {
            let clean = clean(text);
            if clean.is_empty() {
                Err(AuditError::BadPerson { part, text: text.to_owned() })
            } else {
                Ok(clean)
            }
        };
        Ok(Self { name: part("name", name)?, email: part("email address", email)? })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn email(&self) -> &str {
        &self.email
    }

    /// Reads the name and the address of an existing commit, whatever its tool let in.
    pub(crate) fn of_signature(name: &[u8], email: &[u8]) -> Self {
        let text = |bytes| clean(&String::from_utf8_lossy(bytes));
        Self { name: text(name), email: text(email) }
    }
}

impl Repository {
    /// Returns git's user, as committer.
    pub fn identity(&self) -> Result<Person, AuditError> {
        self.person(Part::Committer)
    }

    /// Returns git's user, as author: the same but for `author.*` and `GIT_AUTHOR_*`.
    pub fn author_identity(&self) -> Result<Person, AuditError> {
        self.person(Part::Author)
    }

    /// Returns git's user, as author, where there is no repository yet; refuses if the first commit would.
    pub fn user() -> Result<Person, AuditError> {
        let config = outside_repositories()?;
        person(&config, Part::Committer)?;
        person(&config, Part::Author)
    }

    fn person(&self, part: Part) -> Result<Person, AuditError> {
        person(self.config()?, part)
    }
}

fn person(config: &Configuration, part: Part) -> Result<Person, AuditError> {
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
    let name = find("name").ok_or(AuditError::NoIdentity { missing: "`user.name`" })?;
    let email = find("email")
        .or_else(|| std::env::var("EMAIL").ok())
        .ok_or(AuditError::NoIdentity { missing: "`user.email`" })?;
    Person::new(&name, &email)
}

/// Drops what git drops: brackets and control characters anywhere, and "crud" at the ends.
fn clean(text: &str) -> String {
    let inner: String =
        text.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).collect();
    let crud =
        |c: char| c.is_whitespace() || matches!(c, '.' | ',' | ':' | ';' | '"' | '\\' | '\'');
    inner.trim_matches(crud).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_cannot_carry_markup() {
        let person = Person::new(" Eve <eve@x>\n\tparent 0000", "<e@x>\r\nauthor z").unwrap();
        assert_eq!(person.name(), "Eve eve@xparent 0000");
        assert_eq!(person.email(), "e@xauthor z");
        assert!(Person::new("<>\n", "a@b").is_err());
        assert!(Person::new("a", "\u{0}").is_err());
    }
}
