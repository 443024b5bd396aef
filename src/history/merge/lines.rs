//! The frontmatter merged as text where that says what was meant: comments and quotes of both sides stay as they were written.

use super::merge::Sides;
use crate::domain::Task;
use crate::files::task_file;
use crate::files::task_file::TaskFile;
use crate::git::merge_texts;
use crate::project::error::error::OpsError;
use crate::rules::merge::{Keys, with_people_of};

/// Begins a line that no frontmatter has.
const ANCHOR: char = '\u{1}';

/// Some editors begin a file with it.
const MARK: char = '\u{feff}';

/// Returns the file that stands with what the other side's people changed in the frontmatter, as they wrote it; nothing where the text
/// would not say what was merged. Of lines that both changed, those of the file that stands are kept.
pub(crate) fn merged(
    sides: &Sides,
    (standing, other): (&TaskFile, &TaskFile),
    meant: &Task,
    keys: &Keys,
) -> Result<Option<TaskFile>, OpsError> {
    let Some(base) = &sides.base else { return Ok(None) };
    if other.origin != base.origin || !other.task.history.starts_with(&base.task.history) {
        return Ok(None);
    }
    // What the other side's engine wrote does not stand: what is left is what its people changed.
    let before = with_people_of(&base.task, &other.task);
    let Ok(people) = other.rewind(&before) else { return Ok(None) };
    let texts = [base.head(), standing.head(), task_file::head(&people)];
    let both = merge_texts(texts[0].as_bytes(), texts[1].as_bytes(), texts[2].as_bytes())?;
    let head = if both.agree() { both.ours } else { merged_apart(texts)? };
    let text = [&head[..], standing.rest().as_bytes()].concat();
    let read = task_file::parse(&text, &standing.task.id, &sides.defaults).ok();
    let says_it = |file: &TaskFile| {
        let written = sides.written(file, keys.merged.clone(), None, standing.body());
        written.is_ok_and(|written| {
            written.task == *meant && written.keys(sides.scope()) == keys.merged
        })
    };
    Ok(read.filter(says_it))
}

/// Merges the texts with something between all of their keys that none of them changed: what different keys say is not disputed,
/// although they stand on lines next to each other.
fn merged_apart(texts: [&str; 3]) -> Result<Vec<u8>, OpsError> {
    // Marks at the beginning and ends of lines are those of the file that stands.
    let (mark, crlf) = (texts[1].starts_with(MARK), texts[1].contains("\r\n"));
    let alike = |text: &str| {
        let text = text.trim_start_matches(MARK).replace("\r\n", "\n");
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        if mark { format!("{MARK}{text}") } else { text }
    };
    let [base, standing, people] =
        [alike(texts[0]), texts[1].to_owned(), alike(texts[2])].map(|text| anchored(&text));
    let both = merge_texts(base.as_bytes(), standing.as_bytes(), people.as_bytes())?;
    let lines = both.ours.split_inclusive(|byte| *byte == b'\n');
    Ok(lines
        .filter(|line| !line.starts_with(ANCHOR.to_string().as_bytes()))
        .flatten()
        .copied()
        .collect())
}

fn anchored(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for line in text.split_inclusive('\n') {
        out.push_str(line);
        let key = line.split_once(':').map(|(key, _)| key);
        if let Some(key) = key.filter(|key| !key.trim_start().starts_with('#')) {
            out.extend([ANCHOR.to_string().as_str(), key, "\n"]);
        }
    }
    out
}
