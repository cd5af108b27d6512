//! What is asked of a directory.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An LDAP request. Names and values are templates; a value that mentions a list stands for as many
/// values as the list has elements. A value within a name is escaped, one that is all of it is not.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LdapRequest {
    /// Looks for entries.
    Search {
        /// The distinguished name of the entry at which the search begins.
        base: String,
        /// How far it goes.
        #[serde(default)]
        scope: Scope,
        /// Which entries, as RFC 4515 writes it; values are bound to their assertions. An
        /// assertion within `(|…)` or `(&…)` that mentions a list stands for one for each element.
        #[serde(default = "LdapRequest::default_filter")]
        filter: String,
        /// The attributes that are wanted; all when empty.
        #[serde(default)]
        attributes: Vec<String>,
        /// The most entries that are wanted, 0 for any number.
        #[serde(default)]
        size_limit: u32,
    },
    /// Changes an entry: values go, then come, then take the place of others.
    Modify {
        /// The entry's distinguished name.
        dn: String,
        /// Values that go, by attribute; all where none is named.
        #[serde(default)]
        delete: BTreeMap<String, Vec<String>>,
        /// Values that come, by attribute.
        #[serde(default)]
        add: BTreeMap<String, Vec<String>>,
        /// Values that take the place of all, by attribute.
        #[serde(default)]
        replace: BTreeMap<String, Vec<String>>,
    },
    /// Adds an entry.
    Add {
        /// The entry's distinguished name.
        dn: String,
        /// Its values, by attribute.
        attributes: BTreeMap<String, Vec<String>>,
    },
    /// Deletes an entry.
    Delete {
        /// The entry's distinguished name.
        dn: String,
    },
}

/// How far below its base a search goes.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The base alone.
    Base,
    /// What stands right below it.
    One,
    /// The base and all below it.
    #[default]
    Sub,
}

impl LdapRequest {
    fn default_filter() -> String {
        "(objectClass=*)".to_owned()
    }

    /// Every template, with its path below the operation.
    pub(super) fn templates(&self) -> Vec<(String, &str)> {
        let path = |rest: &str| format!("request.ldap.{rest}");
        match self {
            LdapRequest::Search { base, filter, .. } => {
                vec![(path("search.base"), base), (path("search.filter"), filter)]
            }
            LdapRequest::Modify { dn, delete, add, replace } => {
                let mut all: Vec<(String, &str)> = vec![(path("modify.dn"), dn)];
                all.extend(values(path("modify.delete"), delete));
                all.extend(values(path("modify.add"), add));
                all.extend(values(path("modify.replace"), replace));
                all
            }
            LdapRequest::Add { dn, attributes } => {
                let mut all: Vec<(String, &str)> = vec![(path("add.dn"), dn)];
                all.extend(values(path("add.attributes"), attributes));
                all
            }
            LdapRequest::Delete { dn } => vec![(path("delete.dn"), dn)],
        }
    }
}

/// The values of attributes, with their paths.
fn values(
    path: String,
    attributes: &BTreeMap<String, Vec<String>>,
) -> impl Iterator<Item = (String, &str)> {
    attributes.iter().flat_map(move |(name, values)| {
        let path = format!("{path}.{name}");
        let texts = values.iter().enumerate();
        texts.map(|(i, text)| (format!("{path}[{i}]"), text.as_str())).collect::<Vec<_>>()
    })
}
