//! Splices on hand-written files, and thousands of random ones.

mod fences;
mod generate;
mod random;
mod table;

use serde_json::Value;

/// Reads YAML with an independent reader.
fn oracle(yaml: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
    };
    serde_saphyr::from_str_with_options::<Value>(yaml, options).map_err(|error| error.to_string())
}
