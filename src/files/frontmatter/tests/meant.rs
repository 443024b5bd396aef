//! What edits mean, said a second time: on plain values, without the tree that the splice works on.

use serde_json::{Map, Value};

use crate::files::frontmatter::{Edit, Segment};

/// Returns what a value says once the edits are made.
pub(crate) fn after(mut root: Value, edits: &[Edit]) -> Value {
    for edit in edits {
        apply(&mut root, edit);
    }
    root
}

fn apply(root: &mut Value, edit: &Edit) {
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
            let (last, parents) = path.0.split_last().unwrap();
            let parent = parents.iter().try_fold(root, |place, segment| match (place, segment) {
                (Value::Object(map), Segment::Key(key)) => map.get_mut(key),
                (Value::Array(items), Segment::Index(index)) => items.get_mut(*index),
                _ => None,
            });
            match (parent, last) {
                (Some(Value::Object(map)), Segment::Key(key)) => drop(map.shift_remove(key)),
                (Some(Value::Array(items)), Segment::Index(index)) if *index < items.len() => {
                    drop(items.remove(*index));
                }
                _ => {}
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
            (Value::Object(map), Segment::Key(key)) => {
                Some(map.entry(key.as_str()).or_insert(Value::Null))
            }
            (Value::Array(items), Segment::Index(index)) => items.get_mut(*index),
            _ => None,
        }
    })
}
