//! Item sets: JSON lines.

use crate::error::{DataError, Error, Result};
use crate::set_options::{EMPTY, EMPTY_ITEM, LONGEST_SET, Named, Sets, SetsFile};
use crate::source::{self, Bytes};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use sketch::sets::ItemSet;

pub(crate) struct SetJson {
    bytes: Bytes,
    file: SetsFile,
    sets: u64,
    line: String,
    /// Where the lists are, once a line was read: a field of objects, or the lines themselves.
    lists: Option<Option<String>>,
}

/// An item, or the name of a set.
#[derive(Deserialize)]
#[serde(untagged)]
enum Word {
    Text(String),
    Natural(u64),
    Whole(i64),
}

impl Word {
    fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Natural(number) => number.to_string(),
            Self::Whole(number) => number.to_string(),
        }
    }
}

/// A word that became an item at once: a line may hold millions.
struct Item(u64);

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Word::deserialize(deserializer)?.text();
        match text.trim() {
            "" => Err(D::Error::custom(EMPTY_ITEM)),
            word => Ok(Self(ItemSet::item(word))),
        }
    }
}

/// The fields of an object, in their order.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(All)
    }
}

const NO_SET: &str =
    "a line is neither a JSON list of texts and whole numbers nor an object with one";

const ELSEWHERE: &str = "its list stands elsewhere than on the lines before: say `items` FIELD for the one that holds items";

const GAP: &str =
    "an empty line stands before a set: it is no set itself; take it out, or write what was lost";

impl SetJson {
    pub(crate) fn open(file: &SetsFile, bytes: Bytes) -> Result<Self> {
        for (given, option) in [
            (file.separator.is_some(), "`separator`"),
            (file.id_first, "`id_first`"),
            (file.header.is_some(), "a choice of headers"),
            (file.set_id.is_some(), "`set_id`"),
        ] {
            if given {
                let text = format!("{option} has no effect: JSON lines hold lists; leave it out");
                return Err(Error::options(text));
            }
        }
        if file.items.len() > 1 {
            return Err(Error::options("`items` names one field of JSON lines"));
        }
        Ok(Self { bytes, file: file.clone(), sets: 0, line: String::new(), lists: None })
    }

    /// Items, and what the set is called.
    fn parse(
        file: &SetsFile,
        lists: &mut Option<Option<String>>,
        text: &str,
    ) -> Result<(Vec<Item>, Option<String>), &'static str> {
        // Lists in another place than before may be of something else.
        let mut place = |field: Option<&str>| {
            let known = lists.get_or_insert_with(|| field.map(str::to_owned));
            if known.as_deref() == field { Ok(()) } else { Err(ELSEWHERE) }
        };
        if text.starts_with('[') {
            place(None)?;
            if file.named().is_some() || !file.items.is_empty() {
                return Err("a line is a list, and `keep_id` and `items` name fields of objects");
            }
            return Ok((items(text)?, None));
        }
        let Fields(fields) = serde_json::from_str(text).map_err(|_| NO_SET)?;
        let one = |name: &str| {
            let mut found = fields.iter().filter(|(field, _)| field == name);
            match (found.next(), found.next()) {
                (Some((_, value)), None) => Ok(*value),
                _ => Err("a line does not have the named field once"),
            }
        };
        let list = match file.items.first() {
            Some(name) => one(name)?,
            None => {
                let mut lists = fields.iter().filter(|(_, value)| value.get().starts_with('['));
                match (lists.next(), lists.next()) {
                    (Some((field, value)), None) => {
                        place(Some(field))?;
                        *value
                    }
                    _ => {
                        return Err(
                            "a line does not have one list: say `items` FIELD for the one that holds items",
                        );
                    }
                }
            }
        };
        let items = items(list.get())?;
        let id = file.named().map(one).transpose()?;
        let word = |raw: &RawValue| serde_json::from_str::<Word>(raw.get()).map(Word::text);
        let id =
            id.map(word).transpose().map_err(|_| "an id is neither a text nor a whole number")?;
        Ok((items, id))
    }
}

/// The items of a list.
fn items(list: &str) -> Result<Vec<Item>, &'static str> {
    let found: Result<Vec<Item>, _> = serde_json::from_str(list);
    found.map_err(|e| if e.to_string().starts_with(EMPTY_ITEM) { EMPTY_ITEM } else { NO_SET })
}

impl Sets for SetJson {
    fn list(&self) -> Option<&str> {
        self.lists.as_ref()?.as_deref()
    }

    fn next(&mut self) -> Result<Option<Named>> {
        let mut gap = false;
        loop {
            self.line.clear();
            let read = source::read_line(&mut self.bytes, &mut self.line, LONGEST_SET);
            let bytes = read.map_err(|e| match e.kind() {
                std::io::ErrorKind::InvalidData => {
                    DataError::of(&self.file.path, "it is not text (UTF-8)").into()
                }
                _ => Error::io(&self.file.path, e),
            })?;
            if bytes == 0 {
                return Ok(None);
            }
            let text = self.line.trim_start_matches('\u{feff}').trim();
            if text.is_empty() {
                gap = true;
                continue;
            }
            let record = self.sets + 1;
            if gap {
                return Err(self.file.refused(GAP, record));
            }
            let parsed = Self::parse(&self.file, &mut self.lists, text);
            let refused = |rule: &str| self.file.refused(rule, record);
            let (items, id) = parsed.map_err(refused)?;
            let set = ItemSet::new(items.into_iter().map(|item| item.0).collect());
            let set = set.map_err(|_| refused(EMPTY))?;
            self.sets += 1;
            return Ok(Some(Named { set, id, bytes }));
        }
    }
}
