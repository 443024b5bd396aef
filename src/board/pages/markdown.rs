//! Markdown of tasks as HTML. The text of people and agents is never trusted: HTML in it is shown as text, so that there are only tags
//! of plain formatting. A link leads to a web page, a mail address or a place here; a picture becomes a link.

use maud::{Markup, PreEscaped};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// Returns a text as harmless HTML.
pub(crate) fn markdown(text: &str) -> Markup {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut made = String::new();
    html::push_html(&mut made, Parser::new_ext(text, options).map(harmless));
    // A wide block of code scrolls, so it takes the focus of the keyboard; a style would be refused. Anything else that looks like a tag
    // is escaped.
    let mut made = made.replace("<pre>", "<pre tabindex=\"0\">");
    for sign in ["☑ ", "☐ "] {
        made = made.replace(&format!("<li>{sign}"), &format!("<li class=\"box\">{sign}"));
    }
    for cell in ["th", "td"] {
        let styled = format!("<{cell} style=\"text-align: ");
        made = made.replace(&styled, &format!("<{cell} class=\""));
    }
    PreEscaped(made)
}

fn harmless(event: Event<'_>) -> Event<'_> {
    match event {
        // A comment is not to be seen, such as those that aof puts before people's text.
        Event::Html(text) | Event::InlineHtml(text) => match text.trim() {
            comment if comment.starts_with("<!--") && comment.ends_with("-->") => {
                Event::Text("".into())
            }
            _ => Event::Text(text),
        },
        // A check box is a control, which would need a label; a character means the same.
        Event::TaskListMarker(is_done) => Event::Text(if is_done { "☑ " } else { "☐ " }.into()),
        // A picture of another host would reveal to it who reads the task.
        Event::Start(
            Tag::Link { link_type, dest_url, title, id }
            | Tag::Image { link_type, dest_url, title, id },
        ) => {
            let dest_url = if leads_to_a_page(&dest_url) { dest_url } else { CowStr::from("#") };
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        Event::End(TagEnd::Image) => Event::End(TagEnd::Link),
        other => other,
    }
}

/// Returns true if a link is of a kind that cannot act: any scheme not named here may act.
fn leads_to_a_page(url: &str) -> bool {
    let url = url.to_ascii_lowercase();
    let has_scheme = url.split(['/', '?', '#']).next().is_some_and(|start| start.contains(':'));
    !has_scheme || ["http:", "https:", "mailto:"].iter().any(|scheme| url.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatting_stays_and_active_content_goes() {
        for (text, expected) in [
            ("*a* `b`", "<p><em>a</em> <code>b</code></p>"),
            (
                "- [x] done\n- [ ] open",
                "<ul>\n<li class=\"box\">☑ done</li>\n<li class=\"box\">☐ open</li>\n</ul>",
            ),
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("a <b onclick=\"x()\">hi</b>", "<p>a &lt;b onclick=\"x()\"&gt;hi&lt;/b&gt;</p>"),
            (
                "![pixel](https://evil.example/p.gif)",
                "<p><a href=\"https://evil.example/p.gif\">pixel</a></p>",
            ),
            ("[a](javascript:alert(1))", "<p><a href=\"#\">a</a></p>"),
            ("[a](JavaScript:alert(1))", "<p><a href=\"#\">a</a></p>"),
            ("[a](&#106;avascript:alert(1))", "<p><a href=\"#\">a</a></p>"),
            ("[a](<java\tscript:alert(1)>)", "<p><a href=\"#\">a</a></p>"),
            ("[a](<\u{1}javascript:alert(1)>)", "<p><a href=\"#\">a</a></p>"),
            ("[a](data:text/html,x)", "<p><a href=\"#\">a</a></p>"),
            ("<javascript:alert(1)>", "<p><a href=\"#\">javascript:alert(1)</a></p>"),
            (
                "[a](https://example.com \"x\\\" onclick=y\")",
                "<p><a href=\"https://example.com\" title=\"x&quot; onclick=y\">a</a></p>",
            ),
            ("<!-- aof:comment -->\n**ann** hi", "\n<p><strong>ann</strong> hi</p>"),
            (
                "|a|\n|-:|\n|1|",
                "<table><thead><tr><th class=\"right\">a</th></tr></thead><tbody>\n<tr><td class=\"right\">1</td></tr>\n</tbody></table>",
            ),
            ("[a](docs/a:b.md)", "<p><a href=\"docs/a:b.md\">a</a></p>"),
            (
                "```\"><script>\nx\n```",
                "<pre tabindex=\"0\"><code class=\"language-&quot;&gt;&lt;script&gt;\">x\n</code></pre>",
            ),
        ] {
            assert_eq!(markdown(text).0.trim_end(), expected, "{text}");
        }
    }
}
