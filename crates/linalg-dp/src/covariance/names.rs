//! Names of columns, in the certificate.

use crate::error::{Error, Result};
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::{Certificate, PublicValue};

/// Name of the public parameter that lists them, as a JSON array.
pub(super) const NAMES: &str = "columns";
/// Most bytes of one.
const LONGEST: usize = 256;

/// The names of the columns of a covariance, where they were given ([`super::CovarianceStream::name_columns`]).
///
/// # Errors
/// [`Error::Core`] for a list that is not one of d different names.
pub fn column_names(certificate: &Certificate) -> Result<Option<Vec<String>>> {
    of(certificate.statement())
}

pub(super) fn of(statement: &Statement) -> Result<Option<Vec<String>>> {
    let (text, dim) = match (statement.public.get(NAMES), statement.public.get("d")) {
        (None, _) => return Ok(None),
        (Some(PublicValue::Text(text)), Some(PublicValue::Integer(dim))) => (text, *dim as usize),
        _ => return Err(Error::rejected(NAMES, "not a list of names")),
    };
    let names: Vec<String> =
        serde_json::from_str(text).map_err(|_| Error::rejected(NAMES, "not a list of names"))?;
    check(&names, dim).map_err(|_| Error::rejected(NAMES, "not d different names"))?;
    Ok(Some(names))
}

/// Name of the public parameter that names the target of a regression.
const TARGET: &str = "target";

/// What names of d features and a target are stated as.
pub(crate) fn name_features(names: &[String], dim: usize) -> Result<PublicParameters> {
    check(names, dim + 1)?;
    let (features, target) = names.split_at(dim);
    let target = target.concat().into();
    Ok([(NAMES.to_owned(), stated(features)), (TARGET.to_owned(), target)].into())
}

/// Checks the names of features and of a target, where a certificate states any.
pub(crate) fn check_features(statement: &Statement) -> Result<()> {
    let names = of(statement)?;
    match (names, statement.public.get(TARGET)) {
        (None, None) => Ok(()),
        (Some(mut names), Some(PublicValue::Text(target))) => {
            names.push(target.clone());
            check(&names, names.len())
                .map_err(|_| Error::rejected(TARGET, "no name beside those of the features"))
        }
        _ => Err(Error::rejected(TARGET, "named without the features, or they without it")),
    }
}

pub(super) fn stated(names: &[String]) -> PublicValue {
    serde_json::Value::from(names.to_vec()).to_string().into()
}

pub(super) fn check(names: &[String], dim: usize) -> Result<()> {
    if names.len() != dim {
        return Err(Error::invalid("names of columns", names.len(), format!("d = {dim} of them")));
    }
    let bad = |name: &&String| {
        name.is_empty() || name.len() > LONGEST || name.chars().any(char::is_control)
    };
    if let Some(at) = names.iter().position(|name| bad(&name)) {
        let allowed = "1 to 256 bytes without control characters";
        return Err(Error::invalid("name of column", at + 1, allowed));
    }
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    match sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        true => Err(Error::invalid("names of columns", "two equal ones", "different names")),
        false => Ok(()),
    }
}
