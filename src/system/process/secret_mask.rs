//! Takes a text piece by piece and hands it on with its secrets masked, wherever it was cut.
//!
//! Secrets that overlap are one place, under the name of the one that begins first, so nothing of any is left. What may be the
//! beginning of a secret is held back until it is known, and is never longer than the longest.

use super::secrets::Secrets;

/// The mask of one stream.
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
