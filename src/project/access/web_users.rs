//! The people who may log in to the board in a browser: a YAML file outside of the rules, whose entries are `LOGIN: {agent:
//! human-ann, password: "HASH"}`. Their permissions are in org.yaml.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::str::FromStr;

use argon2::password_hash::{PasswordHashString, SaltString};
use argon2::{ARGON2ID_IDENT, Argon2, Params, PasswordHasher, PasswordVerifier};

use crate::domain::{AgentId, Digest};
use crate::files::config::decode::{Faults, FieldReader};
use crate::files::diagnostic::Diagnostic;
use crate::files::yaml::{self, Fault, MappingEntry, ParseLimits};
use crate::project::error::ProjectError;
use crate::storage::StoreError;
use crate::storage::random::random_local;
use crate::system::terminal::quoted;

/// The fewest characters of a password.
const SHORTEST: usize = 10;

/// The users of a file; at least one.
#[derive(Debug)]
pub(crate) struct WebUsers {
    /// The users by their logins.
    users: BTreeMap<String, (AgentId, Argon2Hash)>,
    /// The hash that unknown logins are checked with.
    stand_in: Argon2Hash,
}

/// A hash by argon2id, with its salt and costs.
#[derive(Debug, Clone)]
struct Argon2Hash(PasswordHashString);

impl FromStr for Argon2Hash {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        // The text is not repeated: it may be a password.
        let fault = "this is no hash by argon2id; make one with `aof serve --hash-password`";
        let hash = PasswordHashString::new(text).map_err(|_| fault)?;
        let is_whole = hash.salt().is_some() && hash.hash().is_some();
        let has_costs = Params::try_from(&hash.password_hash()).is_ok();
        let is_usable = hash.algorithm() == ARGON2ID_IDENT && is_whole && has_costs;
        is_usable.then_some(Self(hash)).ok_or(fault)
    }
}

impl WebUsers {
    /// Reads a file of users. Fails if it is invalid, or if other users can read it: they could try passwords without a limit.
    pub(crate) fn read(path: &Path) -> Result<Self, ProjectError> {
        let failed = |cause| StoreError::io("read", path, cause);
        let file = File::open(path).map_err(failed)?;
        let name = path.display().to_string();
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(ProjectError::Unfit {
                code: "invalid_users",
                problem: format!("`{name}` is a folder"),
                fix: "name a file of users".into(),
            });
        }
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(ProjectError::Unfit {
                code: "users_exposed",
                problem: format!("others can use `{name}`, which has hashes of passwords"),
                fix: format!("`chmod 600 {}`", quoted(&name)).into(),
            });
        }
        let text = io::read_to_string(file).map_err(failed)?;
        Self::parse(&text).map_err(|faults| {
            let diagnostics = Diagnostic::from_faults(&name, &text, &faults);
            ProjectError::InvalidUsers { file: name, diagnostics }
        })
    }

    fn parse(text: &str) -> Result<Self, Vec<Fault>> {
        let root = yaml::parse(text, &ParseLimits::default())?;
        let faults = Faults::default();
        if root.entries().is_empty() {
            let help = "write `ann: {agent: human-ann, password: \"HASH\"}`, with a hash by `aof serve --hash-password`";
            faults.wrong_kind(&root, "the file is a mapping of logins", help);
        }
        let users: BTreeMap<_, _> =
            root.entries().iter().filter_map(|entry| read_user(entry, &faults)).collect();
        let stand_in = users.values().next().map(|(_, hash)| hash.clone());
        faults.or_value(stand_in.map(|stand_in| Self { users, stand_in }))
    }

    /// Returns the agent of a login.
    pub(crate) fn agent(&self, login: &str) -> Option<&AgentId> {
        self.users.get(login).map(|(agent, _)| agent)
    }

    /// Returns the agents, each once.
    pub(crate) fn agents(&self) -> BTreeSet<&AgentId> {
        self.users.values().map(|(agent, _)| agent).collect()
    }

    /// Returns a digest that changes with the password of a login.
    pub(crate) fn stamp(&self, login: &str) -> Option<Digest> {
        self.users.get(login).map(|(_, hash)| Digest::of(hash.0.as_str().as_bytes()))
    }

    /// Returns the agent of a login, if it has that password.
    pub(crate) fn check(&self, login: &str, password: &str) -> Option<&AgentId> {
        let user = self.users.get(login);
        // An unknown login takes as long as a wrong password.
        let hash = user.map_or(&self.stand_in, |(_, hash)| hash).0.password_hash();
        let is_right = Argon2::default().verify_password(password.as_bytes(), &hash).is_ok();
        user.filter(|_| is_right).map(|(agent, _)| agent)
    }
}

fn read_user(entry: &MappingEntry<'_>, faults: &Faults) -> Option<(String, (AgentId, Argon2Hash))> {
    let fields = FieldReader::of(&entry.value, "a user", faults)?;
    let (agent, password) = (fields.required("agent"), fields.required("password"));
    let is_rest_of_hash = |key: &str| key.starts_with("t=") || key.starts_with("p=");
    fields.refuse_unknown_but(|key| {
        is_rest_of_hash(key).then(|| "put the hash in quotes: it has commas".to_owned())
    });
    Some((entry.key.text.to_string(), (agent?, password?)))
}

/// Returns the hash of a password for a file of users. Fails if the password is too short.
pub(crate) fn password_hash(password: &str) -> Result<String, ProjectError> {
    let unfit = |code, problem| {
        let fix = "take several words that do not belong together".to_owned();
        ProjectError::Unfit { code, problem, fix: fix.into() }
    };
    let length = password.chars().count();
    if length < SHORTEST {
        let problem = format!("a password has at least {SHORTEST} characters, not {length}");
        return Err(unfit("weak_password", problem));
    }
    let failed = |fault| unfit("weak_password", format!("cannot hash the password: {fault}"));
    let salt = SaltString::encode_b64(random_local(24)?.as_bytes()).map_err(failed)?;
    let hash = Argon2::default().hash_password(password.as_bytes(), &salt).map_err(failed)?;
    Ok(hash.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use insta::assert_snapshot;
    use tempfile::TempDir;

    use super::*;
    use crate::files::diagnostic::{ColorMode, render_all};

    /// Returns a hash that is cheap to check.
    fn cheap(password: &str, algorithm: argon2::Algorithm) -> String {
        let params = Params::new(8, 1, 1, None).unwrap();
        let salt = SaltString::encode_b64(b"salt-of-tests").unwrap();
        let argon = Argon2::new(algorithm, argon2::Version::V0x13, params);
        argon.hash_password(password.as_bytes(), &salt).unwrap().to_string()
    }

    fn faults(text: &str) -> String {
        let faults = WebUsers::parse(text).map(|_| ()).unwrap_err();
        render_all(&Diagnostic::from_faults("users.yaml", text, &faults), ColorMode::Plain)
    }

    #[test]
    fn a_login_and_its_password_are_an_agent() {
        let hash = cheap("correct horse", argon2::Algorithm::Argon2id);
        let other = cheap("other horse", argon2::Algorithm::Argon2id);
        let text = format!(
            "ann: {{agent: human-ann, password: \"{hash}\"}}\nbob:\n  agent: human-bob\n  password: {other}\n"
        );
        let users = WebUsers::parse(&text).unwrap();
        for (login, password, agent) in [
            ("ann", "correct horse", Some("human-ann")),
            ("bob", "other horse", Some("human-bob")),
            ("bob", "correct horse", None),
            ("ann", "correct horse ", None),
            ("ann", "", None),
            ("Ann", "correct horse", None),
            ("nobody", "correct horse", None),
            ("nobody", "other horse", None),
        ] {
            assert_eq!(
                users.check(login, password).map(AgentId::as_str),
                agent,
                "{login} {password}"
            );
        }
    }

    #[test]
    fn a_file_with_faults_says_all_of_them() {
        let weak = cheap("correct horse", argon2::Algorithm::Argon2i);
        let hash = cheap("correct horse", argon2::Algorithm::Argon2id);
        let text = format!(
            "ann: {{agent: human-ann, pasword: x}}\nbob: {{agent: human bob, password: hunter2}}\n\
             carol: {{agent: human-carol, password: \"{weak}\"}}\ndora: human-dora\neve: {{agent: human-eve, password: {hash}}}\n"
        );
        assert_snapshot!(faults(&text), @r#"
        error[missing_field]: a user needs `password`
         --> users.yaml:1:7
          |
        1 | ann: {agent: human-ann, pasword: x}
          |       ^^^^^

        error[unknown_field]: a user has no field `pasword`
         --> users.yaml:1:25
          |
        1 | ann: {agent: human-ann, pasword: x}
          |                         ^^^^^^^
          |
          = help: did you mean `password`?

        error[invalid_value]: `human bob` is not an agent id
         --> users.yaml:2:14
          |
        2 | bob: {agent: human bob, password: hunter2}
          |              ^^^^^^^^^
          |
          = help: use a letter or digit, then letters, digits, `-`, `_` or `.`, at most 64 in all (as in `agent-7` or `human-ada`)

        error[invalid_value]: this is no hash by argon2id
         --> users.yaml:2:35
          |
        2 | bob: {agent: human bob, password: hunter2}
          |                                   ^^^^^^^
          |
          = help: make one with `aof serve --hash-password`

        error[invalid_value]: this is no hash by argon2id
         --> users.yaml:3:39
          |
        3 | carol: {agent: human-carol, password: "$argon2i$v=19$m=8,t=1,p=1$c2FsdC1vZi10ZXN0cw$f6fuL8sjXgPFV4/PrJVo1u5o0OsvRIdXI4Vb…
          |                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          |
          = help: make one with `aof serve --hash-password`

        error[wrong_kind]: a user is a mapping of fields, and this is a string
         --> users.yaml:4:7
          |
        4 | dora: human-dora
          |       ^^^^^^^^^^

        error[invalid_value]: this is no hash by argon2id
         --> users.yaml:5:35
          |
        5 | eve: {agent: human-eve, password: $argon2id$v=19$m=8,t=1,p=1$c2FsdC1vZi10ZXN0cw$BfBqbx7UnRaxJpkT92yvstxdE6XLSMhNvT01myPz…
          |                                   ^^^^^^^^^^^^^^^^^^
          |
          = help: make one with `aof serve --hash-password`

        error[unknown_field]: a user has no field `t=1`
         --> users.yaml:5:54
          |
        5 | eve: {agent: human-eve, password: $argon2id$v=19$m=8,t=1,p=1$c2FsdC1vZi10ZXN0cw$BfBqbx7UnRaxJpkT92yvstxdE6XLSMhNvT01myPz…
          |                                                      ^^^
          |
          = help: put the hash in quotes: it has commas

        error[unknown_field]: a user has no field `p=1$c2FsdC1vZi10ZXN0cw$BfBqbx7UnRaxJpkT92yvstxdE6XLSMhNvT01myPzoIA`
         --> users.yaml:5:58
          |
        5 | eve: {agent: human-eve, password: $argon2id$v=19$m=8,t=1,p=1$c2FsdC1vZi10ZXN0cw$BfBqbx7UnRaxJpkT92yvstxdE6XLSMhNvT01myPz…
          |                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          |
          = help: put the hash in quotes: it has commas
        "#);
        assert_snapshot!(faults("# nobody\n"), @r#"
        error[wrong_kind]: the file is a mapping of logins, and this is nothing
         --> users.yaml:1:1
          |
        1 | # nobody
          | ^
          |
          = help: write `ann: {agent: human-ann, password: "HASH"}`, with a hash by `aof serve --hash-password`
        "#);
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let home = TempDir::new().unwrap();
        let hash = cheap("correct horse", argon2::Algorithm::Argon2id);
        for (mode, is_read) in
            [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o620, false)]
        {
            let path = home.path().join(format!("users {mode:o}.yaml"));
            let text = format!("ann: {{agent: human-ann, password: \"{hash}\"}}\n");
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let read = WebUsers::read(&path);
            assert_eq!(read.is_ok(), is_read, "{mode:o}");
            if let Err(error) = read {
                let fix = format!("`chmod 600 '{}'`", path.display());
                assert_eq!((error.code(), error.fix()), ("users_exposed", Some(fix)));
            }
        }
        let missing = WebUsers::read(&home.path().join("nothing.yaml")).unwrap_err();
        assert_eq!(missing.code(), "files");
        let path = home.path().join("users 600.yaml");
        fs::write(&path, "ann: 1\n").unwrap();
        let error = WebUsers::read(&path).unwrap_err();
        assert!(
            matches!(&error, ProjectError::InvalidUsers { diagnostics, .. } if diagnostics.len() == 1)
        );
        assert_eq!(error.code(), "invalid_users");
    }

    #[test]
    fn a_password_is_hashed_if_it_is_long_enough() {
        let hash = password_hash("ten chars!").unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_ne!(hash, password_hash("ten chars!").unwrap(), "each has a salt of its own");
        let users =
            WebUsers::parse(&format!("ann: {{agent: human-ann, password: '{hash}'}}")).unwrap();
        assert!(
            users.check("ann", "ten chars!").is_some() && users.check("ann", "ten chars").is_none()
        );
        // Characters count, not bytes.
        for short in ["", "nine char", "äöüäöüäöü"] {
            assert_eq!(password_hash(short).unwrap_err().code(), "weak_password", "{short}");
        }
    }
}
