//! What people say of a task, merged key by key: different keys never dispute, and neither do different keys inside of one.

use serde_json::Value;

use crate::domain::Map;

/// The keys whose lists are sets of names.
const NAMES: [&str; 2] = ["tags", "dependsOn"];

/// Keys that were merged.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Keys {
    /// All that is not disputed, and of what is, what is ours.
    pub merged: Map,
    /// What both sides changed, each otherwise.
    pub disputed: Vec<Disputed>,
}

/// A key that both sides changed, each otherwise.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Disputed {
    /// The key, and those that lead to it, the outermost first.
    pub path: Vec<String>,
    /// Ours; nothing where it is gone.
    pub ours: Option<Value>,
    /// Theirs; nothing where it is gone.
    pub theirs: Option<Value>,
}

/// Merges two mappings that came of a third one. What is ours keeps its order, and what is new of theirs comes behind it.
pub(crate) fn merge_keys(base: &Map, ours: &Map, theirs: &Map) -> Keys {
    let mut keys = Keys::default();
    keys.merged = keys.inside(&[], base, ours, theirs);
    keys
}

impl Keys {
    fn inside(&mut self, path: &[String], base: &Map, ours: &Map, theirs: &Map) -> Map {
        let new = theirs.keys().filter(|key| !ours.contains_key(*key));
        let mut merged = Map::new();
        for key in ours.keys().chain(new) {
            let path = [path, std::slice::from_ref(key)].concat();
            let value = self.value(path, base.get(key), ours.get(key), theirs.get(key));
            merged.extend(value.map(|value| (key.clone(), value)));
        }
        merged
    }

    fn value(
        &mut self,
        path: Vec<String>,
        base: Option<&Value>,
        ours: Option<&Value>,
        theirs: Option<&Value>,
    ) -> Option<Value> {
        if ours == theirs || theirs == base {
            return ours.cloned();
        }
        if ours == base {
            return theirs.cloned();
        }
        let nothing = Map::new();
        if let (Some(Value::Object(ours)), Some(Value::Object(theirs))) = (ours, theirs) {
            let base = base.and_then(Value::as_object).unwrap_or(&nothing);
            return Some(self.inside(&path, base, ours, theirs).into());
        }
        if let [key] = &path[..]
            && NAMES.contains(&key.as_str())
            && let (Some(base), Some(ours), Some(theirs)) =
                (names(base), names(ours), names(theirs))
        {
            return together(base, ours, theirs);
        }
        self.disputed.push(Disputed { path, ours: ours.cloned(), theirs: theirs.cloned() });
        ours.cloned()
    }
}

/// Returns the names that a list holds; none where there is no list.
fn names(value: Option<&Value>) -> Option<&[Value]> {
    match value {
        None | Some(Value::Null) => Some(&[]),
        Some(Value::Array(items)) => items.iter().all(Value::is_string).then_some(items),
        Some(_) => None,
    }
}

fn together(base: &[Value], ours: &[Value], theirs: &[Value]) -> Option<Value> {
    let kept = ours.iter().filter(|name| theirs.contains(name) || !base.contains(name));
    let new = theirs.iter().filter(|name| !ours.contains(name) && !base.contains(name));
    let merged: Vec<Value> = kept.chain(new).cloned().collect();
    (!merged.is_empty()).then(|| merged.into())
}
