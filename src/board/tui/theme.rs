//! Styles of the board. Each works without colour: by weight, and by reversed text.

use ratatui::style::{Color, Modifier, Style};

/// Which styles a terminal takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Theme {
    pub colour: bool,
}

impl Theme {
    fn of(self, style: Style, colour: Color) -> Style {
        if self.colour { style.fg(colour) } else { style }
    }

    /// For names: of columns, of tasks.
    pub(super) fn name(self) -> Style {
        self.of(Style::new(), Color::Cyan)
    }

    /// For what is worth a look: late, blocked, refused.
    pub(super) fn alarm(self) -> Style {
        self.of(Style::new().add_modifier(Modifier::BOLD), Color::Red)
    }

    /// For what asks the reader.
    pub(super) fn call(self) -> Style {
        self.of(Style::new().add_modifier(Modifier::BOLD), Color::Yellow)
    }

    /// Returns the style of added lines, and of messages about success.
    pub(super) fn good(self) -> Style {
        self.of(Style::new(), Color::Green)
    }

    /// For what is removed.
    pub(super) fn gone(self) -> Style {
        self.of(Style::new(), Color::Red)
    }

    pub(super) fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// For what matters less.
    pub(super) fn quiet(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// For what is selected where the keys go.
    pub(super) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}
