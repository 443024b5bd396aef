//! Edits into bytes: gather, patch, verify. The only way a frontmatter is ever changed.

use super::change::gather;
use super::edit::Edit;
use super::patch::SpliceRefusal;
use super::render::Renderer;
use super::split::{Frontmatter, parse};

/// Returns the file with the edits made, in order, and with `rest` from the closing fence on (`file.rest()` where nothing changes
/// there); every byte that they are not about is as it was. What is returned is what was read back from the new bytes to prove
/// them: whoever writes it need not read it again. A result that cannot be proved is refused.
pub fn splice(
    file: &Frontmatter<'_>,
    edits: &[Edit],
    rest: &str,
) -> Result<Frontmatter<'static>, SpliceRefusal> {
    let (text, split) = (file.text(), &file.split);
    let changes = gather(text, &file.root, edits)?;
    let newline = if text[split.open.clone()].ends_with("\r\n") { "\r\n" } else { "\n" };
    let patches = Renderer::new(file).root(&changes)?;
    let unverified = |reason: String| {
        let paths: Vec<String> = edits.iter().map(|edit| format!("`{}`", edit.path)).collect();
        SpliceRefusal::Unverified { paths: paths.join(", "), reason }
    };
    let mut result = patches
        .apply(&text[..split.close.start], newline)
        .ok_or_else(|| unverified("two of its changes overlap".to_owned()))?;
    result.push_str(rest);
    let new = verify(file, edits, rest, &result).map_err(unverified)?;
    Ok(new.into_owned())
}

/// Reads a changed file whole and checks it against the original: the frontmatter says what the edits mean, what stands before it
/// is the same, and from the closing fence on it is `rest`.
fn verify<'n>(
    original: &Frontmatter<'_>,
    edits: &[Edit],
    rest: &str,
    changed: &'n str,
) -> Result<Frontmatter<'n>, String> {
    let new = parse(changed.as_bytes()).map_err(|faults| {
        let fault = faults.first();
        let (line, _) = fault.map_or((0, 0), |f| f.line_column(changed));
        let message = fault.map_or("unreadable", |f| f.message.as_str());
        format!("the result would not be readable: line {line}: {message}")
    })?;
    let mut expected = original.root.to_value();
    let is_made = edits.iter().all(|edit| edit.act.apply(&mut expected, &edit.path.0).is_ok());
    if !is_made || !new.root.says(&expected) {
        return Err("the result would not say what the edit means".to_owned());
    }
    let before =
        [&original.split.bom, &original.split.open].map(|range| &original.text[range.clone()]);
    let after = [&new.split.bom, &new.split.open].map(|range| &changed[range.clone()]);
    if before != after || new.rest() != rest {
        return Err("the result would change the text outside the frontmatter".to_owned());
    }
    Ok(new)
}
