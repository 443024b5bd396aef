//! Git's configuration where there is no repository yet: the system's and the user's, from where the environment says.

use std::path::PathBuf;

use git2::{Config, ConfigLevel};

use super::error::{AuditError, During};

/// Reads the configuration. libgit2 follows `GIT_CONFIG_GLOBAL` and its like only when it opens a repository.
pub(super) fn outside_repositories() -> Result<Config, AuditError> {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let is_off = |value: PathBuf| ["", "0", "false", "no", "off"].iter().any(|word| value.as_os_str() == *word);
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
        config.add_file(&path, level, false).during(|| format!("read git's configuration `{}`", path.display()))?;
    }
    config.snapshot().during(|| "read git's configuration".to_owned())
}
