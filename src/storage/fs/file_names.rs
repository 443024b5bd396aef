//! Names of files in the inbox: which are nobody's delivery, which are of a form that can be read, which are too long.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use crate::files::completion_file::Syntax;

/// The longest name of a file.
const LONGEST: usize = 255;

/// Returns whether a name is one that editors and downloads give to files of their own.
pub(crate) fn is_debris(name: &str) -> bool {
    let suffix = name.rsplit_once('.').map_or("", |(_, suffix)| suffix);
    name.starts_with('.')
        || name.ends_with('~')
        || (name.starts_with('#') && name.ends_with('#'))
        || name == "4913"
        || ["swp", "swx", "tmp", "part"].contains(&suffix)
}

/// Returns whether a completion file may have that name.
pub(crate) fn is_readable(name: &str) -> bool {
    Syntax::of(name).is_some()
}

/// Returns the name, cut before its suffix if need be, so that it still is one with that many more bytes.
pub(crate) fn fitted(name: &OsStr, more: usize) -> OsString {
    let room = LONGEST - more;
    if name.len() <= room {
        return name.to_owned();
    }
    let suffix = Path::new(name).extension().filter(|suffix| suffix.len() < 16);
    let suffix_length = suffix.map_or(0, |suffix| suffix.len() + 1);
    let mut kept = room - suffix_length;
    // A character is cut off whole: what was UTF-8 stays it.
    while kept > 0 && name.as_bytes()[kept] & 0xC0 == 0x80 {
        kept -= 1;
    }
    let mut cut = OsString::from_vec(name.as_bytes()[..kept].to_vec());
    if let Some(suffix) = suffix {
        cut.push(".");
        cut.push(suffix);
    }
    cut
}

/// Returns the name with a tag before its suffix: `done-2.yaml`.
pub(crate) fn tagged(name: &OsStr, tag: &str) -> OsString {
    let path = Path::new(name);
    let mut tagged = path.file_stem().unwrap_or(name).to_owned();
    tagged.push(format!("-{tag}"));
    if let Some(suffix) = path.extension() {
        tagged.push(".");
        tagged.push(suffix);
    }
    tagged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_editors_leave_is_nobodys_delivery() {
        for name in [
            ".done.yaml.swp",
            "done.yaml~",
            "#done.yaml#",
            ".#done.yaml",
            "done.swp",
            "done.swx",
            "done.yaml.tmp",
            "done.part",
            "4913",
            ".aof-tmp-x",
            ".DS_Store",
        ] {
            assert!(is_debris(name), "{name}");
        }
        for name in ["done.yaml", "4914", "#1.yaml", "done#", "tmp.yaml", "~done.md", "swp"] {
            assert!(!is_debris(name), "{name}");
        }
    }

    #[test]
    fn long_names_are_cut_before_their_suffix() {
        let name = OsString::from(format!("{}.yaml", "é".repeat(125)));
        let cut = fitted(&name, 27);
        assert!(cut.len() <= LONGEST - 27, "{}", cut.len());
        let text = cut.to_str().unwrap();
        assert!(text.ends_with("é.yaml"), "{text}");
        assert_eq!(fitted(OsStr::new("done.yaml"), 27), "done.yaml");
        let strange = OsString::from_vec(vec![0xFF; 255]);
        assert!(fitted(&strange, 100).len() <= 155);
    }

    #[test]
    fn tags_go_before_the_suffix() {
        assert_eq!(tagged(OsStr::new("done.yaml"), "2"), "done-2.yaml");
        assert_eq!(tagged(OsStr::new("done"), "3"), "done-3");
    }
}
