//! How many are named of those that an issue is about.

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
