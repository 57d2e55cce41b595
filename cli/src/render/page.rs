//! Text for people, safe by construction: everything that is put on a page is escaped, and colour
//! comes only from here.

use super::escape;
use unicode_width::UnicodeWidthChar as _;

/// How a piece of text looks on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tint {
    /// As it is.
    Plain,
    /// What the eye should find first.
    Strong,
    /// What can be skipped.
    Faint,
    /// All is well.
    Good,
    /// Look at this.
    Warning,
    /// Something is wrong.
    Bad,
}

impl Tint {
    const fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "\u{1b}[1m",
            Self::Faint => "\u{1b}[2m",
            Self::Good => "\u{1b}[32m",
            Self::Warning => "\u{1b}[33m",
            Self::Bad => "\u{1b}[31m",
        }
    }
}

/// The most columns of a terminal that a cell of a table takes; `--json` has all of it.
const CELL_COLUMNS_MAX: usize = 80;
const RESET: &str = "\u{1b}[0m";

/// Human output in the making. Every string that it is given may come from a stranger.
#[derive(Debug, Default)]
pub(crate) struct Page {
    text: String,
    colour: bool,
}

impl Page {
    /// An empty page, with colour or without.
    pub(crate) fn new(colour: bool) -> Self {
        Self {
            text: String::new(),
            colour,
        }
    }

    /// One line of text.
    pub(crate) fn line(&mut self, text: &str) {
        self.spans(&[(Tint::Plain, text)]);
    }

    /// One line made of pieces.
    pub(crate) fn spans(&mut self, spans: &[(Tint, &str)]) {
        for (tint, text) in spans {
            self.tinted(*tint, &escape::line(text));
        }
        self.text.push('\n');
    }

    /// Text of several lines, such as an answer; it ends with a newline.
    pub(crate) fn block(&mut self, text: &str) {
        self.text.push_str(&escape::block(text));
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// Text of several lines, each behind a margin, so that no line of it passes for one of ours.
    pub(crate) fn quoted(&mut self, text: &str) {
        for line in escape::block(text).lines() {
            self.text.push_str("       ");
            self.text.push_str(line);
            let end = self.text.trim_end_matches(' ').len();
            self.text.truncate(end);
            self.text.push('\n');
        }
    }

    /// Names and values, aligned; an empty value is left out.
    pub(crate) fn fields(&mut self, fields: &[(&str, &str)]) {
        let kept = fields.iter().filter(|(_, value)| !value.is_empty());
        let width = kept
            .clone()
            .map(|(name, _)| name.chars().count())
            .max()
            .unwrap_or_default();
        for (name, value) in kept {
            self.tinted(Tint::Faint, &format!("{name:width$}"));
            self.text.push_str("  ");
            self.text.push_str(&escape::line(value));
            self.text.push('\n');
        }
    }

    /// Rows under a header, aligned by display width, without borders. Without rows: nothing.
    pub(crate) fn table<const COLUMNS: usize>(
        &mut self,
        header: [&str; COLUMNS],
        rows: impl IntoIterator<Item = [String; COLUMNS]>,
    ) {
        let rows = rows.into_iter();
        self.lay_out(header, rows.map(|row| row.map(|cell| cell_of(&cell))));
    }

    /// The same with cells of any width, for what is typed again, such as the paths of files.
    pub(crate) fn wide_table<const COLUMNS: usize>(
        &mut self,
        header: [&str; COLUMNS],
        rows: impl IntoIterator<Item = [String; COLUMNS]>,
    ) {
        let rows = rows.into_iter();
        self.lay_out(header, rows.map(|row| row.map(|cell| escape::line(&cell))));
    }

    /// The cells are already escaped.
    fn lay_out<const COLUMNS: usize>(
        &mut self,
        header: [&str; COLUMNS],
        rows: impl Iterator<Item = [String; COLUMNS]>,
    ) {
        let mut table = comfy_table::Table::new();
        table
            .load_style(comfy_table::presets::NOTHING)
            .set_content_arrangement(comfy_table::ContentArrangement::Disabled)
            .set_header(header);
        for row in rows {
            table.add_row(row);
        }
        if table.is_empty() {
            return;
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        for (at, line) in table.lines().enumerate() {
            let tint = if at == 0 { Tint::Faint } else { Tint::Plain };
            self.tinted(tint, line.trim_end());
            self.text.push('\n');
        }
    }

    /// The finished text.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// `text` is already escaped.
    fn tinted(&mut self, tint: Tint, text: &str) {
        if self.colour && tint != Tint::Plain && !text.is_empty() {
            self.text.push_str(tint.code());
            self.text.push_str(text);
            self.text.push_str(RESET);
        } else {
            self.text.push_str(text);
        }
    }
}

/// A cell as it is shown: names are chosen by strangers, and one must not push all others off the screen.
fn cell_of(text: &str) -> String {
    let mut shown = escape::line(text);
    // How far what fits beside an ellipsis goes; marks without a width stay with their letter.
    let (mut width, mut kept) = (0, 0);
    for (at, letter) in shown.char_indices() {
        width += letter.width().unwrap_or_default();
        if width < CELL_COLUMNS_MAX {
            kept = at + letter.len_utf8();
        } else if width > CELL_COLUMNS_MAX {
            shown.truncate(kept);
            shown.push('…');
            break;
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{CELL_COLUMNS_MAX, Page, Tint};
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn a_cell_is_cut_by_its_width_with_an_ellipsis_and_one_that_just_fits_is_not() {
        let shown = |text: &str, times: usize| {
            let cell = super::cell_of(&text.repeat(times));
            let cut = cell.strip_suffix('…');
            let width = UnicodeWidthStr::width(cell.as_str());
            (cut.unwrap_or(&cell).chars().count(), width, cut.is_some())
        };

        let rows = [
            shown("ä", CELL_COLUMNS_MAX),
            shown("ä", CELL_COLUMNS_MAX + 1),
            // Two columns each.
            shown("天", CELL_COLUMNS_MAX / 2),
            shown("天", CELL_COLUMNS_MAX / 2 + 1),
            shown("天", 300),
            // A letter and a mark above it.
            shown("a\u{301}", CELL_COLUMNS_MAX),
            shown("a\u{301}", CELL_COLUMNS_MAX + 1),
        ];

        let (max, half) = (CELL_COLUMNS_MAX, CELL_COLUMNS_MAX / 2);
        assert_eq!(
            rows,
            [
                (max, max, false),
                (max - 1, max, true),
                (half, max, false),
                (half - 1, max - 1, true),
                (half - 1, max - 1, true),
                (2 * max, max, false),
                (2 * (max - 1), max, true),
            ]
        );
    }

    #[test]
    fn a_wide_table_cuts_nothing_and_escapes_all() {
        let mut page = Page::new(false);
        let path = "x".repeat(300);

        page.wide_table(
            ["file", "bytes"],
            [[format!("{path}\u{1b}[2K"), "1".to_owned()]],
        );

        let text = page.into_text();
        assert!(text.contains(&format!("{path}\\u{{1b}}[2K  1")), "{text}");
    }

    #[test]
    fn a_table_is_aligned_by_display_width_and_has_no_trailing_space() {
        let mut page = Page::new(false);

        page.table(
            ["alias", "name"],
            [
                ["ada".to_owned(), "天気\u{1b}[2K".to_owned()],
                ["b".to_owned(), String::new()],
            ],
        );
        page.table(
            ["天", "x"],
            [
                ["a".to_owned(), "1".to_owned()],
                ["天天".to_owned(), "2".to_owned()],
            ],
        );
        page.table(["nothing"], []);

        insta::assert_snapshot!(page.into_text(), @r"
        alias  name
        ada    天気\u{1b}[2K
        b
        天    x
        a     1
        天天  2
        ");
    }

    #[test]
    fn fields_are_aligned_and_empty_ones_left_out() {
        let mut page = Page::new(false);

        page.fields(&[("alias", "ada"), ("notes", ""), ("base url", "http://h/\n")]);

        insta::assert_snapshot!(page.into_text(), @r"
        alias     ada
        base url  http://h/\n
        ");
    }

    #[test]
    fn colour_surrounds_text_that_is_escaped_first() {
        let mut page = Page::new(true);

        page.spans(&[(Tint::Bad, "fail"), (Tint::Plain, " \u{1b}[0m")]);

        assert_eq!(page.into_text(), "\u{1b}[31mfail\u{1b}[0m \\u{1b}[0m\n");
    }
}
