//! Search over ids, titles, labels, texts of completions, and bodies.
//!
//! Texts are compared as words in lower case. A cache beside that of the summaries holds them in this form, and only a search
//! loads it. No search library: at 10,000 tasks the words are a few megabytes, and searching all of them takes milliseconds.

use std::collections::HashMap;
use std::ops::Range;
use std::str::FromStr;

use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};

use crate::domain::{TaskId, Visit, is_combining_mark, without_accents};
use crate::files::task_file::TaskFile;
use crate::project::active_rules::InForce;
use crate::project::workspace::Workspace;
use crate::storage::{CacheFile, HeaderCache, Paths, ProjectPath, take_header};
use crate::tasks::headers::listing::{
    ListScope, Listing, Match, SearchField, forget_gone, read_file, read_many,
};

/// The cache of texts. Change the schema when [`TaskText`] or the definition of a word changes.
const TEXTS: CacheFile = CacheFile { name: "text", schema: "text 2" };

/// A search query. A task matches if it has all of the terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Query {
    /// Each as ` word word`: a word, or a phrase. The last word may be the beginning of one.
    terms: Vec<String>,
}

/// The search text has no words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no letter or digit to search for")]
pub(crate) struct NoWords;

impl FromStr for Query {
    type Err = NoWords;

    /// Reads words, and phrases in double quotes.
    fn from_str(text: &str) -> Result<Self, NoWords> {
        let parts = text.split('"').enumerate().flat_map(|(place, part)| {
            if place % 2 == 1 { vec![part] } else { part.split_whitespace().collect() }
        });
        let mut terms: Vec<String> = Vec::new();
        for part in parts {
            let mut term = folded(part);
            term.truncate(term.trim_end().len());
            if !term.is_empty() && !terms.contains(&term) {
                terms.push(term);
            }
        }
        if terms.is_empty() { Err(NoWords) } else { Ok(Self { terms }) }
    }
}

impl Query {
    /// Reads the arguments of a command: one with a space in it is a phrase, since the shell removed the quotes.
    pub(crate) fn of_arguments(arguments: &[impl AsRef<str>]) -> Result<Self, NoWords> {
        let read = |argument: &str| {
            let is_phrase = argument.contains(char::is_whitespace) && !argument.contains('"');
            if is_phrase { format!("\"{argument}\"").parse() } else { argument.parse::<Self>() }
        };
        let mut terms = Vec::new();
        for argument in arguments {
            terms.extend(read(argument.as_ref())?.terms);
        }
        if terms.is_empty() { Err(NoWords) } else { Ok(Self { terms }) }
    }

    /// Returns the ranges of the terms in a text, in order.
    pub(crate) fn marks(&self, text: &str) -> Vec<Range<usize>> {
        let words: Vec<(Range<usize>, String)> = words(text).collect();
        let terms: Vec<Vec<&str>> =
            self.terms.iter().map(|term| term.split_whitespace().collect()).collect();
        let mut marks = Vec::new();
        let mut from = 0;
        while from < words.len() {
            let longest = terms.iter().filter_map(|term| matching(term, &words[from..])).max();
            match longest {
                Some(count) => {
                    marks.push(words[from].0.start..words[from + count - 1].0.end);
                    from += count;
                }
                None => from += 1,
            }
        }
        marks
    }

    /// Returns the text in which the match was found: the newest entry of the history, if it was in one.
    pub(crate) fn passage(&self, found: Match, file: &TaskFile) -> String {
        match found.field {
            SearchField::Id | SearchField::Title => file.task.title.clone(),
            SearchField::Tags => file.task.tags.join(", "),
            SearchField::Body => file.body().to_owned(),
            SearchField::Summary => {
                let mut texts = file.task.history.iter().rev().flat_map(completion_texts);
                texts.find(|text| !self.marks(text).is_empty()).unwrap_or_default().to_owned()
            }
        }
    }
}

/// Returns the number of words at the beginning of these that match a term.
fn matching(term: &[&str], words: &[(Range<usize>, String)]) -> Option<usize> {
    let (last, whole) = term.split_last()?;
    let is_there = term.len() <= words.len()
        && whole.iter().zip(words).all(|(wanted, (_, word))| wanted == word)
        && words[whole.len()].1.starts_with(last);
    is_there.then_some(term.len())
}

/// The words of a task: each field as ` word word `, one after another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TaskText<T> {
    text: T,
    /// The ends of the fields, in the order of [`SearchField::TEXTS`].
    ends: [usize; 4],
}

impl TaskText<Box<str>> {
    fn of(file: &TaskFile) -> Self {
        let task = &file.task;
        let (mut text, mut ends) = (String::new(), [0; 4]);
        let tags = task.tags.iter().map(String::as_str).collect();
        let texts = task.history.iter().flat_map(completion_texts).collect();
        for (place, parts) in
            [vec![task.title.as_str()], tags, texts, vec![file.body()]].into_iter().enumerate()
        {
            for part in parts {
                text.push_str(&folded(part));
            }
            ends[place] = text.len();
        }
        Self { text: text.into(), ends }
    }
}

impl<T: AsRef<str>> TaskText<T> {
    /// Returns the quality of the terms' match with the task in the file of that name; `None` if a term is missing.
    fn matching(&self, name: &str, terms: &[Finder<'_>]) -> Option<Match> {
        let mut all = Match { score: 0, field: SearchField::Id };
        for term in terms {
            let (field, worth) = if is_id(name, term.needle()) {
                (SearchField::Id, SearchField::Id.worth(true))
            } else {
                self.find(term)?
            };
            all = Match { score: all.score + worth, field: all.field.max(field) };
        }
        Some(all)
    }

    /// Returns the field in which a term has its best match, with the score.
    fn find(&self, term: &Finder<'_>) -> Option<(SearchField, u32)> {
        let bytes = self.text.as_ref().as_bytes();
        let mut best: Option<(SearchField, u32)> = None;
        for at in term.find_iter(bytes) {
            let field = SearchField::TEXTS[self.ends.iter().position(|end| at < *end)?];
            let is_whole = bytes.get(at + term.needle().len()) == Some(&b' ');
            let worth = field.worth(is_whole);
            match best {
                Some((earlier, _)) if earlier < field => break,
                Some((_, known)) if known >= worth => {}
                _ => best = Some((field, worth)),
            }
            if is_whole {
                break;
            }
        }
        best
    }
}

/// Returns the texts of a completion.
fn completion_texts(visit: &Visit) -> impl Iterator<Item = &str> {
    let blockers = visit.blockers.iter().map(String::as_str);
    [visit.summary.as_str()].into_iter().chain(blockers).chain(visit.rejection_notes.as_deref())
}

/// The results of a search in cached texts: `None` for a task that does not match.
pub(crate) struct KnownMatches<'q> {
    terms: Vec<Finder<'q>>,
    cache: HeaderCache<Option<Match>>,
}

impl<'q> KnownMatches<'q> {
    /// Searches the cache of texts.
    pub(crate) fn new(paths: &Paths, query: &'q Query) -> Self {
        let terms: Vec<Finder<'q>> = query.terms.iter().map(Finder::new).collect();
        let cache = HeaderCache::load_with(paths, TEXTS, |path, chunk| {
            let text: TaskText<&str> = take_header(chunk)?;
            Some(text.matching(path.rsplit('/').next()?, &terms))
        });
        Self { terms, cache }
    }

    /// Returns the tasks of a whole listing that match, by id. Reads the files that have changed.
    pub(crate) fn find(
        self,
        workspace: &Workspace,
        in_force: &InForce,
        listing: &Listing,
        scope: ListScope,
    ) -> HashMap<TaskId, Match> {
        let looked = workspace.clock()();
        let (paths, workflow) = (&workspace.paths, &in_force.rules.project.default_workflow);
        let (mut found, mut missed) = (HashMap::new(), Vec::new());
        for (task, path) in &listing.tasks {
            match self.cache.get(path, &task.file) {
                Some(known) => found.extend(known.map(|known| (task.id.clone(), known))),
                None => missed.push((&task.id, path)),
            }
        }
        if missed.is_empty() && self.cache.len() <= listing.tasks.len() {
            return found;
        }
        let read = |(id, path): &(&TaskId, &ProjectPath)| {
            let (file, stat) = read_file(paths, workflow, id, path).ok()?;
            Some((TaskText::of(&file), stat))
        };
        let mut cache = HeaderCache::<TaskText<Box<str>>>::load(paths, TEXTS);
        for ((id, path), read) in missed.iter().zip(read_many(&missed, read)) {
            // An unreadable file has just been moved or removed, and does not match.
            let Some((text, stat)) = read else { continue };
            let fits = text.matching(path.name(), &self.terms);
            found.extend(fits.map(|fits| ((*id).clone(), fits)));
            cache.put(path, stat, text, looked);
        }
        forget_gone(&mut cache, listing.tasks.iter().map(|(_, path)| path), scope);
        // The cache only saves time: a read-only project can still be searched.
        let _ = cache.save(paths);
        found
    }
}

/// Returns whether a term is the id in the file's name, as ` aof abc`, or that id without the project's prefix.
fn is_id(name: &str, term: &[u8]) -> bool {
    let id = name.strip_suffix(".md").unwrap_or(name);
    let folded = id.bytes().rev().map(|byte| match byte {
        b'-' => b' ',
        letter => letter.to_ascii_lowercase(),
    });
    term.len() <= id.len() + 1
        && folded.chain([b' ']).zip(term.iter().rev()).all(|(byte, wanted)| byte == *wanted)
}

/// Returns the words of a text, with their ranges.
fn words(text: &str) -> impl Iterator<Item = (Range<usize>, String)> {
    let mut letters = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let mut word: Option<(Range<usize>, String)> = None;
        let mut is_whole = false;
        while let Some(&(at, letter)) = letters.peek() {
            let is_mark = is_combining_mark(letter);
            let is_letter = letter.is_alphanumeric() && !is_mark;
            let stands_alone = stands_alone(letter) && !is_mark;
            if word.is_some() && !is_mark && (is_whole || stands_alone || !is_letter) {
                break;
            }
            letters.next();
            if is_letter || word.is_some() {
                let (range, text) = word.get_or_insert_with(|| (at..at, String::new()));
                range.end = at + letter.len_utf8();
                text.push(letter);
                is_whole |= stands_alone;
            }
        }
        word.map(|(range, text)| (range, lower(&text)))
    })
}

/// Returns a word in lower case, without accents: people type names without them, and macOS may write `é` as two characters.
fn lower(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let letters = without_accents(word);
    let lower =
        letters.chars().flat_map(char::to_lowercase).filter(|lower| lower.is_alphanumeric());
    lower.map(|lower| if lower == 'ς' { 'σ' } else { lower }).collect()
}

/// Returns whether a letter is of a script without spaces between words: each letter is a word of its own.
fn stands_alone(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// Returns the words of a text in lower case, as ` word word `; an empty text if there are none.
fn folded(text: &str) -> String {
    let mut all = String::with_capacity(text.len() + 2);
    for (_, word) in words(text) {
        all.push(' ');
        all.push_str(&word);
    }
    if !all.is_empty() {
        all.push(' ');
    }
    all
}
