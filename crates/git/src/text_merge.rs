//! Merges texts line by line, as git does. Needs no repository.

use git2::{FileFavor, MergeFileInput, MergeFileOptions};

use super::error::{During, GitError};

/// A merged text in two versions, which differ where the sides conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedText {
    /// The text with our lines at conflicts.
    pub ours: Vec<u8>,
    /// The text with their lines at conflicts.
    pub theirs: Vec<u8>,
}

/// The conflict markers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marks {
    /// The length of a marker.
    pub size: u16,
    /// The label of our side.
    pub ours: String,
    /// The label of their side.
    pub theirs: String,
}

impl Default for Marks {
    fn default() -> Self {
        Self { size: 7, ours: "ours".to_owned(), theirs: "theirs".to_owned() }
    }
}

/// Merges two texts with their common base.
pub fn merge_texts(base: &[u8], ours: &[u8], theirs: &[u8]) -> Result<MergedText, GitError> {
    merge_texts_by(base, ours, theirs, Comparison::Shortest)
}

/// The diff algorithm, which decides how repeated lines are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Few changes, found fast; git's `myers`.
    Shortest,
    /// The fewest changes.
    Minimal,
    /// Anchored at unique lines, as git's `patience` and `histogram`.
    Unique,
}

/// Merges two texts with their common base, using that algorithm.
pub fn merge_texts_by(
    base: &[u8],
    ours: &[u8],
    theirs: &[u8],
    by: Comparison,
) -> Result<MergedText, GitError> {
    if ours == theirs || theirs == base {
        return Ok(MergedText { ours: ours.to_vec(), theirs: ours.to_vec() });
    }
    if ours == base {
        return Ok(MergedText { ours: theirs.to_vec(), theirs: theirs.to_vec() });
    }
    let favoring = |favor| {
        let mut options = MergeFileOptions::new();
        options.favor(favor).minimal(by == Comparison::Minimal).patience(by == Comparison::Unique);
        merged(Some(base), ours, theirs, &mut options)
    };
    Ok(MergedText { ours: favoring(FileFavor::Ours)?, theirs: favoring(FileFavor::Theirs)? })
}

impl MergedText {
    /// Returns whether there is no conflict.
    pub fn agree(&self) -> bool {
        self.ours == self.theirs
    }

    /// Returns the text with conflict markers.
    pub fn marked(&self, marks: &Marks) -> Result<Vec<u8>, GitError> {
        if self.agree() {
            return Ok(self.ours.clone());
        }
        let label = |name: &str| name.replace(|c: char| c.is_control(), " ");
        let mut options = MergeFileOptions::new();
        options
            .marker_size(marks.size)
            .our_label(label(&marks.ours))
            .their_label(label(&marks.theirs));
        let text = merged(None, &self.ours, &self.theirs, &mut options)?;
        // libgit2 ends its markers with a bare line feed, whatever the lines around them end with.
        Ok(if has_bare_ends(&self.ours) || has_bare_ends(&self.theirs) {
            text
        } else {
            with_returns(&text)
        })
    }

    /// Returns the text with the given line in the place of each conflict.
    pub fn with_line_for_conflicts(&self, line: &str) -> Result<Vec<u8>, GitError> {
        // Longer than any marker-like line in the text itself.
        let longest =
            lines(&self.ours).chain(lines(&self.theirs)).map(arrows).max().unwrap_or_default();
        let size = u16::try_from(longest + usize::from(Marks::default().size)).unwrap_or(u16::MAX);
        let marked = self.marked(&Marks { size, ..Marks::default() })?;
        let (mut out, mut inside) = (Vec::with_capacity(marked.len()), false);
        for text in lines(&marked) {
            let is_marker = arrows(text) >= usize::from(size);
            if is_marker && !inside {
                out.extend_from_slice(line.as_bytes());
                out.extend_from_slice(if is_bare(text) { b"\n" } else { b"\r\n" });
            } else if !is_marker && !inside {
                out.extend_from_slice(text);
            }
            inside ^= is_marker;
        }
        Ok(out)
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}

/// Returns the number of `<` or `>` at the beginning of a line.
fn arrows(line: &[u8]) -> usize {
    line.iter().take_while(|byte| b"<>".contains(byte)).count()
}

fn has_bare_ends(text: &[u8]) -> bool {
    !text.contains(&b'\n') || text.split_inclusive(|byte| *byte == b'\n').any(is_bare)
}

fn is_bare(line: &[u8]) -> bool {
    line.ends_with(b"\n") && !line.ends_with(b"\r\n")
}

fn with_returns(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 16);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\n").filter(|_| is_bare(line)) {
            Some(bare) => out.extend([bare, b"\r\n"].concat()),
            None => out.extend(line),
        }
    }
    out
}

/// Merges two texts. Without a base, every difference is a conflict.
fn merged(
    base: Option<&[u8]>,
    ours: &[u8],
    theirs: &[u8],
    options: &mut MergeFileOptions,
) -> Result<Vec<u8>, GitError> {
    // Append a line break to each: then a last line without one is like all others, and no text is empty.
    let end: &[u8] = if ours.windows(2).any(|pair| pair == b"\r\n") { b"\r\n" } else { b"\n" };
    let base = base.map(|base| [base, end].concat()).unwrap_or_default();
    let texts = [base, [ours, end].concat(), [theirs, end].concat()];
    // libgit2 does not merge texts with NUL bytes.
    let zero = texts.iter().any(|text| text.contains(&0)).then(|| zero_replacement(&texts));
    let texts = texts
        .map(|text| zero.as_ref().map_or_else(|| text.clone(), |zero| replaced(&text, &[0], zero)));
    let inputs = texts.each_ref().map(|text| {
        let mut input = MergeFileInput::new();
        input.content(text);
        input
    });
    let [base, ours, theirs] = &inputs;
    // `merge_file` does not initialize libgit2 itself.
    drop(git2::Buf::new());
    let merged = git2::merge_file(base, ours, theirs, Some(options))
        .during(|| "merge two texts".to_owned())?;
    let text = merged.content();
    let text = text.strip_suffix(end).unwrap_or(text);
    Ok(zero.map_or_else(|| text.to_vec(), |zero| replaced(text, &zero, &[0])))
}

/// Returns bytes that occur in none of the texts, to stand in for NUL. Their first and last byte differ from those between, so
/// they cannot overlap with what is around them.
fn zero_replacement(texts: &[Vec<u8>]) -> Vec<u8> {
    let longest = |text: &Vec<u8>| {
        text.chunk_by(|one, other| one == other).filter(|run| run[0] == 2).map(<[u8]>::len).max()
    };
    let longest = texts.iter().filter_map(longest).max().unwrap_or_default();
    [&[1][..], &vec![2; longest + 1], &[3]].concat()
}

fn replaced(text: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, behind)) = rest.split_first() {
        if let Some(behind) = rest.strip_prefix(old) {
            out.extend_from_slice(new);
            rest = behind;
        } else {
            out.push(*first);
            rest = behind;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(base: &str, ours: &str, theirs: &str) -> String {
        let both = merge_texts(base.as_bytes(), ours.as_bytes(), theirs.as_bytes()).unwrap();
        String::from_utf8(both.marked(&Marks::default()).unwrap()).unwrap()
    }

    #[test]
    fn undisputed_lines_are_merged() {
        assert_eq!(marked("a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\n"), "A\nb\nc\nD\n");
        assert_eq!(marked("a\nb\nc\nd", "A\nb\nc\nd", "a\nb\nc\nd\n"), "A\nb\nc\nd\n");
        assert_eq!(marked("a\nb\nc\nd\n", "a\nb\nc\nd", "A\nb\nc\nd\n"), "A\nb\nc\nd");
        assert_eq!(
            marked("a\r\nb\r\nc\r\nd", "A\r\nb\r\nc\r\nd", "a\r\nb\r\nc\r\nD"),
            "A\r\nb\r\nc\r\nD"
        );
        assert_eq!(marked("", "", "a"), "a");
        assert_eq!(marked("a", "", ""), "");
    }

    #[test]
    fn zeros_are_merged_like_other_bytes() {
        assert_eq!(
            marked("a\0\nb\nc\nd\n", "A\0\nb\nc\nd\n", "a\0\nb\nc\nD\0\0\n"),
            "A\0\nb\nc\nD\0\0\n"
        );
        let conflict = "<<<<<<< ours\nB\0\u{1}\u{2}\u{3}\n=======\n\0X\n>>>>>>> theirs\n";
        assert_eq!(
            marked("a\nb\nc\n", "a\nB\0\u{1}\u{2}\u{3}\nc\n", "a\n\0X\nc\n"),
            format!("a\n{conflict}c\n")
        );
        let zeros = "\0".repeat(20_000);
        assert_eq!(marked("a", &zeros, "a"), zeros);
        assert_eq!(marked(&format!("{zeros}\nb\nc"), &zeros, &format!("{zeros}\nb\nc")), zeros);
    }

    #[test]
    fn an_undecided_line_is_on_neither_side() {
        let with_line_for_conflicts = |base: &str, ours: &str, theirs: &str| {
            let both = merge_texts(base.as_bytes(), ours.as_bytes(), theirs.as_bytes()).unwrap();
            String::from_utf8(both.with_line_for_conflicts("?").unwrap()).unwrap()
        };
        assert_eq!(
            with_line_for_conflicts("a\nb\nc\nd\ne\n", "a\nB\nc\nd\nE\n", "a\nX\nc\nd\ne\n"),
            "a\n?\nc\nd\nE\n"
        );
        assert_eq!(with_line_for_conflicts("a\r\nb\r\n", "a\r\nB\r\n", "a\r\nX\r\n"), "a\r\n?\r\n");
        let run = "<".repeat(20);
        assert_eq!(
            with_line_for_conflicts(&run, &format!("{run}\nA"), &format!("{run}\nB")),
            format!("{run}\n?\n")
        );
        assert_eq!(with_line_for_conflicts("a\n", "a\n", "b\n"), "b\n");
    }

    #[test]
    fn markers_stand_around_disputed_lines_only() {
        let conflict = "<<<<<<< ours\nB\n=======\nX\n>>>>>>> theirs\n";
        assert_eq!(
            marked("a\nb\nc\nd\ne\n", "a\nB\nc\nd\nE\n", "a\nX\nc\nd\ne\n"),
            format!("a\n{conflict}c\nd\nE\n")
        );
        assert_eq!(
            marked("a\nb\nc\n", "a\nB\nc\n", "A\nX\nc\n"),
            format!("<<<<<<< ours\na\nB\n=======\nA\nX\n>>>>>>> theirs\nc\n")
        );
        assert_eq!(marked("b", "", "X\n"), "<<<<<<< ours\n=======\nX\n>>>>>>> theirs\n");
        assert_eq!(
            marked("a\r\nb\r\n", "a\r\nB\r\n", "a\r\nX\r\n"),
            "a\r\n<<<<<<< ours\r\nB\r\n=======\r\nX\r\n>>>>>>> theirs\r\n"
        );
    }
}
