//! The bytes of an object as zlib streams. Pure.
//!
//! A disk gives files whole blocks, so a short object hardly gets smaller by being compressed, and setting a compressor up costs
//! more than writing it: it is stored as it is. `git gc` compresses it when it packs it.

use flate2::{Compress, Compression, FlushCompress, Status};

/// Two blocks of a file system.
const SHORT: usize = 8192;
/// What zlib puts around bytes that it stores: two bytes of header, five for the block, four of checksum.
const AROUND: usize = 11;

/// Makes zlib streams; the compressor is set up when the first long one comes.
#[derive(Default)]
pub(crate) struct Deflater {
    compressor: Option<Compress>,
}

impl Deflater {
    /// Returns the zlib stream of these bytes.
    pub(crate) fn deflate(&mut self, bytes: &[u8]) -> Vec<u8> {
        if bytes.len() + AROUND <= SHORT {
            return stored(bytes);
        }
        let compressor =
            self.compressor.get_or_insert_with(|| Compress::new(Compression::new(1), true));
        compressor.reset();
        let mut deflated = Vec::with_capacity(bytes.len() + bytes.len() / 8 + 64);
        loop {
            let at = usize::try_from(compressor.total_in()).expect("no more than what was given");
            match compressor.compress_vec(&bytes[at..], &mut deflated, FlushCompress::Finish) {
                Ok(Status::StreamEnd) => return deflated,
                Ok(Status::Ok | Status::BufError) => deflated.reserve(deflated.len().max(64)),
                Err(fault) => unreachable!("deflating from memory to memory cannot fail: {fault}"),
            }
        }
    }
}

/// One final block, stored.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).expect("shorter than 64 KiB");
    let mut stream = Vec::with_capacity(bytes.len() + AROUND);
    stream.extend([0x78, 0x01, 0x01]);
    stream.extend(length.to_le_bytes());
    stream.extend((!length).to_le_bytes());
    stream.extend(bytes);
    stream.extend(adler32(bytes).to_be_bytes());
    stream
}

fn adler32(bytes: &[u8]) -> u32 {
    const BASE: u32 = 65_521;
    let (mut low, mut high) = (1, 0);
    // So many can be summed up before the sums leave 32 bits.
    for part in bytes.chunks(5552) {
        for byte in part {
            low += u32::from(*byte);
            high += low;
        }
        low %= BASE;
        high %= BASE;
    }
    high << 16 | low
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::ZlibDecoder;

    use super::*;

    #[test]
    fn streams_of_every_length_read_back() {
        let bytes: Vec<u8> = (0..40_000_u32)
            .map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        let mut deflater = Deflater::default();
        for length in [0, 1, 100, 5551, 5553, 8181, 8182, 40_000, 7, 20_000] {
            let deflated = deflater.deflate(&bytes[..length]);
            let mut inflated = Vec::new();
            ZlibDecoder::new(deflated.as_slice()).read_to_end(&mut inflated).unwrap();
            assert_eq!(inflated, bytes[..length], "{length}");
        }
        assert_eq!(adler32(b"Wikipedia"), 0x11E6_0398);
    }
}
