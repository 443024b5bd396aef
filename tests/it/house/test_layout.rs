//! Every file of the suite is a part of it, and can be found: folders stay small and shallow.

use std::fs;
use std::path::Path;

/// How many entries a folder may have, `main.rs` aside.
const MOST: usize = 16;

/// How many folders may lie in each other.
const DEEPEST: usize = 3;

fn look(folder: &Path, root: &str, depth: usize, faults: &mut Vec<String>) {
    let declared = fs::read_to_string(folder.join(root)).unwrap_or_default();
    let mut entries = 0;
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let shown = path.display();
        let name = entry.file_name().into_string().unwrap();
        if name == "main.rs" || name == "snapshots" {
            continue;
        }
        entries += 1;
        if name == root {
            continue;
        }
        let module = name.trim_end_matches(".rs");
        let is_declared = declared.lines().any(|line| {
            line.trim_start_matches("pub(crate) ").strip_prefix("mod ")
                == Some(&format!("{module};"))
        });
        if !is_declared {
            faults.push(format!("{shown} is forgotten: add `mod {module};` to {root} beside it"));
        }
        if path.is_dir() {
            if depth == DEEPEST {
                faults.push(format!("{shown} lies too deep"));
            }
            look(&path, "mod.rs", depth + 1, faults);
        }
    }
    if entries > MOST {
        faults.push(format!("{} has {entries} entries, and may have {MOST}", folder.display()));
    }
}

#[test]
fn every_file_of_this_folder_is_a_part_of_the_suite() {
    let mut faults = Vec::new();
    look(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it"), "main.rs", 0, &mut faults);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
