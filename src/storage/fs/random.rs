//! The only source of randomness for new ids.

use jiff::Timestamp;

use super::error::StoreError;
use crate::domain::CompletionId;

/// The length of a ULID.
pub(crate) const ULID_LENGTH: usize = 26;

const LOCAL: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Returns a new completion id, a ULID, which sorts by that time and is unique on all machines.
pub fn ulid(now: Timestamp) -> Result<CompletionId, StoreError> {
    let mut entropy = [0_u8; 10];
    fill(&mut entropy)?;
    let millis = u64::try_from(now.as_millisecond()).unwrap_or(0) & 0xFFFF_FFFF_FFFF;
    let number = entropy.iter().fold(u128::from(millis), |all, byte| all << 8 | u128::from(*byte));
    let letter = |place: usize| char::from(CROCKFORD[(number >> (5 * place) & 31) as usize]);
    let text: String = (0..ULID_LENGTH).rev().map(letter).collect();
    Ok(text.parse().expect("letters and digits are a completion id"))
}

/// Returns whether the text is a ULID.
pub(crate) fn is_ulid(text: &str) -> bool {
    text.len() == ULID_LENGTH && text.bytes().all(|b| CROCKFORD.contains(&b))
}

/// Returns random characters of `a-z0-9`, uniformly distributed: for task ids and temporary names.
pub fn random_local(length: usize) -> Result<String, StoreError> {
    let mut text = String::with_capacity(length);
    let mut bytes = [0_u8; 32];
    while text.len() < length {
        fill(&mut bytes)?;
        // 252 is the largest multiple of 36 in a byte: larger values would make the first letters likelier.
        let fair = bytes.iter().filter(|byte| **byte < 252);
        text.extend(
            fair.map(|byte| char::from(LOCAL[usize::from(byte % 36)])).take(length - text.len()),
        );
    }
    Ok(text)
}

/// Returns a random number in [0, 1), for jitter.
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
    fn ulids_sort_by_time_and_never_repeat() {
        let at = |second| ulid(Timestamp::from_second(second).unwrap()).unwrap();
        let (early, late, twin) = (at(1_700_000_000), at(1_700_000_001), at(1_700_000_000));
        assert!(early < late && early != twin);
        assert_eq!(early.as_str()[..10], twin.as_str()[..10]);
        assert!(is_ulid(early.as_str()) && !is_ulid("01hzy"));
        assert!(at(-5).as_str().starts_with("0000000000"));
    }
}
