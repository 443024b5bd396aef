//! The proof that a changed text says what it should. Works on values only, apart from the code that made the patches.

use serde_json::{Map, Value};

use super::edit::{Edit, Segment};
use super::split::{Frontmatter, parse};

/// Checks a changed file against the original: the frontmatter says the expected value, and fences and body are the same.
pub(super) fn verify(original: &Frontmatter<'_>, expected: &Value, changed: &[u8]) -> Result<(), String> {
    let new = match parse(changed) {
        Ok(new) => new,
        Err(faults) => {
            let fault = faults.first();
            let (line, _) = fault.map_or((0, 0), |f| f.line_column(&String::from_utf8_lossy(changed)));
            let message = fault.map_or("unreadable", |f| f.message.as_str());
            return Err(format!("the result would not be readable: line {line}: {message}"));
        }
    };
    if !new.root.says(expected) {
        return Err("the result would not say what the edit means".to_owned());
    }
    let parts = |file: &Frontmatter<'_>| {
        let split = &file.split;
        [&split.bom, &split.open, &split.close, &split.body].map(|range| file.text[range.clone()].to_owned())
    };
    if parts(original) != parts(&new) {
        return Err("the result would change the text outside the frontmatter".to_owned());
    }
    Ok(())
}

/// Applies an edit to a value. Edits that do not fit are the business of the change tree, and ignored here.
pub(super) fn apply(root: &mut Value, edit: &Edit) {
    match edit {
        Edit::Set { path, value } => {
            if let Some(place) = create(root, &path.0) {
                *place = value.clone();
            }
        }
        Edit::Append { path, value } => match create(root, &path.0) {
            Some(Value::Array(items)) => items.push(value.clone()),
            Some(place @ Value::Null) => *place = Value::Array(vec![value.clone()]),
            _ => {}
        },
        Edit::Remove { path } => {
            if let Some((last, parents)) = path.0.split_last() {
                remove(root, parents, last);
            }
        }
    }
}

fn create<'v>(root: &'v mut Value, path: &[Segment]) -> Option<&'v mut Value> {
    path.iter().try_fold(root, |place, segment| {
        if place.is_null() && matches!(segment, Segment::Key(_)) {
            *place = Value::Object(Map::new());
        }
        match (place, segment) {
            (Value::Object(map), Segment::Key(key)) => Some(map.entry(key.as_str()).or_insert(Value::Null)),
            (Value::Array(items), Segment::Index(index)) => items.get_mut(*index),
            _ => None,
        }
    })
}

fn remove(root: &mut Value, parents: &[Segment], last: &Segment) {
    let parent = parents.iter().try_fold(root, |place, segment| match (place, segment) {
        (Value::Object(map), Segment::Key(key)) => map.get_mut(key),
        (Value::Array(items), Segment::Index(index)) => items.get_mut(*index),
        _ => None,
    });
    match (parent, last) {
        (Some(Value::Object(map)), Segment::Key(key)) => {
            map.shift_remove(key);
        }
        (Some(Value::Array(items)), Segment::Index(index)) if *index < items.len() => {
            items.remove(*index);
        }
        _ => {}
    }
}
