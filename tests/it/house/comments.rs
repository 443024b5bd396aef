//! The English of comments: usual words, and a first word that is a noun or a verb.

use super::architecture::{Source, sources};

/// A comment that begins with one of them is half a sentence.
const CLAUSES: &[&str] = &["How", "What", "When", "Where", "Whether", "Who"];

/// Words that have a more usual one: fix, again, no longer, otherwise.
const UNUSUAL: &[&str] = &["anew", "any more", "mend", "mended", "mends", ", else"];

/// Returns the comments of a file with their lines. The help of the command line, `///` at fields in `cli`, is not among them.
fn comments(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let is_help = |line: &str| source.path.starts_with("cli/") && line.starts_with("    ///");
    let lines = source.text.lines().enumerate().filter(move |(_, line)| !is_help(line));
    lines.filter_map(|(index, line)| {
        let text = line.trim_start().strip_prefix("//")?;
        Some((index + 1, text.trim_start_matches(['/', '!']).trim()))
    })
}

fn faults(source: &Source) -> Vec<String> {
    let mut faults = Vec::new();
    let mut ends = true;
    let mut last = 0;
    for (line, text) in comments(source) {
        let is_first = line != last + 1 || ends;
        let first = text.split(' ').next().unwrap_or_default();
        if is_first && CLAUSES.contains(&first) {
            faults.push(format!("{}:{line} begins with `{first}`", source.path));
        }
        let has = |word: &&&str| {
            let mut places = text.match_indices(**word);
            let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            places.any(|(at, _)| {
                let after = text[at + word.len()..].chars().next();
                !is_letter(text[..at].chars().next_back()) && !is_letter(after)
            })
        };
        let unusual = UNUSUAL.iter().filter(has);
        faults.extend(unusual.map(|word| format!("{}:{line} says `{word}`", source.path)));
        (last, ends) = (line, text.is_empty() || text.ends_with('.'));
    }
    faults
}

#[test]
fn comments_are_plain() {
    let faults: Vec<String> = sources().iter().flat_map(faults).collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn comments_that_are_not_plain_are_found() {
    let check = |text: &str| faults(&Source::new("tasks/edit.rs", text));
    assert_eq!(check("/// What it does."), ["tasks/edit.rs:1 begins with `What`"]);
    assert_eq!(check("// It is made anew."), ["tasks/edit.rs:1 says `anew`"]);
    assert_eq!(
        check("/// True if\n/// What it does is right.\nfn mend() {}"),
        Vec::<String>::new()
    );
    let help = Source::new("cli/task/edit.rs", "    /// What to do");
    assert_eq!(faults(&help), Vec::<String>::new());
}
