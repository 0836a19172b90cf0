//! What an adjacency protects and what it does not, in words.

use crate::adjacency::Adjacency;

/// What is protected, in one sentence.
pub(super) fn protected(adjacency: Adjacency) -> String {
    let of = match adjacency.each() {
        Adjacency::Attribute { beta } => format!(
            "one value of one row: nobody who knows all the rest tells it from another value at most {beta} \
             away better than stated"
        ),
        Adjacency::RowShift { l2 } => format!(
            "one row against every row within the distance {l2} of it (l2): nobody who knows all other rows \
             tells the two apart better than stated"
        ),
        Adjacency::AddRemoveRow { bound } => format!(
            "the presence of one row of norm at most {bound}: nobody who knows all other rows tells whether it \
             is in the data better than stated"
        ),
        Adjacency::ZeroRow { bound } => format!(
            "all that one row of norm at most {bound} says: nobody who knows all other rows tells it from an \
             empty row better than stated"
        ),
        Adjacency::ReplaceRow { bound } => format!(
            "all that one row of norm at most {bound} says: nobody who knows all other rows tells it from any \
             other such row better than stated"
        ),
        Adjacency::SetItems { alpha, min_size } => format!(
            "up to {alpha} items of one set (of at least {min_size}): nobody who knows all the rest tells which \
             of them are in it better than stated"
        ),
        _ => "all that one set or row says: nobody who knows all others tells it from any other better than \
              stated"
            .to_owned(),
    };
    match adjacency.rows() {
        1 => of,
        rows => format!("up to {rows} rows of one user at once, and of each of them {of}"),
    }
}

/// What is not, one point each.
pub(super) fn not_protected(adjacency: Adjacency) -> Vec<&'static str> {
    const WHOLE: &str = "what many values of a row say together (which digit an image shows, what a text is \
        about): they may well be guessed from the release";
    const PRESENCE: &str = "that a row is in the data, and how many there are";
    const COUNT: &str = "how many rows there are, and their order";
    let mut points = match adjacency.each() {
        Adjacency::Attribute { .. } => vec![WHOLE, PRESENCE, "a value against one farther away"],
        Adjacency::RowShift { .. } => vec!["a row against one farther away", PRESENCE],
        Adjacency::AddRemoveRow { .. } => {
            vec!["a row that is replaced by another: that is two changes"]
        }
        Adjacency::ZeroRow { .. } => {
            vec!["a row that is replaced by another: that is two changes", COUNT]
        }
        Adjacency::SetItems { .. } => {
            vec!["what many items of a set say together: they may well be guessed", PRESENCE]
        }
        _ => vec![COUNT],
    };
    points.push(match adjacency.rows() {
        1 => "several rows of one person: each of them adds",
        _ => "whose the rows are, and more rows of one person than are named",
    });
    points.push(
        "what is true of people in general, and follows for somebody who is not in the data too",
    );
    points.push("what other releases of the same data say: a ledger adds them up");
    points
}
