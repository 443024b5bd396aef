//! Which visit a file that waits was found to mean, kept over crashes: in its name, `.taken/ID-.VISIT@BRANCH@NAME`. Nothing that is
//! taken comes under a name that begins with a dot, so no name is mistaken for one with such a mark.

use std::fmt;

use crate::domain::GateId;

/// A visit of the task that a file is about, or a branch of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meant {
    /// The visit.
    pub visit: usize,
    /// The branch; absent outside of forks, and where it was left open.
    pub branch: Option<GateId>,
}

impl Meant {
    /// Divides the name of a taken file, without its id, into this and the name that it came under.
    pub(crate) fn split(name: &str) -> (Option<Self>, &str) {
        let marked = || {
            let (visit, rest) = name.strip_prefix('.')?.split_once('@')?;
            let (branch, name) = rest.split_once('@')?;
            let visit =
                visit.bytes().all(|byte| byte.is_ascii_digit()).then(|| visit.parse().ok())??;
            let branch = if branch.is_empty() { None } else { Some(branch.parse().ok()?) };
            Some((Self { visit, branch }, name))
        };
        marked().map_or((None, name), |(meant, name)| (Some(meant), name))
    }
}

impl fmt::Display for Meant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}@{}@", self.visit, self.branch.as_ref().map_or("", GateId::as_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_written_and_no_other_name_is_one() {
        for (visit, branch) in [(0, None), (3, Some("security")), (usize::MAX, Some("a-b_c"))] {
            let meant = Meant { visit, branch: branch.map(|branch| branch.parse().unwrap()) };
            for name in ["done.yaml", "a@b@c.yaml", ".odd", ""] {
                assert_eq!(Meant::split(&format!("{meant}{name}")), (Some(meant.clone()), name));
            }
        }
        for name in [
            "done.yaml",
            "3@@done.yaml",
            ".3@done.yaml",
            ".x@@done.yaml",
            ".+3@@done.yaml",
            ".@@x",
            ".3@a b@x",
        ] {
            assert_eq!(Meant::split(name), (None, name));
        }
    }
}
