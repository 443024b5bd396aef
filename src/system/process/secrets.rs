//! Values that nobody is to read: what stands in their place says only which it was.
//!
//! They are looked for all at once, byte by byte (Aho and Corasick's automaton), so the time is linear in what is printed,
//! whatever the values are.

use std::collections::VecDeque;
use std::fmt;

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

/// Takes a text piece by piece and hands it on with its secrets masked, wherever it was cut. Secrets that overlap are one place, under the
/// name of the one that begins first. What may be the beginning of a secret is held back until it is known.
pub(crate) struct Mask {
    secrets: Secrets,
    state: usize,
    /// What is not handed on yet, from `base` on.
    held: Vec<u8>,
    base: u64,
    /// Where secrets are that are not handed on as masked, in order; the first may begin before `base`.
    places: Vec<Place>,
}

#[derive(Clone, Copy)]
struct Place {
    start: u64,
    end: u64,
    name: usize,
}

impl Mask {
    pub(crate) fn new(secrets: Secrets) -> Self {
        Self { secrets, state: 0, held: Vec::new(), base: 0, places: Vec::new() }
    }

    /// Takes the next piece, and hands on all that is decided.
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
                self.note(Place { start: at - found.length as u64, end: at, name: found.name });
            }
        }
        self.held.extend_from_slice(bytes);
        self.hand_on(at - self.secrets.depth(self.state) as u64, on);
    }

    /// Hands on what was held back.
    pub(crate) fn finish(&mut self, on: &mut dyn FnMut(&[u8])) {
        self.state = 0;
        self.hand_on(self.base + self.held.len() as u64, on);
    }

    /// Notes a secret that ends last of all, joining it with those that it overlaps.
    fn note(&mut self, mut place: Place) {
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

    /// Hands on what stands before `decided`: no secret that is still to be found begins there.
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
        // The bytes of a secret that may yet grow are not needed for that.
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
