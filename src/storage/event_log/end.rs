//! What is known of the stream: how far it goes, and which lines stand at its beginning and its end. Whether they stand there still is
//! seen without reading all of it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use super::event_log::LONGEST;
use crate::domain::Digest;

/// The end of the stream, with the line that stands there, and the line that it begins with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct End {
    at: u64,
    /// Nothing where there is no line.
    first: Option<Line>,
    last: Option<Line>,
}

/// A line: its length with its end, and its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Line(u64, String);

impl Line {
    fn of(bytes: &[u8]) -> Self {
        Self(bytes.len() as u64, digest(bytes))
    }

    /// Returns whether it stands there.
    fn stands_at(&self, file: &File, place: u64) -> bool {
        // The record may be damaged, and no line is longer.
        let Some(length) = usize::try_from(self.0).ok().filter(|_| self.0 <= LONGEST) else {
            return false;
        };
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, place).is_ok() && digest(&bytes) == self.1
    }
}

impl End {
    /// Returns how far the stream goes.
    pub(crate) fn place(&self) -> u64 {
        self.at
    }

    /// Returns the end after these whole lines were added.
    pub(crate) fn after(&self, lines: &[u8]) -> Self {
        let Some(before) = lines.len().checked_sub(1) else { return self.clone() };
        let start =
            lines[..before].iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
        let first = self.first.clone().or_else(|| {
            let length =
                lines.iter().position(|byte| *byte == b'\n').map_or(lines.len(), |place| place + 1);
            Some(Line::of(&lines[..length]))
        });
        Self { at: self.at + lines.len() as u64, first, last: Some(Line::of(&lines[start..])) }
    }

    /// Returns this end where it is in the stream now; nothing where it is not, or the stream begins otherwise: lines are missing. Somebody
    /// may have changed what stands in between.
    pub(crate) fn find(mut self, file: &File) -> io::Result<Option<Self>> {
        if self.first.as_ref().is_some_and(|first| !first.stands_at(file, 0)) {
            return Ok(None);
        }
        if !self.stands_in(file) {
            let Some(at) = self.look_for(file)? else { return Ok(None) };
            self.at = at;
        }
        Ok(Some(self))
    }

    /// Returns whether the line is where it was, and a line by itself.
    fn stands_in(&self, file: &File) -> bool {
        let Some(last) = &self.last else { return self.at == 0 };
        let Some(start) = self.at.checked_sub(last.0) else { return false };
        let mut before = [b'\n'];
        last.stands_at(file, start)
            && (start == 0 || file.read_exact_at(&mut before, start - 1).is_ok())
            && before == *b"\n"
    }

    /// Looks through the whole stream for the line, and returns where the last such line ends.
    fn look_for(&self, file: &File) -> io::Result<Option<u64>> {
        let Some(Line(length, wanted)) = &self.last else { return Ok(Some(0)) };
        let mut reader = BufReader::with_capacity(1 << 16, file);
        reader.seek(SeekFrom::Start(0))?;
        let (mut at, mut found) = (0, None);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = reader.by_ref().take(LONGEST).read_until(b'\n', &mut line)? as u64;
            if read == 0 {
                return Ok(found);
            }
            at += read;
            if read == *length && digest(&line) == *wanted {
                found = Some(at);
            }
        }
    }
}

fn digest(line: &[u8]) -> String {
    Digest::of(line).as_str().to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_damaged_record_costs_no_memory() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"{}\n").unwrap();
        let end = End::default().after(b"{}\n");
        assert_eq!(end.clone().find(&file).unwrap(), Some(end.clone()));
        let absurd = Some(Line(u64::MAX >> 1, digest(b"{}\n")));
        let damaged = End { first: absurd, ..end };
        assert_eq!(damaged.find(&file).unwrap(), None);
    }
}
