//! Edits into bytes: gather, patch, verify. The only way a frontmatter is ever changed.

use super::edit::Edit;
use super::expected::Expected;
use super::gather::Changes;
use super::refusal::SpliceRefusal;
use super::render::Renderer;
use super::split::Frontmatter;
use super::verify::verify;

/// Returns the file with the edits made, in order, and with `rest` from the closing fence on (`file.rest()` where nothing changes
/// there); every byte that they are not about is as it was. What is returned is what was read back from the new bytes to prove
/// them: whoever writes it need not read it again. A result that cannot be proved is refused.
pub fn splice(
    file: &Frontmatter<'_>,
    edits: &[Edit],
    rest: &str,
) -> Result<Frontmatter<'static>, SpliceRefusal> {
    let (text, split) = (file.text(), &file.split);
    let changes = Changes::gather(text, &file.root, edits)?;
    let newline = if text[split.open.clone()].ends_with("\r\n") { "\r\n" } else { "\n" };
    let patches = Renderer::new(file).root(&changes)?;
    let unverified = |reason: String| {
        let paths: Vec<String> = edits.iter().map(|edit| format!("`{}`", edit.path())).collect();
        SpliceRefusal::Unverified { paths: paths.join(", "), reason }
    };
    let mut result = patches
        .apply(&text[..split.close.start], newline)
        .ok_or_else(|| unverified("two of its changes overlap".to_owned()))?;
    result.push_str(rest);
    let expected = Expected::after(&file.root, edits);
    let new = verify(file, &expected, rest, &result).map_err(unverified)?;
    Ok(new.into_owned())
}
