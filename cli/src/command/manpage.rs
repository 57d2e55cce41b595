//! `missive manpage [COMMAND]`: a page in roff that is made from the clap tree alone.

use crate::failure::Failure;
use crate::suggest;
use missive_commands::Exit;

/// The page of a command, whose words are given; of missive itself without any.
pub(super) fn page(words: &[String]) -> Result<Vec<u8>, Failure> {
    let mut tree = crate::args::tree();
    tree.build();
    let mut place = &tree;
    for word in words {
        let Some(below) = place.find_subcommand(word) else {
            let known: Vec<&str> = place
                .get_subcommands()
                .map(clap::Command::get_name)
                .collect();
            let what = format!("`{}` has no command `{word}`", place.get_name());
            return Err(Failure::new(Exit::NotFound, what)
                .detail("command")
                .hint_if(suggest::hint(word, "command", &known)));
        };
        place = below;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(place.clone())
        .render(&mut page)
        .map_err(|error| Failure::io("the page cannot be made", &error))?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::page;

    #[test]
    fn every_command_has_a_page_and_a_mistyped_one_is_told() {
        let whole = String::from_utf8(page(&[]).unwrap()).unwrap();
        let words = ["events".to_owned(), "list".to_owned()];
        let below = String::from_utf8(page(&words).unwrap()).unwrap();

        assert!(
            whole.starts_with(".ie") && whole.contains("flight recorder"),
            "{whole}"
        );
        assert!(below.contains("missive\\-events\\-list"), "{below}");
        assert_eq!(page(&["evens".to_owned()]).unwrap_err().exit().number(), 66);
    }
}
