//! Edits into bytes: gather, patch, verify. The only way a frontmatter is ever result.

use serde_json::Value;

use super::edit::Edit;
use super::gather::Changes;
use super::refusal::SpliceRefusal;
use super::render::Renderer;
use super::split::parse;
use super::verify::{apply, verify};

/// Returns the file with the edits made, in order; every byte that they are not about is as it was. A result that
/// cannot be proved is refused.
pub fn splice(file: &[u8], edits: &[Edit]) -> Result<Vec<u8>, SpliceRefusal> {
    let original = parse(file).map_err(SpliceRefusal::Unreadable)?;
    let changes = Changes::gather(original.text, &original.root, edits)?;
    let newline = if original.text[original.split.open.clone()].ends_with("\r\n") { "\r\n" } else { "\n" };
    let patches = Renderer::new(&original).root(&changes)?;
    let unverified = |reason: String| {
        let paths: Vec<String> = edits.iter().map(|edit| format!("`{}`", edit.path())).collect();
        SpliceRefusal::Unverified { paths: paths.join(", "), reason }
    };
    let result =
        patches.apply(original.text, newline).ok_or_else(|| unverified("two of its changes overlap".to_owned()))?;
    let mut expected: Value = original.root.to_value();
    for edit in edits {
        apply(&mut expected, edit);
    }
    verify(&original, &expected, &result).map_err(unverified)?;
    Ok(result)
}
