//! An object told as a change of another one: a list of stretches to copy from it, and of bytes to insert. Pure.

use super::reader::LARGEST;

/// Returns what a delta makes of its base; nothing where it is none for this base, does not make what it says, or makes too much.
pub(crate) fn apply(base: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let mut rest = delta;
    if size(&mut rest)? != base.len() {
        return None;
    }
    let whole = size(&mut rest).filter(|whole| *whole <= LARGEST)?;
    let mut out = Vec::with_capacity(whole);
    while let Some((&code, after)) = rest.split_first() {
        rest = after;
        let piece = if code & 0x80 != 0 {
            // Each low bit says that a byte of the offset is there, the next three the same of the length.
            let offset = number(&mut rest, code, 0..4)?;
            let length = match number(&mut rest, code, 4..7)? {
                0 => 0x1_0000,
                length => length,
            };
            base.get(offset..offset.checked_add(length)?)?
        } else {
            // A zero is reserved, and no byte is inserted by it.
            let (own, after) = rest.split_at_checked(usize::from(code)).filter(|_| code > 0)?;
            rest = after;
            own
        };
        if piece.len() > whole - out.len() {
            return None;
        }
        out.extend_from_slice(piece);
    }
    (out.len() == whole).then_some(out)
}

/// Reads a size: seven bits a byte, the lowest first.
fn size(rest: &mut &[u8]) -> Option<usize> {
    let (mut size, mut shift) = (0_usize, 0);
    loop {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        size |= usize::from(byte & 0x7f).checked_shl(shift).filter(|_| shift < 57)?;
        shift += 7;
        if byte & 0x80 == 0 {
            return Some(size);
        }
    }
}

/// Reads the bytes of a number that are there, by the bits of the code.
fn number(rest: &mut &[u8], code: u8, bits: std::ops::Range<u32>) -> Option<usize> {
    let mut number = 0;
    for (place, bit) in bits.enumerate() {
        if code >> bit & 1 == 1 {
            let (&byte, after) = rest.split_first()?;
            *rest = after;
            number |= usize::from(byte) << (8 * place);
        }
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stretches_are_copied_and_bytes_inserted() {
        let base = b"one two three";
        // 13 bytes become 9: `three` from 8, then three of its own, then one from 3.
        let delta =
            [13, 9, 0x80 | 0x01 | 0x10, 8, 5, 3, b'a', b'b', b'c', 0x80 | 0x01 | 0x10, 3, 1];
        assert_eq!(apply(base, &delta).unwrap(), b"threeabc ");
    }

    #[test]
    fn a_length_of_nothing_is_64_kib() {
        let base = vec![7; 0x1_0000];
        let delta = [0x80, 0x80, 4, 0x80, 0x80, 4, 0x80];
        assert_eq!(apply(&base, &delta).unwrap(), base);
    }

    #[test]
    fn what_is_no_delta_of_the_base_makes_nothing() {
        let base = b"base";
        for delta in [
            &[][..],
            &[4],
            &[5, 1, 1, b'x'],
            &[4, 2, 1, b'x'],
            &[4, 1, 2, b'x', b'y'],
            &[4, 1, 0],
            &[4, 1, 0x80 | 0x01 | 0x10, 4, 1],
            &[4, 1, 0x80 | 0x0f | 0x10, 0xff, 0xff, 0xff, 0xff, 1],
            &[4, 1, 0x80 | 0x01],
            &[0xff; 12],
        ] {
            assert_eq!(apply(base, delta), None, "{delta:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_in_nothing_breaks(base in prop::collection::vec(any::<u8>(), 0..40), delta in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut fits = vec![u8::try_from(base.len()).unwrap()];
            fits.extend(&delta);
            let declared = delta.first().copied().unwrap_or_default();
            if let Some(made) = apply(&base, &fits) && declared < 0x80 {
                prop_assert_eq!(made.len(), usize::from(declared));
            }
        }
    }
}
