//! A bounded transcript of a program's output: beginning and end in a file, the end of each stream in memory.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Write};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::child::Stream;

/// The number of bytes of a last line that are kept.
const LONGEST_LINE: usize = 4096;

/// The numbers of bytes that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Of the beginning, in the file; written as it is received.
    pub beginning: u64,
    /// Of the end, in the file; written when the program has ended.
    pub end: usize,
    /// Of the end of each stream, in memory.
    pub each: usize,
}

/// Collects a program's output, with secrets masked.
pub struct Transcript<W> {
    file: Bounded<W>,
    stdout: Voice,
    stderr: Voice,
    latest: Stream,
}

/// The output of an ended program.
#[derive(Debug)]
pub struct Printed {
    /// The end of stdout.
    pub stdout: Kept,
    /// The end of stderr.
    pub stderr: Kept,
    /// The file, or the error in writing it.
    pub file: io::Result<TranscriptFile>,
}

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptFile {
    /// The SHA-256 of its bytes, in lower-case hexadecimal.
    pub sha256: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// The number of printed bytes that are left out.
    pub left_out: u64,
}

/// Writes the beginning and the end of a long output to a file.
struct Bounded<W> {
    file: W,
    /// The number of bytes of the beginning that are not written yet.
    beginning: u64,
    end: Tail,
    sum: Sha256,
    written: u64,
    fault: Option<io::Error>,
}

/// One stream.
struct Voice {
    mask: Mask,
    end: Tail,
}

impl Default for Room {
    /// Returns room for 5 MiB of each.
    fn default() -> Self {
        let mebibytes = 5 * 1024 * 1024;
        Self { beginning: mebibytes as u64, end: mebibytes, each: mebibytes }
    }
}

impl<W: Write> Transcript<W> {
    /// Returns a transcript that is written to this empty file.
    pub fn new(file: W, secrets: &Secrets, room: Room) -> Self {
        let voice = || Voice { mask: Mask::new(secrets.clone()), end: Tail::new(room.each) };
        let file = Bounded {
            file,
            beginning: room.beginning,
            end: Tail::new(room.end),
            sum: Sha256::new(),
            written: 0,
            fault: None,
        };
        Self { file, stdout: voice(), stderr: voice(), latest: Stream::Stdout }
    }

    /// Adds output. An error in writing the file is reported only at the end.
    pub fn take(&mut self, stream: Stream, bytes: &[u8]) {
        self.latest = stream;
        let Voice { mask, end } = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        mask.pass(bytes, &mut |masked| {
            end.push(masked);
            self.file.push(masked);
        });
    }

    /// Returns the last non-empty line of the stream that printed last. It is untrusted and may have terminal control sequences.
    pub fn last_line(&self) -> String {
        let voice = match self.latest {
            Stream::Stdout => &self.stdout,
            Stream::Stderr => &self.stderr,
        };
        let end = voice.end.end(LONGEST_LINE);
        let text = String::from_utf8_lossy(&end);
        let line = text.rsplit(['\n', '\r']).map(str::trim).find(|line| !line.is_empty());
        line.unwrap_or_default().to_owned()
    }

    /// Writes the rest of the file, and returns the kept output.
    pub fn finish(mut self) -> Printed {
        for Voice { mask, end } in [&mut self.stdout, &mut self.stderr] {
            mask.finish(&mut |masked| {
                end.push(masked);
                self.file.push(masked);
            });
        }
        Printed {
            stdout: self.stdout.end.finish(),
            stderr: self.stderr.end.finish(),
            file: self.file.finish(),
        }
    }
}

impl<W: Write> Bounded<W> {
    fn push(&mut self, bytes: &[u8]) {
        let room = usize::try_from(self.beginning).unwrap_or(usize::MAX);
        let (now, later) = bytes.split_at(bytes.len().min(room));
        self.beginning -= now.len() as u64;
        self.write(now);
        self.end.push(later);
    }

    fn finish(mut self) -> io::Result<TranscriptFile> {
        let end = std::mem::replace(&mut self.end, Tail::new(0)).finish();
        if end.lost > 0 {
            self.write(format!("\n[{} bytes are left out here]\n", end.lost).as_bytes());
        }
        self.write(&end.bytes);
        match self.fault {
            Some(fault) => return Err(fault),
            None => self.file.flush()?,
        }
        Ok(TranscriptFile {
            sha256: format!("{:x}", self.sum.finalize()),
            bytes: self.written,
            left_out: end.lost,
        })
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.fault.is_some() || bytes.is_empty() {
            return;
        }
        match self.file.write_all(bytes) {
            Ok(()) => {
                self.sum.update(bytes);
                self.written += bytes.len() as u64;
            }
            Err(fault) => self.fault = Some(fault),
        }
    }
}

/// Keeps the last bytes of a stream.
#[derive(Debug)]
pub(crate) struct Tail {
    kept: VecDeque<u8>,
    room: usize,
    lost: u64,
}

/// The end of an output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kept {
    /// The last bytes.
    pub bytes: Vec<u8>,
    /// The number of bytes before them.
    pub lost: u64,
}

impl Tail {
    pub(crate) fn new(room: usize) -> Self {
        Self { kept: VecDeque::new(), room, lost: 0 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let last = &bytes[bytes.len().saturating_sub(self.room)..];
        let surplus = (self.kept.len() + last.len()).saturating_sub(self.room);
        self.kept.drain(..surplus);
        self.kept.extend(last);
        self.lost += (surplus + bytes.len() - last.len()) as u64;
    }

    /// Returns at most that many of the last bytes.
    pub(crate) fn end(&self, length: usize) -> Vec<u8> {
        self.kept.range(self.kept.len().saturating_sub(length)..).copied().collect()
    }

    pub(crate) fn finish(self) -> Kept {
        Kept { bytes: self.kept.into(), lost: self.lost }
    }
}

/// The shortest value that is masked: a shorter one would match everywhere.
pub(crate) const SHORTEST_SECRET: usize = 8;

/// Variables whose names end like this are secrets.
const SECRET_ENDINGS: [&str; 4] = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD"];

/// Returns whether a variable of this name counts as a secret by its name alone.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_uppercase();
    SECRET_ENDINGS.iter().any(|end| name.ends_with(end))
}

/// The values that are masked, with their names.
#[derive(Clone, Default)]
pub struct Secrets {
    names: Vec<String>,
    /// The states of an Aho-Corasick automaton. The first state has seen nothing of a secret; without secrets, there are no
    /// states.
    states: Vec<MatchState>,
}

/// A state: the longest prefix of a secret that matches the last bytes.
#[derive(Clone, Default)]
struct MatchState {
    /// The transitions, sorted by byte.
    next: Vec<(u8, usize)>,
    /// The failure link: the next longest prefix that matches the last bytes.
    other: usize,
    /// The length of the prefix.
    depth: usize,
    /// The longest secret that ends here, and its length.
    found: Option<(usize, usize)>,
}

/// A secret that was found: its length in bytes, and the number of its name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SecretMatch {
    pub(crate) length: usize,
    pub(crate) name: usize,
}

impl Secrets {
    /// Returns the secrets of these names and values. Each line of a multi-line value is a secret too, since a program rarely
    /// prints it whole. Values shorter than [`SHORTEST_SECRET`] bytes are not masked.
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut built = Self::default();
        for (name, value) in secrets {
            let number = built.names.len();
            built.names.push(name.to_owned());
            for text in std::iter::once(value).chain(value.lines()) {
                if text.trim().len() >= SHORTEST_SECRET {
                    built.add(text.trim().as_bytes(), number);
                }
            }
        }
        built.link();
        built
    }

    /// Returns the values of the selected variables, from the environment and from the added variables.
    pub fn of_environment(added: &[(String, String)], is_secret: impl Fn(&str) -> bool) -> Self {
        let all: Vec<(String, String)> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .chain(added.iter().cloned())
            .filter(|(name, _)| is_secret(name))
            .collect();
        Self::new(all.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }

    /// Returns a text with the secrets masked.
    pub fn masked_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.masked(text.as_bytes())).into_owned()
    }

    /// Returns a JSON value with the secrets masked, in keys too.
    pub(crate) fn masked_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.masked_text(&text).into(),
            Value::Array(items) => items.into_iter().map(|item| self.masked_value(item)).collect(),
            Value::Object(map) => Value::Object(self.masked_map(map)),
            other => other,
        }
    }

    /// Returns a JSON object with the secrets masked.
    pub fn masked_map(&self, map: Map<String, Value>) -> Map<String, Value> {
        map.into_iter()
            .map(|(key, value)| (self.masked_text(&key), self.masked_value(value)))
            .collect()
    }

    /// Returns whether there is nothing to mask.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Returns a whole text with the secrets masked.
    pub fn masked(&self, bytes: &[u8]) -> Vec<u8> {
        let mut masked = Vec::with_capacity(bytes.len());
        let mut mask = Mask::new(self.clone());
        mask.pass(bytes, &mut |bytes| masked.extend_from_slice(bytes));
        mask.finish(&mut |bytes| masked.extend_from_slice(bytes));
        masked
    }

    pub(crate) fn name(&self, number: usize) -> &str {
        self.names.get(number).map_or("", String::as_str)
    }

    /// Returns the state after one more byte, and the longest secret that ends with it.
    pub(crate) fn step(&self, mut state: usize, byte: u8) -> (usize, Option<SecretMatch>) {
        let next = loop {
            match self.goes_on(state, byte) {
                Some(next) => break next,
                None if state == 0 => break 0,
                None => state = self.states[state].other,
            }
        };
        (next, self.states[next].found.map(|(length, name)| SecretMatch { length, name }))
    }

    /// Returns the number of last bytes that may be the start of a secret.
    pub(crate) fn depth(&self, state: usize) -> usize {
        self.states.get(state).map_or(0, |state| state.depth)
    }

    fn goes_on(&self, state: usize, byte: u8) -> Option<usize> {
        let next = &self.states[state].next;
        next.binary_search_by_key(&byte, |(byte, _)| *byte).ok().map(|at| next[at].1)
    }

    fn add(&mut self, value: &[u8], name: usize) {
        if self.states.is_empty() {
            self.states.push(MatchState::default());
        }
        let mut state = 0;
        for byte in value {
            state = match self.states[state].next.binary_search_by_key(byte, |(byte, _)| *byte) {
                Ok(at) => self.states[state].next[at].1,
                Err(at) => {
                    let (new, depth) = (self.states.len(), self.states[state].depth + 1);
                    self.states[state].next.insert(at, (*byte, new));
                    self.states.push(MatchState { depth, ..MatchState::default() });
                    new
                }
            };
        }
        self.states[state].found.get_or_insert((value.len(), name));
    }

    /// Sets the failure link of each state, shorter prefixes first.
    fn link(&mut self) {
        let mut queue = VecDeque::from_iter(self.states.first().map(|_| 0));
        while let Some(state) = queue.pop_front() {
            for (byte, next) in self.states[state].next.clone() {
                let other =
                    if state == 0 { 0 } else { self.step(self.states[state].other, byte).0 };
                let found = self.states[next].found.or(self.states[other].found);
                self.states[next].other = other;
                self.states[next].found = found;
                queue.push_back(next);
            }
        }
    }
}

/// Shows only the names.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Secrets").field(&self.names).finish()
    }
}

/// Passes a text on piece by piece with its secrets masked, even those split between pieces. Overlapping secrets are masked as
/// one, by the name of the first. Bytes that may be the start of a secret are held back until that is decided.
pub(crate) struct Mask {
    secrets: Secrets,
    state: usize,
    /// The bytes held back, which start at offset `base`.
    held: Vec<u8>,
    base: u64,
    /// The secrets found in the held bytes, in order; the first may begin before `base`.
    places: Vec<SecretSpan>,
}

#[derive(Clone, Copy)]
struct SecretSpan {
    start: u64,
    end: u64,
    name: usize,
}

impl Mask {
    pub(crate) fn new(secrets: Secrets) -> Self {
        Self { secrets, state: 0, held: Vec::new(), base: 0, places: Vec::new() }
    }

    /// Takes the next piece, and passes on all bytes that are decided.
    pub(crate) fn pass(&mut self, bytes: &[u8], on: &mut dyn FnMut(&[u8])) {
        if self.secrets.is_empty() {
            return on(bytes);
        }
        let mut at = self.base + self.held.len() as u64;
        for byte in bytes {
            at += 1;
            let (state, found) = self.secrets.step(self.state, *byte);
            self.state = state;
            if let Some(found) = found {
                self.note(SecretSpan {
                    start: at - found.length as u64,
                    end: at,
                    name: found.name,
                });
            }
        }
        self.held.extend_from_slice(bytes);
        self.hand_on(at - self.secrets.depth(self.state) as u64, on);
    }

    /// Passes on the bytes that were held back.
    pub(crate) fn finish(&mut self, on: &mut dyn FnMut(&[u8])) {
        self.state = 0;
        self.hand_on(self.base + self.held.len() as u64, on);
    }

    /// Notes a secret that ends after all others, and joins it with those that it overlaps.
    fn note(&mut self, mut place: SecretSpan) {
        while let Some(last) = self.places.last()
            && place.start < last.end
        {
            if last.start < place.start {
                (place.start, place.name) = (last.start, last.name);
            }
            self.places.pop();
        }
        self.places.push(place);
    }

    /// Passes on the bytes before `decided`: no secret that is found later begins there.
    fn hand_on(&mut self, decided: u64, on: &mut dyn FnMut(&[u8])) {
        let mut from = self.base;
        let mut done = 0;
        for place in &self.places {
            on(self.between(from, place.start.min(decided)));
            if place.end > decided {
                break;
            }
            on(format!("[secret {}]", self.secrets.name(place.name)).as_bytes());
            from = place.end;
            done += 1;
        }
        // The bytes of a secret that may still grow are not needed for that.
        if done == self.places.len() {
            on(self.between(from, decided));
        }
        self.places.drain(..done);
        self.held.drain(..self.between(self.base, decided).len());
        self.base = decided;
    }

    fn between(&self, from: u64, to: u64) -> &[u8] {
        let place = |at: u64| {
            usize::try_from(at.saturating_sub(self.base)).unwrap_or(usize::MAX).min(self.held.len())
        };
        &self.held[place(from)..place(to).max(place(from))]
    }
}
