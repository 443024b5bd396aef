//! Values that nobody is to read: what stands in their place says only which it was.
//!
//! They are looked for all at once, byte by byte (Aho and Corasick's automaton), so the time is linear in what is printed,
//! whatever the values are.

use std::collections::VecDeque;
use std::fmt;

use super::secret_mask::Mask;

/// The shortest value that is masked: a shorter one is found everywhere.
pub const SHORTEST_SECRET: usize = 8;

/// The values that are masked, with their names.
#[derive(Clone, Default)]
pub struct Secrets {
    names: Vec<String>,
    /// The automaton. The first state is the one in which nothing of a secret has been seen; there is none without secrets.
    states: Vec<State>,
}

/// What of secrets the last bytes may be the beginning of: the longest that there is.
#[derive(Clone, Default)]
struct State {
    /// The bytes that go on from here, in order.
    next: Vec<(u8, usize)>,
    /// The next longest beginning that the last bytes are.
    other: usize,
    /// How many bytes this one has.
    depth: usize,
    /// The longest secret that ends here, and its length.
    found: Option<(usize, usize)>,
}

/// A secret that was found: how many bytes it has, and the number of its name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) length: usize,
    pub(crate) name: usize,
}

impl Secrets {
    /// Returns the secrets of these names and values. Of a value with several lines each line is one too, since a program rarely
    /// prints it whole; one shorter than [`SHORTEST_SECRET`] bytes is not masked.
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
    pub(crate) fn step(&self, mut state: usize, byte: u8) -> (usize, Option<Found>) {
        let next = loop {
            match self.goes_on(state, byte) {
                Some(next) => break next,
                None if state == 0 => break 0,
                None => state = self.states[state].other,
            }
        };
        (next, self.states[next].found.map(|(length, name)| Found { length, name }))
    }

    /// Returns how many of the last bytes may be the beginning of a secret.
    pub(crate) fn depth(&self, state: usize) -> usize {
        self.states.get(state).map_or(0, |state| state.depth)
    }

    fn goes_on(&self, state: usize, byte: u8) -> Option<usize> {
        let next = &self.states[state].next;
        next.binary_search_by_key(&byte, |(byte, _)| *byte).ok().map(|at| next[at].1)
    }

    fn add(&mut self, value: &[u8], name: usize) {
        if self.states.is_empty() {
            self.states.push(State::default());
        }
        let mut state = 0;
        for byte in value {
            state = match self.states[state].next.binary_search_by_key(byte, |(byte, _)| *byte) {
                Ok(at) => self.states[state].next[at].1,
                Err(at) => {
                    let (new, depth) = (self.states.len(), self.states[state].depth + 1);
                    self.states[state].next.insert(at, (*byte, new));
                    self.states.push(State { depth, ..State::default() });
                    new
                }
            };
        }
        self.states[state].found.get_or_insert((value.len(), name));
    }

    /// Finds for each state the next longest beginning, the short ones first.
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

/// Shows the names alone.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Secrets").field(&self.names).finish()
    }
}
