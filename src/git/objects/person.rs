//! Who a commit is by. Only a cleaned name and address can be built: no brackets, newlines or control characters
//! ever reach an object.

use crate::git::error::GitError;

/// A name and an address, fit for a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    name: String,
    email: String,
}

impl Person {
    /// Cleans a name and an address as git does; refuses when nothing is left of one.
    pub fn new(name: &str, email: &str) -> Result<Self, GitError> {
        let part = |part, text: &str| {
            let clean = clean(text);
            if clean.is_empty() {
                Err(GitError::BadPerson { part, text: text.to_owned() })
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

/// Drops what git drops: brackets and control characters anywhere, and "crud" at the ends.
pub(crate) fn clean(text: &str) -> String {
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
