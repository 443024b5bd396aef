//! What somebody should see to, and how many are named of those that it is about.

/// Something that somebody should see to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Attention {
    /// What kind it is: stable, for JSON.
    pub code: &'static str,
    pub problem: String,
    pub fix: String,
}

/// So many ids are named before it is enough.
pub(crate) const FEW: usize = 5;

/// Names a few of many.
pub(crate) fn some(ids: &[&str]) -> String {
    let mut names = ids[..ids.len().min(FEW)].to_vec();
    if ids.len() > FEW {
        names.push("...");
    }
    names.join(", ")
}
