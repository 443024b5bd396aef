//! The JSON Schemas in `.aof/schema/`, with which editors check and complete the configuration. Made wherever the local folders are
//! made, and anew for another version of this program.

use std::path::Path;

use super::{Durability, FileKind, Folder, StoreError};
use crate::files::schema::Schema;

/// Where the schemas are.
pub const SCHEMAS: &str = ".aof/schema";
/// Tells which schemas stand there. It is written last, so what a kill leaves half done is done again.
const EDITION: &str = "edition";
const EDITION_LIMIT: u64 = 256;

/// Returns whether every schema stands there, as this program has it.
pub(crate) fn are_current(root: &Path) -> bool {
    let stands = |folder: &Folder, schema: Schema| {
        matches!(folder.kind(file_name(schema)), Ok(Some(FileKind::File)))
    };
    let folder = Folder::open_existing(root, SCHEMAS);
    matches!(folder, Ok(Some(folder)) if is_current(&folder) && Schema::ALL.iter().all(|schema| stands(&folder, *schema)))
}

/// Writes the schemas unless each stands there as this program has it.
pub(crate) fn keep_current(root: &Path) -> Result<(), StoreError> {
    if are_current(root) { Ok(()) } else { write(&Folder::create(root, SCHEMAS)?) }
}

/// Writes the schemas unless this program has written them. For whoever takes the lock: what somebody removed since is not looked for.
pub(crate) fn keep_edition(root: &Path) -> Result<(), StoreError> {
    let folder = Folder::create(root, SCHEMAS)?;
    if is_current(&folder) { Ok(()) } else { write(&folder) }
}

fn write(folder: &Folder) -> Result<(), StoreError> {
    for schema in Schema::ALL {
        let text = format!("{:#}\n", schema.document());
        folder.replace(&file_name(*schema), text.as_bytes(), Durability::Volatile)?;
    }
    folder.replace(EDITION, Schema::edition().as_bytes(), Durability::Volatile)
}

fn is_current(folder: &Folder) -> bool {
    let edition = folder.read(EDITION, EDITION_LIMIT);
    matches!(edition, Ok(Some((bytes, _))) if bytes == Schema::edition().as_bytes())
}

fn file_name(schema: Schema) -> String {
    format!("{schema}.json")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::SystemTime;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn schemas_are_made_where_they_are_missing_or_of_another_version_and_left_alone_else() {
        let home = TempDir::new().unwrap();
        let root = home.path();
        assert!(!are_current(root));
        keep_current(root).unwrap();
        let at = |name: &str| home.path().join(SCHEMAS).join(name);
        let project = fs::read(at("project.json")).unwrap();
        assert!(are_current(root) && project.starts_with(b"{"));
        let written =
            || -> SystemTime { fs::metadata(at("project.json")).unwrap().modified().unwrap() };
        let before = written();
        keep_current(root).unwrap();
        assert_eq!(written(), before);
        for spoil in [
            |at: &dyn Fn(&str) -> std::path::PathBuf| fs::remove_file(at("project.json")).unwrap(),
            |at: &dyn Fn(&str) -> std::path::PathBuf| {
                fs::write(at("project.json"), "{}").unwrap();
                fs::write(at(EDITION), "0.1.0").unwrap();
            },
            |at: &dyn Fn(&str) -> std::path::PathBuf| fs::remove_dir_all(at("")).unwrap(),
        ] {
            spoil(&at);
            assert!(!are_current(root));
            keep_current(root).unwrap();
            assert!(are_current(root));
            assert_eq!(fs::read(at("project.json")).unwrap(), project);
        }
    }
}
