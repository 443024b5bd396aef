//! A completion file of any syntax is read or refused, and what was read says the same once it is written.

#![no_main]

use aof::files::completion_file;
use aof::files::completion_file::Syntax;
use libfuzzer_sys::fuzz_target;

const SYNTAXES: [Syntax; 3] = [Syntax::Yaml, Syntax::Json, Syntax::Markdown];

// The first byte says which syntax it is.
fuzz_target!(|input: &[u8]| {
    let Some((syntax, bytes)) = input.split_first() else { return };
    let id = "fuzz-1".parse().expect("an id");
    let Ok(mut completion) =
        completion_file::parse(bytes, SYNTAXES[usize::from(*syntax) % SYNTAXES.len()], &id)
    else {
        return;
    };
    // The body of a Markdown file is not a field.
    completion.content.body = None;
    let written = completion_file::write(&completion).to_string();
    for syntax in [Syntax::Json, Syntax::Yaml] {
        let again = completion_file::parse(written.as_bytes(), syntax, &id);
        assert_eq!(again.as_ref(), Ok(&completion), "{syntax:?}: {written}");
    }
});
