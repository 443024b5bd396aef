//! Markdown of tasks as HTML. What people and agents wrote is never trusted: only plain formatting is left of it.

use std::collections::HashSet;

use maud::{Markup, PreEscaped};
use pulldown_cmark::{Event, Options, Parser, html};

/// Returns a text as HTML without scripts, styles, forms and pictures.
pub(crate) fn markdown(text: &str) -> Markup {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    // A check box is a control, which would need a label; a sign says the same.
    let events = Parser::new_ext(text, options).map(|event| match event {
        Event::TaskListMarker(is_done) => Event::Text(if is_done { "☑ " } else { "☐ " }.into()),
        other => other,
    });
    let mut made = String::new();
    html::push_html(&mut made, events);
    let clean = ammonia::Builder::default()
        // A picture of another host would tell it who reads the task.
        .rm_tags(["img"])
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .link_rel(Some("noopener noreferrer"))
        // What may be wider than the page is scrolled by keys too.
        .set_tag_attribute_value("pre", "tabindex", "0")
        .set_tag_attribute_value("table", "tabindex", "0")
        .clean(&made);
    PreEscaped(clean.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatting_stays_and_what_acts_goes() {
        for (text, expected) in [
            ("*a* `b`", "<p><em>a</em> <code>b</code></p>\n"),
            ("- [x] done\n- [ ] open", "<ul>\n<li>☑ done</li>\n<li>☐ open</li>\n</ul>\n"),
            ("    a\n", "<pre tabindex=\"0\"><code>a\n</code></pre>\n"),
            ("<script>alert(1)</script>", ""),
            ("<p onclick=\"x()\" style=\"a\" class=\"b\" id=\"c\">hi</p>", "<p>hi</p>"),
            ("<form action=x><input name=y></form>", ""),
            ("<iframe src=x></iframe><svg onload=x></svg>", ""),
            ("![pixel](https://evil.example/p.gif)", "<p></p>\n"),
            ("[a](javascript:alert(1))", "<p><a rel=\"noopener noreferrer\">a</a></p>\n"),
            (
                "[a](https://example.com)",
                "<p><a href=\"https://example.com\" rel=\"noopener noreferrer\">a</a></p>\n",
            ),
        ] {
            assert_eq!(
                markdown(text).0.trim_end_matches('\n'),
                expected.trim_end_matches('\n'),
                "{text}"
            );
        }
    }
}
