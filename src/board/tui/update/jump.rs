//! The jump to a task or an act: what matches a typed text.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::super::detail::DetailTab;
use super::super::project_view::ProjectView;
use super::super::state::{Effects, Overlay, TuiState};
use crate::board::model::keys::{KEYS, KeyAct, KeyDoor, KeyPlace};
use crate::domain::TaskId;
use crate::files::printable::one_line;
use crate::tasks::headers::filter::Filterable;

/// The number of tasks that are shown.
const MOST: usize = 50;

/// A target of a jump.
#[derive(Debug, Clone, PartialEq)]
enum JumpTarget {
    Task(TaskId),
    Act(KeyAct),
}

/// A target that matches, in words.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct JumpHit {
    pub words: String,
    /// The gate of a task, or the key of an act.
    pub end: String,
    target: JumpTarget,
}

/// Returns the acts and the tasks whose words match all words of a text.
pub(in super::super) fn hits(project: &ProjectView, text: &str) -> Vec<JumpHit> {
    let wanted: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let matches = |texts: &[&str]| {
        let texts: Vec<String> = texts.iter().map(|text| text.to_lowercase()).collect();
        wanted.iter().all(|word| texts.iter().any(|text| text.contains(word)))
    };
    let moves = [KeyAct::Left, KeyAct::Right, KeyAct::OtherSide, KeyAct::Jump];
    let acts = KEYS.iter().filter(|row| {
        let is_act = row.places.contains(&KeyPlace::Board) && !row.places.contains(&KeyPlace::Over);
        is_act && row.is_at(KeyDoor::Terminal) && !moves.contains(&row.act)
    });
    let acts = acts.filter(|row| matches(&[row.word])).map(|row| JumpHit {
        words: row.word.to_owned(),
        end: row.keys[0].to_owned(),
        target: JumpTarget::Act(row.act),
    });
    let tasks = project.board.iter().flat_map(|board| board.cards());
    let tasks = tasks.filter(|card| matches(&card.texts())).take(MOST).map(|card| JumpHit {
        words: format!("{}  {}", card.id.local(), one_line(&card.title)),
        end: card.gate.as_ref().map(ToString::to_string).unwrap_or_default(),
        target: JumpTarget::Task(card.id.clone()),
    });
    // Few words of an act begin as tasks do: acts come first while little is typed.
    acts.chain(tasks).collect()
}

impl TuiState {
    pub(in super::super) fn press_in_jump(&mut self, key: KeyEvent) -> Effects {
        let count = match &self.overlay {
            Some(Overlay::Jump { edit, .. }) => hits(self.project(), &edit.text).len(),
            _ => return Vec::new(),
        };
        let Some(Overlay::Jump { edit, at }) = &mut self.overlay else { return Vec::new() };
        match key.code {
            KeyCode::Esc => self.overlay = None,
            KeyCode::Enter => return self.jump(),
            KeyCode::Down | KeyCode::Tab => *at = (*at + 1).min(count.saturating_sub(1)),
            KeyCode::Up | KeyCode::BackTab => *at = at.saturating_sub(1),
            _ => {
                edit.take(key);
                *at = 0;
            }
        }
        Vec::new()
    }

    /// Goes to the selected target.
    pub(in super::super) fn jump(&mut self) -> Effects {
        let Some(Overlay::Jump { edit, at }) = self.overlay.take() else { return Vec::new() };
        match hits(self.project(), &edit.text).into_iter().nth(at).map(|hit| hit.target) {
            Some(JumpTarget::Task(id)) => self.open_task(&id, DetailTab::Task),
            Some(JumpTarget::Act(act)) => self.run(act),
            None => Vec::new(),
        }
    }
}
