//! "Did you mean": the known word that a mistyped one is closest to.

/// Returns the candidate nearest to the text, if one is near enough to be meant.
pub fn nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = text.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| {
            (strsim::damerau_levenshtein(&wanted, &candidate.to_lowercase()), candidate)
        })
        .filter(|(distance, candidate)| *distance <= (candidate.len().max(wanted.len()) / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns the words between backticks with commas, or `none`.
pub fn listed<T: std::fmt::Display>(words: impl IntoIterator<Item = T>) -> String {
    let list: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    if list.is_empty() { "none".to_owned() } else { list.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant_and_only_that() {
        let gates = ["implement", "code-review", "approve"];
        assert_eq!(nearest("implment", gates), Some("implement"));
        assert_eq!(nearest("Code-Review", gates), Some("code-review"));
        assert_eq!(nearest("deploy", gates), None);
    }
}
