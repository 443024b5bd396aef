//! The one source of randomness: new ids come from here and nowhere else.

use std::fmt;

use jiff::Timestamp;

use super::error::StoreError;
use crate::domain::CompletionId;

/// How many characters every [`DeliveryId`] has.
pub(crate) const DELIVERY_ID_LENGTH: usize = 26;

const LOCAL: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// How much of an id is chance.
const CHANCE_BITS: u32 = 80;

/// A fresh id that sorts by its time: a ULID. No two deliveries share one, on any machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeliveryId(String);

impl DeliveryId {
    /// Returns a new one of that time.
    pub fn new(now: Timestamp) -> Result<Self, StoreError> {
        Self::number(now).map(Self::of)
    }

    fn number(now: Timestamp) -> Result<u128, StoreError> {
        let mut entropy = [0_u8; 10];
        fill(&mut entropy)?;
        let millis = u64::try_from(now.as_millisecond()).unwrap_or(0);
        let mut number = u128::from(millis & 0xFFFF_FFFF_FFFF);
        for byte in entropy {
            number = number << 8 | u128::from(byte);
        }
        Ok(number)
    }

    fn of(number: u128) -> Self {
        let letter = |place: usize| char::from(CROCKFORD[(number >> (5 * place) & 31) as usize]);
        Self((0..DELIVERY_ID_LENGTH).rev().map(letter).collect())
    }

    /// Returns the id that those characters are, if they are one.
    pub(crate) fn recognise(text: &str) -> Option<Self> {
        let valid =
            text.len() == DELIVERY_ID_LENGTH && text.bytes().all(|b| CROCKFORD.contains(&b));
        valid.then(|| Self(text.to_owned()))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns it as the id of a completion.
    pub fn completion(&self) -> CompletionId {
        self.0.parse().expect("letters and digits are a completion id")
    }
}

/// New ids that sort in the order in which they are asked for, those of one millisecond too, as the standard of ULIDs has it.
#[derive(Debug, Default)]
pub struct DeliveryIds {
    last: u128,
}

impl DeliveryIds {
    /// Returns the next one.
    pub fn next(&mut self, now: Timestamp) -> Result<DeliveryId, StoreError> {
        let number = DeliveryId::number(now)?;
        let is_same_time = number >> CHANCE_BITS == self.last >> CHANCE_BITS && self.last > 0;
        self.last = if is_same_time { self.last + 1 } else { number };
        Ok(DeliveryId::of(self.last))
    }
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Returns that many of `a-z0-9`, each as likely as any other: the local part of a new task id, the end of a temporary name.
pub fn random_local(length: usize) -> Result<String, StoreError> {
    let mut text = String::with_capacity(length);
    let mut bytes = [0_u8; 32];
    while text.len() < length {
        fill(&mut bytes)?;
        // 252 is the last multiple of 36 in a byte: what is above would make the first letters likelier.
        let fair = bytes.iter().filter(|byte| **byte < 252);
        text.extend(
            fair.map(|byte| char::from(LOCAL[usize::from(byte % 36)])).take(length - text.len()),
        );
    }
    Ok(text)
}

/// Returns a number from 0 to below 1, each as likely as any other: a part of a pause.
pub fn chance() -> Result<f64, StoreError> {
    let mut bytes = [0_u8; 4];
    fill(&mut bytes)?;
    Ok(f64::from(u32::from_le_bytes(bytes)) / (f64::from(u32::MAX) + 1.0))
}

fn fill(bytes: &mut [u8]) -> Result<(), StoreError> {
    getrandom::fill(bytes).map_err(|fault| StoreError::Random { reason: fault.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_parts_have_their_length_and_letters() {
        for length in [0, 1, 5, 31, 32, 33, 200] {
            let text = random_local(length).unwrap();
            assert_eq!(text.len(), length);
            assert!(text.bytes().all(|b| LOCAL.contains(&b)), "{text}");
        }
        let text = random_local(36_000).unwrap();
        for letter in LOCAL {
            let count = text.bytes().filter(|b| b == letter).count();
            assert!((700..1300).contains(&count), "{}: {count}", char::from(*letter));
        }
    }

    #[test]
    fn delivery_ids_sort_by_time_and_never_repeat() {
        let at = |second| DeliveryId::new(Timestamp::from_second(second).unwrap()).unwrap();
        let (early, late, twin) = (at(1_700_000_000), at(1_700_000_001), at(1_700_000_000));
        assert!(early < late && early != twin);
        assert_eq!(early.as_str()[..10], twin.as_str()[..10]);
        assert_eq!(early.as_str().len(), DELIVERY_ID_LENGTH);
        assert_eq!(DeliveryId::recognise(early.as_str()), Some(early.clone()));
        assert_eq!(early.completion().as_str(), early.as_str());
        assert_eq!(DeliveryId::recognise("01hzy"), None);
        assert!(at(-5).as_str().starts_with("0000000000"));

        let mut ids = DeliveryIds::default();
        let asked: Vec<_> = (0..100)
            .map(|second| ids.next(Timestamp::from_second(second / 50).unwrap()).unwrap())
            .collect();
        assert!(asked.is_sorted_by(|one, next| one < next), "{asked:?}");
    }
}
