//! What git's configuration says, read once: a repository's, or where there is none yet, the system's and the user's, from where
//! the environment says.

use std::collections::HashMap;
use std::path::PathBuf;

use git2::{Config, ConfigLevel};

use crate::git::error::{During, GitError};

/// All that is ever asked for.
const TEXTS: [&str; 15] = [
    "author.email",
    "author.name",
    "committer.email",
    "committer.name",
    "core.autocrlf",
    "core.logAllRefUpdates",
    "gpg.format",
    "gpg.openpgp.program",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.x509.program",
    "init.defaultBranch",
    "user.email",
    "user.name",
    "user.signingKey",
];

/// Git's configuration as it was at one moment.
#[derive(Debug)]
pub(crate) struct Configuration {
    texts: HashMap<&'static str, String>,
    /// `commit.gpgSign`.
    pub signs_commits: bool,
}

impl Configuration {
    /// Takes out of a configuration what is asked for here.
    pub(crate) fn of(mut config: Config) -> Result<Self, GitError> {
        let config = config.snapshot().during(|| "read git's configuration".to_owned())?;
        let texts = TEXTS
            .into_iter()
            .filter_map(|name| Some((name, config.get_string(name).ok()?)))
            .collect();
        Ok(Self { texts, signs_commits: config.get_bool("commit.gpgSign").unwrap_or(false) })
    }

    /// Returns what is said of that name.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        debug_assert!(TEXTS.contains(&name), "`{name}` is missing from `TEXTS`");
        self.texts.get(name).map(String::as_str)
    }
}

/// Reads the configuration. libgit2 follows `GIT_CONFIG_GLOBAL` and its like only when it opens a repository.
pub(crate) fn outside_repositories() -> Result<Configuration, GitError> {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let is_off = |value: PathBuf| {
        ["", "0", "false", "no", "off"].iter().any(|word| value.as_os_str() == *word)
    };
    let mut files = Vec::new();
    if named("GIT_CONFIG_NOSYSTEM").is_none_or(is_off) {
        let system = named("GIT_CONFIG_SYSTEM").or_else(|| Config::find_system().ok());
        files.extend(system.map(|path| (path, ConfigLevel::System)));
    }
    if let Some(path) = named("GIT_CONFIG_GLOBAL") {
        files.push((path, ConfigLevel::Global));
    } else {
        files.extend(Config::find_xdg().ok().map(|path| (path, ConfigLevel::XDG)));
        files.extend(Config::find_global().ok().map(|path| (path, ConfigLevel::Global)));
    }
    let mut config = Config::new().during(|| "read git's configuration".to_owned())?;
    for (path, level) in files.into_iter().filter(|(path, _)| path.is_file()) {
        config
            .add_file(&path, level, false)
            .during(|| format!("read git's configuration `{}`", path.display()))?;
    }
    Configuration::of(config)
}
