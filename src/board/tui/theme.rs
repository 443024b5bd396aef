//! Styles of the board. Each works without colour: by weight, and by reversed text.

use ratatui::style::{Color, Modifier, Style};

/// The styles that a terminal supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Theme {
    pub colour: bool,
}

impl Theme {
    fn of(self, style: Style, colour: Color) -> Style {
        if self.colour { style.fg(colour) } else { style }
    }

    /// Returns the style of what is late, and of faults.
    pub(super) fn late(self) -> Style {
        self.of(Style::new(), Color::Red)
    }

    /// Returns the style of what is blocked or held.
    pub(super) fn stopped(self) -> Style {
        self.of(Style::new(), Color::Yellow)
    }

    /// Returns the style of what waits for the reader.
    pub(super) fn call(self) -> Style {
        self.of(Style::new().add_modifier(Modifier::BOLD), Color::Blue)
    }

    /// Returns the style of added lines, and of messages about success.
    pub(super) fn good(self) -> Style {
        self.of(Style::new(), Color::Green)
    }

    /// Returns the style of removed lines.
    pub(super) fn gone(self) -> Style {
        self.of(Style::new(), Color::Red)
    }

    pub(super) fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Returns the style of what matters less.
    pub(super) fn quiet(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// Returns the style of what is selected where the keys go.
    pub(super) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}
