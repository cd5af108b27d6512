//! A request as it is sent: what is the same each time is written once.

use std::collections::BTreeMap;

use wire::ldap::{self, Change, Form, Invalid, Piece, Search};

use crate::drivers::command::elements;
use crate::error::PlanError;
use crate::plan::{self, LdapRequest};
use crate::template::{Part, Template, Values};
use crate::values::ValueId;
use crate::workload::{Client, OperationInfo, Program};

/// A compiled request.
#[derive(Clone, Debug)]
pub struct Request {
    /// It, with places for its values.
    pub form: Form,
    /// What ends its answer.
    pub kind: Kind,
    /// The attributes that a search names: the columns of its rows.
    pub columns: Vec<Vec<u8>>,
    /// Whether a search wants only so many entries.
    pub limited: bool,
}

/// What is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    #[default]
    Search,
    Modify,
    Add,
    Delete,
}

/// A client's values, for a form.
pub struct Bound<'a>(pub &'a Client);

impl ldap::Values for Bound<'_> {
    #[inline]
    fn append(&self, value: ValueId, out: &mut Vec<u8>) {
        self.0.drawn(value).render(out);
    }

    fn elements(&self, list: ValueId) -> &[i64] {
        elements(self.0, list)
    }
}

impl Request {
    /// Compiles an operation, which must be a request of a directory.
    pub fn compile(program: &Program, operation: &OperationInfo) -> Result<Request, PlanError> {
        let plan::Request::Ldap(request) = &operation.plan.request else {
            let why = "the driver `ldap` speaks `ldap` requests alone";
            return Err(PlanError::new(format!("{}.request", operation.field), "", why));
        };
        let texts = Texts { program, operation };
        let (mut columns, mut limited) = (Vec::new(), false);
        let (kind, form) = match request {
            LdapRequest::Search { base, scope, filter, attributes, size_limit } => {
                columns.extend(attributes.iter().map(|name| name.as_bytes().to_vec()));
                limited = *size_limit > 0;
                (Kind::Search, texts.search(base, *scope, filter, attributes, *size_limit)?)
            }
            LdapRequest::Modify { dn, delete, add, replace } => {
                let named = texts.template("modify.dn", dn)?;
                let all = [
                    (Change::Delete, texts.attributes("modify.delete", delete)?),
                    (Change::Add, texts.attributes("modify.add", add)?),
                    (Change::Replace, texts.attributes("modify.replace", replace)?),
                ];
                let mut changes = Vec::new();
                for (change, attributes) in &all {
                    for (name, values) in attributes {
                        let values = values.iter().map(|value| texts.pieces(value)).collect();
                        changes.push((*change, *name, values));
                    }
                }
                let form = Form::modify(&texts.pieces(&named), &changes);
                (Kind::Modify, texts.sound("modify", dn, form)?)
            }
            LdapRequest::Add { dn, attributes } => {
                let named = texts.template("add.dn", dn)?;
                let all = texts.attributes("add.attributes", attributes)?;
                let attributes: Vec<_> = all
                    .iter()
                    .map(|(name, values)| {
                        (*name, values.iter().map(|value| texts.pieces(value)).collect())
                    })
                    .collect();
                let form = Form::add(&texts.pieces(&named), &attributes);
                (Kind::Add, texts.sound("add", dn, form)?)
            }
            LdapRequest::Delete { dn } => {
                let named = texts.template("delete.dn", dn)?;
                (Kind::Delete, texts.sound("delete", dn, Form::delete(&texts.pieces(&named)))?)
            }
        };
        Ok(Request { form, kind, columns, limited })
    }
}

/// Compiles the texts of an operation.
struct Texts<'a> {
    program: &'a Program,
    operation: &'a OperationInfo,
}

/// Attributes and the templates of their values.
type Attributes<'a> = Vec<(&'a str, Vec<Template>)>;

impl Texts<'_> {
    fn field(&self, key: &str) -> String {
        format!("{}.request.ldap.{key}", self.operation.field)
    }

    fn template(&self, key: &str, text: &str) -> Result<Template, PlanError> {
        self.program.template(text, &self.field(key))
    }

    fn attributes<'a>(
        &self,
        key: &str,
        attributes: &'a BTreeMap<String, Vec<String>>,
    ) -> Result<Attributes<'a>, PlanError> {
        let compile = |(name, values): (&'a String, &'a Vec<String>)| {
            let key = format!("{key}.{name}");
            let values = values.iter().map(|text| self.template(&key, text));
            Ok((name.as_str(), values.collect::<Result<_, _>>()?))
        };
        attributes.iter().map(compile).collect()
    }

    fn search(
        &self,
        base: &str,
        scope: plan::Scope,
        filter: &str,
        attributes: &[String],
        size_limit: u32,
    ) -> Result<Form, PlanError> {
        let (of_base, of_filter) =
            (self.template("search.base", base)?, self.template("search.filter", filter)?);
        let attributes: Vec<&str> = attributes.iter().map(String::as_str).collect();
        let search = Search {
            base: &self.pieces(&of_base),
            scope: match scope {
                plan::Scope::Base => ldap::Scope::Base,
                plan::Scope::One => ldap::Scope::One,
                plan::Scope::Sub => ldap::Scope::Sub,
            },
            filter: &self.pieces(&of_filter),
            attributes: &attributes,
            size_limit,
        };
        self.sound("search.filter", filter, Form::search(&search))
    }

    /// A text's stretches; a list that the operation does not go through stands for its elements.
    fn pieces<'t>(&self, template: &'t Template) -> Vec<Piece<'t>> {
        let of = |part: &'t Part| match part {
            Part::Literal(text) => Piece::Text(text),
            Part::ValueId(id) => {
                let list = self.program.list_len(*id).is_some();
                let whole = list && self.operation.each != Some(*id);
                if whole { Piece::List(*id) } else { Piece::Value(*id) }
            }
        };
        template.parts().iter().map(of).collect()
    }

    fn sound(
        &self,
        key: &str,
        value: &str,
        form: Result<Form, Invalid>,
    ) -> Result<Form, PlanError> {
        form.map_err(|Invalid(why)| PlanError::new(self.field(key), value, why))
    }
}
