//! Messages for people go to stderr, answers for programs go to stdout.

use std::cell::{Cell, RefCell};
use std::fmt::{self, Display};
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use indicatif::{
    HumanDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};
use serde::Serialize;

/// All progress bars of the terminal, one on each line.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

thread_local! {
    /// The prefix of every line of this thread.
    static LABEL: RefCell<String> = const { RefCell::new(String::new()) };
    /// True while this thread does work of which nothing is said.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// True in a process whose lines another one writes.
static IS_MUTED: AtomicBool = AtomicBool::new(false);

/// From now on this process writes neither lines nor bars, because another one does.
pub(crate) fn mute() {
    IS_MUTED.store(true, Ordering::Relaxed);
}

/// Writes one line to stderr, above the bars, unless this process is muted or its thread is quiet. A closed pipe does not stop training.
pub(crate) fn line(text: impl Display) {
    if !IS_MUTED.load(Ordering::Relaxed) && !IS_QUIET.get() {
        line_even_if_muted(text);
    }
}

/// Writes one line to stderr, also if this process is muted.
pub(crate) fn line_even_if_muted(text: impl Display) {
    let text = plain(&text.to_string());
    let written = || LABEL.with_borrow(|label| writeln!(io::stderr(), "{label}{text}"));
    let _ = BARS.suspend(written);
}

/// Text with its control characters escaped, except line ends and tabs, so that the name of a file cannot control the
/// terminal.
fn plain(text: &str) -> String {
    let is_plain = |c: char| !c.is_control() || c == '\n' || c == '\t';
    text.chars().fold(String::with_capacity(text.len()), |mut shown, c| {
        if is_plain(c) {
            shown.push(c)
        } else {
            shown.extend(c.escape_default())
        }
        shown
    })
}

/// Runs `work` with a label before its lines and bars, which distinguishes those of several threads.
pub(crate) fn labelled<R>(label: impl Display, work: impl FnOnce() -> R) -> R {
    let before = LABEL.replace(format!("{label} | "));
    let result = work();
    LABEL.set(before);
    result
}

/// Runs `work`, which a later run repeats, without printing its lines.
pub(crate) fn quietly<R>(work: impl FnOnce() -> R) -> R {
    let before = IS_QUIET.replace(true);
    let result = work();
    IS_QUIET.set(before);
    result
}

/// The output of a command's answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Console {
    json: bool,
}

impl Console {
    /// With `json`, an answer is one JSON document instead of text.
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Writes the answer of a command to stdout: `value` as JSON, or the text.
    ///
    /// # Errors
    /// If stdout cannot be written to.
    pub(crate) fn answer(&self, value: &impl Serialize, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        let text = if self.json { serde_json::to_string_pretty(value)? } else { text() };
        // Output to a program keeps names unchanged.
        let text = if io::stdout().is_terminal() { plain(&text) } else { text };
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{}", text.trim_end())?;
        Ok(stdout.flush()?)
    }
}

/// A table with a header, as wide as the terminal, or of a fixed width where the output is none.
pub(crate) fn table<'a>(header: impl IntoIterator<Item = &'a str>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header.into_iter().collect::<Vec<_>>());
    let terminal = terminal_size::terminal_size_of(io::stdout());
    table
        .set_width(terminal.map_or(PLAIN_WIDTH, |(terminal_size::Width(columns), _)| columns.max(NARROWEST)));
    table
}

/// Such a table, whose first column has names and whose others have numbers.
pub(crate) fn table_of_numbers<'a>(header: impl IntoIterator<Item = &'a str>) -> Table {
    let mut table = table(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A line about work that does not end soon, written every ten seconds until this is dropped.
pub(crate) struct PeriodicLine {
    _ends: Sender<()>,
}

impl PeriodicLine {
    /// Begins to wait for the first line, under the label of this thread. If the system gives no thread, nothing is written.
    pub(crate) fn start(text: impl Fn() -> String + Send + 'static) -> Self {
        let (ends, ended) = channel::<()>();
        let label = LABEL.with_borrow(Clone::clone);
        let write = move || {
            LABEL.set(label);
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                line(text());
            }
        };
        drop(thread::Builder::new().name("periodic line".into()).spawn(write));
        Self { _ends: ends }
    }
}

/// Time between two periodic lines.
const PERIOD: Duration = Duration::from_secs(10);

/// Letters in a line that is not written to a terminal.
const PLAIN_WIDTH: u16 = 110;
/// A narrower table breaks words.
const NARROWEST: u16 = 60;

/// The progress of a count of steps to `total`: a bar on a terminal, plain lines in a pipe.
pub(crate) struct Progress {
    bar: ProgressBar,
    plain: Option<Plain>,
}

/// A line for each tenth of the work, and otherwise for the first step that ends [`MAX_SILENCE`] or more after the last line; for the
/// first line that time is [`MAX_SILENCE_AT_START`].
struct Plain {
    title: String,
    started: Instant,
    first: u64,
    last_line: Instant,
    last_tenth: u64,
    /// Time after the last line from which on the end of any step writes a line.
    max_silence: Duration,
}

const MAX_SILENCE: Duration = Duration::from_secs(30);
const MAX_SILENCE_AT_START: Duration = Duration::from_secs(5);

impl Progress {
    /// Starts at `done` of `total` steps.
    pub(crate) fn new(title: &str, done: u64, total: u64) -> Self {
        let is_muted = IS_MUTED.load(Ordering::Relaxed);
        let terminal = io::stderr().is_terminal() && !is_muted;
        let target = if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(total), target)
            .with_prefix(LABEL.with_borrow(|label| format!("{label}{title}")));
        let bar = if terminal { BARS.add(bar) } else { bar };
        if let Ok(style) = ProgressStyle::with_template(
            "{prefix} {bar:20.cyan/dim} {pos}/{len}  {rate}  {eta} left  {wide_msg}",
        ) {
            bar.set_style(style.with_key("rate", rate));
        }
        bar.set_position(done);
        bar.reset_eta();
        let now = Instant::now();
        let plain = (!terminal && !is_muted).then(|| Plain {
            title: title.to_owned(),
            started: now,
            first: done,
            last_line: now,
            last_tenth: tenth(done, total),
            max_silence: MAX_SILENCE_AT_START,
        });
        Self { bar, plain }
    }

    /// Shows that `done` steps are done, with a note such as the loss.
    pub(crate) fn at(&mut self, done: u64, note: impl Display) {
        let total = self.bar.length().unwrap_or(done);
        self.bar.set_message(note.to_string());
        self.bar.set_position(done);
        if let Some(plain) = &mut self.plain {
            plain.at(done, total, &note);
        }
    }

    /// Removes the bar; plain lines stay.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Plain {
    fn at(&mut self, done: u64, total: u64, note: &impl Display) {
        let now = Instant::now();
        let tenth = tenth(done, total);
        if tenth == self.last_tenth && now.duration_since(self.last_line) < self.max_silence {
            return;
        }
        (self.last_tenth, self.last_line, self.max_silence) = (tenth, now, MAX_SILENCE);
        let rate = (done - self.first) as f64 / now.duration_since(self.started).as_secs_f64().max(1e-9);
        let remaining = Duration::from_secs_f64(((total - done) as f64 / rate.max(1e-9)).min(1e9));
        line(format_args!(
            "{} {done}/{total}  {rate:.1}/s  {} left  {note}",
            self.title,
            HumanDuration(remaining)
        ));
    }
}

/// Steps a second, with one decimal.
fn rate(state: &ProgressState, text: &mut dyn fmt::Write) {
    // A bar has no place for an error.
    let _ = write!(text, "{:.1}/s", state.per_sec());
}

fn tenth(done: u64, total: u64) -> u64 {
    done * 10 / total.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        assert_eq!(plain("a\u{1b}[31mb\u{7}\r\n\tρ"), "a\\u{1b}[31mb\\u{7}\\r\n\tρ");
    }
}
