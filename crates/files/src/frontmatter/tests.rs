//! Splices on hand-written files, and thousands of random ones.

mod fences;
mod generate;
mod random;
mod table;

use serde_json::Value;

use super::{Edit, SpliceRefusal, parse};

/// Splices the bytes of a file that can be read.
fn splice(file: &[u8], edits: &[Edit]) -> Result<Vec<u8>, SpliceRefusal> {
    let original = parse(file).unwrap();
    crate::frontmatter::splice(&original, edits, original.rest())
        .map(|changed| changed.text().as_bytes().to_vec())
}

/// Reads YAML with an independent reader.
fn oracle(yaml: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
    };
    serde_saphyr::from_str_with_options::<Value>(yaml, options).map_err(|error| error.to_string())
}
