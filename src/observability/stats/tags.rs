//! What tasks have in common that carry the same tag.

use std::collections::BTreeMap;

use super::loops::Loops;
use super::span::Span;
use super::spread::{Share, Spread};
use super::verdict::Judges;
use crate::tasks::headers::header::Header;

/// A tag, and how its tasks do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TagStats {
    /// The tag; nothing for tasks that carry none.
    pub tag: Option<String>,
    /// How often its tasks went through the same gates.
    pub loops: Loops,
    /// How long the tasks took that were completed in this time, from when they were made.
    pub lead: Option<Spread>,
    /// Of the completions at gates that can send its tasks back, those that did.
    pub rejections: Share,
}

/// Counts tags.
#[derive(Debug, Default)]
pub(crate) struct Tags {
    counts: BTreeMap<Option<String>, Count>,
}

#[derive(Debug, Default)]
struct Count {
    loops: Loops,
    leads: Vec<u64>,
    rejections: Share,
}

impl Tags {
    /// Counts a task under each of its tags; `lead` is how long it took, if it was completed in this time.
    pub(crate) fn see(
        &mut self,
        task: &Header,
        span: &Span,
        judges: &Judges<'_>,
        lead: Option<u64>,
    ) {
        let mut tags: Vec<Option<&String>> = task.tags.iter().map(Some).collect();
        tags.sort_unstable();
        tags.dedup();
        if tags.is_empty() {
            tags.push(None);
        }
        for tag in tags {
            let count = self.counts.entry(tag.cloned()).or_default();
            count.loops.see(task, span);
            count.leads.extend(lead);
            let in_time = task.stays.iter().filter(|stay| span.has(stay));
            for verdict in in_time.filter_map(|stay| judges.verdict(task, stay)) {
                count.rejections.count(verdict.rejects);
            }
        }
    }

    /// Returns the tags whose tasks moved in this time; that with most of them comes first.
    pub(crate) fn close(self) -> Vec<TagStats> {
        let mut rows: Vec<TagStats> = self
            .counts
            .into_iter()
            .filter(|(_, count)| count.loops.tasks > 0)
            .map(|(tag, mut count)| {
                count.loops.close();
                TagStats {
                    tag,
                    loops: count.loops,
                    lead: Spread::of(count.leads),
                    rejections: count.rejections,
                }
            })
            .collect();
        rows.sort_by(|a, b| b.loops.tasks.cmp(&a.loops.tasks).then_with(|| a.tag.cmp(&b.tag)));
        rows
    }
}
