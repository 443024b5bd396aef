//! Line endings: whoever changed those of the whole file has changed them for both.

use std::borrow::Cow;

use super::merge::Versions;

/// How the lines of a text end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Endings {
    /// All with a line feed alone.
    Unix,
    /// All with a carriage return before it.
    Dos,
}

impl Endings {
    /// Returns how all lines end; nothing where there are none, or they differ.
    fn of(text: &[u8]) -> Option<Self> {
        let mut lines =
            text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
        let is_dos = lines.next()?.ends_with(b"\r\n");
        lines.all(|line| line.ends_with(b"\r\n") == is_dos).then_some(if is_dos {
            Self::Dos
        } else {
            Self::Unix
        })
    }

    fn in_text(self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len() + text.len() / 16);
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            match (self, line.strip_suffix(b"\n")) {
                (Self::Dos, Some(bare)) if !bare.ends_with(b"\r") => {
                    out.extend([bare, b"\r\n"].concat());
                }
                (Self::Unix, Some(bare)) => {
                    out.extend([bare.strip_suffix(b"\r").unwrap_or(bare), b"\n"].concat());
                }
                _ => out.extend_from_slice(line),
            }
        }
        out
    }
}

/// The versions of a file, as far as they had to be given other line endings.
pub(crate) struct Alike<'v> {
    base: Option<Cow<'v, [u8]>>,
    ours: Cow<'v, [u8]>,
    theirs: Cow<'v, [u8]>,
}

impl<'v> Alike<'v> {
    /// Gives all the endings of the one side that changed them. Where nobody did, or lines of one version end differently, each stays as it
    /// is.
    pub(crate) fn of(versions: Versions<'v>) -> Self {
        let [ours, theirs] = [versions.ours, versions.theirs].map(Endings::of);
        let wanted = match versions.base.and_then(Endings::of) {
            Some(base) if ours == Some(base) && theirs != Some(base) => theirs,
            Some(base) if theirs == Some(base) && ours != Some(base) => ours,
            _ => None,
        };
        let given = |text: &'v [u8]| match wanted {
            Some(wanted) if Endings::of(text).is_some_and(|endings| endings != wanted) => {
                Cow::Owned(wanted.in_text(text))
            }
            _ => Cow::Borrowed(text),
        };
        Self {
            base: versions.base.map(given),
            ours: given(versions.ours),
            theirs: given(versions.theirs),
        }
    }

    pub(crate) fn versions(&self) -> Versions<'_> {
        Versions { base: self.base.as_deref(), ours: &self.ours, theirs: &self.theirs }
    }
}
