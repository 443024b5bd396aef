//! Markdown for a terminal: bold headings, code in another colour, links that can be opened, lines of a limited width.

use anstyle::{Effects, Style};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use unicode_width::UnicodeWidthStr;

use crate::cli::{BOLD, CYAN, DIM, styled};
use crate::files::printable::one_line;

/// Returns a text as lines of at most `width` columns. A word that is longer stays whole, and so does a line of code.
pub(crate) fn rendered(text: &str, width: usize) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let has_links = supports_hyperlinks::on(supports_hyperlinks::Stream::Stdout);
    let mut page = MarkdownLines { width, has_links, ..MarkdownLines::default() };
    for event in Parser::new_ext(text, options) {
        page.take(event);
    }
    page.end_block();
    page.lines.join("\n") + if page.lines.is_empty() { "" } else { "\n" }
}

/// A word with its colours, and its width without them.
struct Word {
    text: String,
    width: usize,
    /// True if a blank is before it.
    is_apart: bool,
}

#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent states of a text that is read once")]
struct MarkdownLines {
    width: usize,
    has_links: bool,
    lines: Vec<String>,
    /// The words of the current block.
    words: Vec<Word>,
    /// True if the next text begins a new word.
    is_apart: bool,
    styles: Vec<Style>,
    /// The indents of the blocks around: the first line's, and that of further lines.
    indents: Vec<(String, String)>,
    /// The number of the next item, for each list around; `None` without numbers.
    lists: Vec<Option<u64>>,
    /// The target of the link around, and the words before it.
    link: Option<(String, usize)>,
    is_code: bool,
    /// True if a blank line is due before the next block.
    is_gap_due: bool,
}

impl MarkdownLines {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.is_code => {
                let indent = self.indent(false);
                for line in text.lines() {
                    self.lines.push(format!("{indent}  {}", styled(CYAN, one_line(line))));
                }
            }
            Event::Text(text) => self.add(&text, self.style()),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.push(&one_line(&text), CYAN);
            }
            // A comment is not to be seen, such as those that are put before people's text.
            Event::Html(text) | Event::InlineHtml(text) => {
                let is_comment = text.trim().starts_with("<!--") && text.trim().ends_with("-->");
                if !is_comment {
                    self.add(&text, DIM);
                }
            }
            Event::SoftBreak => self.is_apart = true,
            Event::HardBreak => self.flush(),
            Event::Rule => {
                self.begin_block();
                self.lines.push(styled(DIM, "---"));
            }
            Event::TaskListMarker(is_done) => {
                self.push(if is_done { "[x]" } else { "[ ]" }, Style::new());
                self.is_apart = true;
            }
            Event::FootnoteReference(name) => self.push(&format!("[{}]", one_line(&name)), DIM),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::Table(_) => self.begin_block(),
            Tag::TableHead => self.styles.push(BOLD),
            Tag::Heading { .. } => {
                self.begin_block();
                self.styles.push(BOLD);
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.indents.push(("| ".to_owned(), "| ".to_owned()));
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                if let CodeBlockKind::Fenced(name) = kind
                    && !name.is_empty()
                {
                    let indent = self.indent(false);
                    self.lines.push(format!("{indent}  {}", styled(DIM, one_line(&name))));
                }
                self.is_code = true;
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.begin_block();
                } else {
                    self.flush();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                self.flush();
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "- ".to_owned(),
                };
                let rest = " ".repeat(mark.len());
                self.indents.push((mark, rest));
                self.is_gap_due = false;
            }
            Tag::Emphasis => self.styles.push(self.style().italic()),
            Tag::Strong => self.styles.push(self.style().bold()),
            Tag::Strikethrough => self.styles.push(self.style() | Effects::STRIKETHROUGH),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some((one_line(&dest_url), self.words.len()));
                self.styles.push(self.style().underline());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.end_block(),
            TagEnd::TableHead => {
                self.styles.pop();
                self.flush();
            }
            TagEnd::TableRow => self.flush(),
            TagEnd::Table => self.is_gap_due = true,
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_block();
            }
            TagEnd::TableCell => {
                self.is_apart = true;
                self.push("|", DIM);
                self.is_apart = true;
            }
            TagEnd::BlockQuote(_) => {
                self.end_block();
                self.indents.pop();
            }
            TagEnd::Item => {
                self.flush();
                self.indents.pop();
                self.is_gap_due = false;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.is_gap_due = self.lists.is_empty();
            }
            TagEnd::CodeBlock => {
                self.is_code = false;
                self.is_gap_due = true;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                self.end_link();
            }
            _ => {}
        }
    }

    /// Makes the words of the link open its target, or puts the target behind them.
    fn end_link(&mut self) {
        let Some((target, from)) = self.link.take() else { return };
        let is_page =
            ["https://", "http://", "mailto:"].iter().any(|start| target.starts_with(start));
        if self.has_links && is_page {
            for word in &mut self.words[from..] {
                word.text = format!("\x1b]8;;{target}\x1b\\{}\x1b]8;;\x1b\\", word.text);
            }
        } else if !self.words[from..].iter().any(|word| word.text.contains(&target)) {
            self.is_apart = true;
            self.push(&format!("({target})"), DIM);
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    /// Adds a text that is broken at its blanks.
    fn add(&mut self, text: &str, style: Style) {
        self.is_apart |= text.starts_with(char::is_whitespace);
        for word in text.split_whitespace() {
            self.push(&one_line(word), style);
            self.is_apart = true;
        }
        self.is_apart = text.ends_with(char::is_whitespace);
    }

    fn push(&mut self, text: &str, style: Style) {
        let word = Word { text: styled(style, text), width: text.width(), is_apart: self.is_apart };
        self.words.push(word);
        self.is_apart = false;
    }

    fn begin_block(&mut self) {
        self.flush();
        if std::mem::take(&mut self.is_gap_due) {
            self.lines.push(self.indent(false).trim_end().to_owned());
        }
    }

    fn end_block(&mut self) {
        self.flush();
        self.is_gap_due = true;
    }

    /// Returns the indent of a line; the first line of an item has its mark.
    fn indent(&self, is_first: bool) -> String {
        let mut indent = String::new();
        let last = self.indents.len();
        for (place, (first, rest)) in self.indents.iter().enumerate() {
            indent.push_str(if is_first && place + 1 == last { first } else { rest });
        }
        indent
    }

    /// Writes the words of the block as lines.
    fn flush(&mut self) {
        if self.words.is_empty() {
            return;
        }
        let mut line = self.indent(true);
        if let Some((first, rest)) = self.indents.last_mut() {
            // The mark of an item is only before its first line.
            first.clone_from(rest);
        }
        let further = self.indent(false);
        let mut used = line.width();
        let mut is_start = true;
        for word in std::mem::take(&mut self.words) {
            let gap = usize::from(word.is_apart && !is_start);
            if !is_start && word.is_apart && used + gap + word.width > self.width {
                self.lines.push(std::mem::replace(&mut line, further.clone()));
                used = further.width();
            } else {
                line.push_str(&" ".repeat(gap));
                used += gap;
            }
            line.push_str(&word.text);
            used += word.width;
            is_start = false;
        }
        self.lines.push(line);
        self.is_apart = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str, width: usize) -> String {
        anstream::adapter::strip_str(&rendered(text, width)).to_string()
    }

    #[test]
    fn blocks_keep_their_form_and_lines_their_width() {
        let text = "# The form\n\nIt checks the *number* while one\ntypes, see [design](https://example.org/d).\n\n- [x] number\n- [ ] messages name\n  the field\n   1. first\n   2. second\n\n> quoted text\n> goes on\n\n```rust\nfn main() {}\n```\n\n<!-- aof:comment -->\n| a | b |\n|---|---|\n| 1 | 2 |\n";
        insta::assert_snapshot!(plain(text, 30), @"
        The form

        It checks the number while one
        types, see design
        (https://example.org/d).

        - [x] number
        - [ ] messages name the field
          1. first
          2. second

        | quoted text goes on

          rust
          fn main() {}

        a | b |
        1 | 2 |
        ");
    }

    #[test]
    fn control_characters_and_links_that_act_are_shown_as_text() {
        let text = "a\u{1b}[31m [b](javascript:alert(1)) <b>c</b>";
        insta::assert_snapshot!(plain(text, 80), @r#"a\u{1b}[31m b (javascript:alert(1)) <b>c</b>"#);
    }

    #[test]
    fn a_word_that_is_longer_than_the_line_stays_whole() {
        assert_eq!(
            plain("see https://example.org/a/long/one now", 10),
            "see\nhttps://example.org/a/long/one\nnow\n"
        );
    }
}
