//! A task file is read or refused, and one that is read comes back byte by byte where nothing is to change.

#![no_main]

use aof::domain::Timestamp;
use aof::files::task_file;
use aof::files::task_file::Defaults;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let id = "AOF-abc".parse().expect("an id");
    let defaults = Defaults {
        workflow: "default".parse().expect("a workflow"),
        created: Timestamp::UNIX_EPOCH,
    };
    let Ok(file) = task_file::parse(bytes, &id, &defaults) else { return };
    assert_eq!(file.bytes(), bytes, "what was read is what there is");
    let text = std::str::from_utf8(bytes).expect("what can be read is text");
    assert!(text.ends_with(file.body()), "the body is the end of the file");
    // One more person's note, where there is room for one, changes nothing that was there.
    let Ok(noted) = file.with_comment("ada", Timestamp::UNIX_EPOCH, "A note.") else { return };
    let again = task_file::read(&noted, &id, &defaults).expect("what aof writes can be read");
    assert_eq!(again.task.history, file.task.history);
    assert_eq!(again.task.gate, file.task.gate);
    assert_eq!(again.raw(), file.raw(), "a comment is in the body");
    assert!(again.body().starts_with(file.body().trim_end()), "what was said stays");
});
