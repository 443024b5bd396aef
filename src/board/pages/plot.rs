//! The common parts of all charts: the frame with its table, axes and scales. Lengths are in units of the view box.

use jiff::civil::Date;
use maud::{Markup, Render, html};

/// The size of a chart with its axis below, and the edges of the plot in it.
pub(super) const SIZE: (u64, u64) = (960, BOTTOM + 50);
pub(super) const LEFT: u64 = 90;
pub(super) const RIGHT: u64 = 940;
pub(super) const TOP: u64 = 20;
pub(super) const BOTTOM: u64 = TOP + ROOM;
pub(super) const ROOM: u64 = 360;

/// Returns a drawing with its heading, a description, and the rest of its figure.
pub(super) fn figure<N: Render>(
    (heading, about): (&str, &str),
    (wide, high): (N, N),
    drawing: &Markup,
    rest: &Markup,
) -> Markup {
    let id = heading.to_lowercase().replace(' ', "-");
    // A screen reader reads a picture as a whole, so that its links would be lost.
    let role = if drawing.0.contains("<a ") { "group" } else { "img" };
    html! {
        figure class="chart" {
            h2 { (heading) }
            svg width=(wide) height=(high) viewBox={ "0 0 " (wide) " " (high) } role=(role)
                aria-labelledby={ (id) " " (id) "-about" } {
                title id=(id) { (heading) }
                desc id={ (id) "-about" } { (about) }
                (drawing)
            }
            figcaption aria-hidden="true" { (about) }
            (rest)
        }
    }
}

/// Returns a figure without a chart: a sentence that explains why.
pub(super) fn no_figure(heading: &str, why: &str) -> Markup {
    html! { figure class="chart" { h2 { (heading) } p class="no-chart" { (why) } } }
}

/// Returns the numbers of a drawing as a table, folded under it.
pub(super) fn numbers(head: &[&str], rows: &Markup) -> Markup {
    html! {
        details {
            summary { "As a table" }
            div class="scroll" role="group" tabindex="0" aria-label="Table" {
                table {
                    thead { tr { @for name in head { th scope="col" { (name) } } } }
                    tbody { (rows) }
                }
            }
        }
    }
}

/// Returns the legend of a chart: the classes of its colours, with names.
pub(super) fn legend<'n>(colours: impl Iterator<Item = (String, &'n str)>) -> Markup {
    html! {
        ul class="legend" {
            @for (class, name) in colours { li { span class={ "swatch " (class) } {} (name) } }
        }
    }
}

/// Returns a text in a drawing, cut to `room` characters; a tooltip shows all of it.
pub(super) fn label<N: Render>(class: &str, (x, y): (N, N), whole: &str, room: usize) -> Markup {
    let shown = clipped(whole, room);
    html! {
        text class=(class) x=(x) y=(y) { @if shown != whole { title { (whole) } } (shown) }
    }
}

/// Returns a text of at most `room` characters; `…` stands for what is cut off.
pub(super) fn clipped(text: &str, room: usize) -> String {
    match text.char_indices().nth(room) {
        Some(_) => text.chars().take(room.saturating_sub(1)).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

/// A scale from values to distances, with the values that its axis names.
pub(super) struct Scale {
    ticks: Vec<u64>,
    room: u64,
}

/// The values that the axis of durations names, in seconds: each is several times the one before.
const DURATIONS: [u64; 11] =
    [0, 60, 600, 3_600, 21_600, 86_400, 604_800, 2_592_000, 15_552_000, 63_072_000, 315_360_000];

impl Scale {
    /// Returns a scale of counts, from 0 to at least the greatest.
    pub(super) fn of_counts(counts: impl Iterator<Item = u64>) -> Self {
        let greatest = counts.max().unwrap_or(0).max(1);
        let mut steps = (0..18).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
        let step = steps.find(|step| step * 5 >= greatest).unwrap_or(greatest);
        let ticks = (0..=greatest.div_ceil(step)).map(|count| count * step).collect();
        Self { ticks, room: ROOM }
    }

    /// Returns a scale of seconds that holds all of these. Between two ticks it is linear.
    pub(super) fn of_durations(lengths: impl Iterator<Item = u64> + Clone, room: u64) -> Self {
        let (least, most) = (lengths.clone().min().unwrap_or(0), lengths.max().unwrap_or(0));
        let last = DURATIONS.len() - 1;
        let first = DURATIONS.partition_point(|tick| *tick <= least).clamp(1, last) - 1;
        let last = DURATIONS.partition_point(|tick| *tick < most).clamp(first + 1, last);
        Self { ticks: DURATIONS[first..=last].to_vec(), room }
    }

    /// Returns the distance of a value from the beginning of the scale.
    pub(super) fn place(&self, value: u64) -> u64 {
        let steps = self.ticks.len() - 1;
        let before = self.ticks.partition_point(|tick| *tick <= value).clamp(1, steps) - 1;
        let (low, high) = (self.ticks[before], self.ticks[before + 1]);
        let part = value.clamp(low, high) - low;
        (before as u64 * (high - low) + part) * self.room / (steps as u64 * (high - low))
    }

    /// Returns the height at which a value is drawn.
    pub(super) fn height(&self, value: u64) -> u64 {
        BOTTOM - self.place(value)
    }

    /// Returns the axis at the left, with lines across.
    pub(super) fn axis(&self, name: impl Fn(u64) -> String) -> Markup {
        html! {
            @for tick in &self.ticks {
                @let y = self.height(*tick);
                path class="grid" d={ "M" (LEFT) " " (y) "H" (RIGHT) } {}
                text class="axis end" x=(LEFT - 12) y=(y + 8) { (name(*tick)) }
            }
        }
    }

    /// Returns the axis below a chart that ends at `bottom`, with vertical lines.
    pub(super) fn axis_below(
        &self,
        left: u64,
        bottom: u64,
        name: impl Fn(u64) -> String,
    ) -> Markup {
        html! {
            @for tick in &self.ticks {
                @let x = left + self.place(*tick);
                path class="grid" d={ "M" (x) " " (TOP) "V" (bottom) } {}
                text class="axis middle" x=(x) y=(bottom + 34) { (name(*tick)) }
            }
        }
    }
}

/// Returns the axis of days below a chart: the first, the last, and two between.
pub(super) fn days_axis(days: &[Date]) -> Markup {
    let last = days.len() - 1;
    let named = [(0, "start"), (last / 3, "middle"), (last * 2 / 3, "middle"), (last, "end")];
    html! {
        path class="axis-line" d={ "M" (LEFT) " " (BOTTOM) "H" (RIGHT) } {}
        @for (at, anchor) in named {
            text class={ "axis " (anchor) } x=(x_of(at, days.len())) y=(BOTTOM + 34) { (day_name(days[at])) }
        }
    }
}

/// Returns a day as people name it, as in `Nov 3`.
pub(super) fn day_name(day: Date) -> String {
    day.strftime("%b %-d").to_string()
}

/// Returns the x coordinate of item `at` of `of` items.
pub(super) fn x_of(at: usize, of: usize) -> u64 {
    LEFT + at as u64 * (RIGHT - LEFT) / (of as u64 - 1).max(1)
}
