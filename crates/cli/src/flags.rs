//! How flags are read, and texts of the readers in their words.

use clap::{Command, Parser};
use std::ffi::OsString;

/// Reads the arguments. A number may be negative everywhere: the option that takes it says what it takes.
pub(crate) fn parsed<P: Parser>(
    words: impl IntoIterator<Item = OsString>,
) -> Result<P, clap::Error> {
    let mut parser = negative(P::command());
    let mut found = parser.try_get_matches_from_mut(words)?;
    P::from_arg_matches_mut(&mut found).map_err(|error| error.format(&mut parser))
}

fn negative(command: Command) -> Command {
    let of = |arg: clap::Arg| {
        let takes = arg.get_action().takes_values();
        arg.allow_negative_numbers(takes)
    };
    command.mut_args(of).mut_subcommands(negative)
}

/// A text of the readers in the words of this command line: options between backticks become flags.
pub(crate) fn with_flags(text: &str) -> String {
    /// What is not simply the name of the field.
    const FLAGS: [(&str, &str); 20] = [
        ("`header` true", "--header"),
        ("`header` false", "--no-header"),
        ("`leave_out`", "--id"),
        ("`id_first`", "--id-first"),
        ("`norm`", "--norm-bound"),
        ("lift the rows instead", "use --lift instead"),
        ("`clip`", "--clip"),
        ("`columns`", "--columns"),
        ("`delimiter`", "--delimiter"),
        ("`divide`", "--divide"),
        ("`features`", "--features"),
        ("`format`", "--format"),
        ("`items`", "--items"),
        ("`keep`", "--keep"),
        ("`keep_id`", "--keep-id"),
        ("`missing`", "--missing"),
        ("`preprocess`", "--preprocess"),
        ("`separator`", "--separator"),
        ("`set_id`", "--set-id"),
        ("`users`", "--user"),
    ];
    FLAGS.iter().fold(text.to_owned(), |text, (option, flag)| text.replace(option, flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_option_of_the_readers_is_left_in_backticks() {
        let sources = [
            include_str!("../../readers/src/bounds.rs"),
            include_str!("../../readers/src/columnar.rs"),
            include_str!("../../readers/src/columns.rs"),
            include_str!("../../readers/src/csv.rs"),
            include_str!("../../readers/src/items.rs"),
            include_str!("../../readers/src/open.rs"),
            include_str!("../../readers/src/column_ids.rs"),
            include_str!("../../readers/src/column_numbers.rs"),
            include_str!("../../readers/src/options.rs"),
            include_str!("../../readers/src/set_columns.rs"),
            include_str!("../../readers/src/set_json.rs"),
            include_str!("../../readers/src/set_lines.rs"),
            include_str!("../../readers/src/set_options.rs"),
            include_str!("../../readers/src/set_table.rs"),
            include_str!("../../readers/src/several.rs"),
            include_str!("../../readers/src/svmlight.rs"),
        ];
        let known = ["`tab`", "`space`"];
        let mut options = 0;
        for line in sources.iter().flat_map(|s| s.lines()) {
            // Names in comments stand in brackets or are items; texts name options.
            if line.trim_start().starts_with("//") {
                continue;
            }
            options += line.matches('`').count() / 2;
            let text = known.iter().fold(with_flags(line), |text, word| text.replace(word, ""));
            assert!(!text.contains('`'), "{text}");
        }
        assert!(options > 20, "{options} options are named");
    }
}
