//! Commands made of arguments, as Redis and memcached are asked.
//!
//! An argument is a template. One that mentions a list, `k:${ids}`, stands for as many arguments as
//! the list has elements, unless the operation is asked `for_each` of them. Absent: how a protocol
//! writes its arguments.

use crate::error::PlanError;
use crate::plan::Request;
use crate::template::{Template, Values};
use crate::values::{Drawn, ValueId};
use crate::workload::{Client, OperationInfo, Program};

/// An argument of a command, or several.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its text; where there is a list, that of one element.
    pub template: Template,
    /// The list of whose elements it is made, one argument each.
    pub list: Option<ValueId>,
}

/// The arguments of an operation, its name first.
pub fn arguments(
    program: &Program,
    operation: &OperationInfo,
    driver: &str,
) -> Result<Vec<Argument>, PlanError> {
    let field = format!("{}.request.command", operation.field);
    let Request::Command(words) = &operation.plan.request else {
        let why = format!("the driver `{driver}` speaks commands alone");
        return Err(PlanError::new(format!("{}.request", operation.field), "", why));
    };
    if words.is_empty() {
        return Err(PlanError::new(field, "[]", "a command has at least a name"));
    }
    let argument = |(index, text): (usize, &String)| {
        let field = format!("{field}[{index}]");
        let template = program.template(text, &field)?;
        let is_list = |id: &ValueId| program.list_len(*id).is_some() && operation.each != Some(*id);
        let mut lists: Vec<ValueId> = template.ids().filter(is_list).collect();
        lists.dedup();
        if lists.len() > 1 {
            let why = "an argument is made of the elements of one list alone";
            return Err(PlanError::new(field, text, why));
        }
        Ok(Argument { template, list: lists.pop() })
    };
    let arguments: Vec<Argument> =
        words.iter().enumerate().map(argument).collect::<Result<_, _>>()?;
    if arguments[0].template.constant().is_none_or(<[u8]>::is_empty) {
        let why = "the name of a command does not vary";
        return Err(PlanError::new(format!("{field}[0]"), &words[0], why));
    }
    Ok(arguments)
}

/// The elements of a list value.
pub fn elements(client: &Client, list: ValueId) -> &[i64] {
    match client.drawn(list) {
        Drawn::List(elements) => elements,
        _ => &[],
    }
}

/// A client's values, with a list standing for one of its elements.
pub struct Element<'a> {
    /// Whose values they are.
    pub client: &'a Client,
    /// The list.
    pub list: ValueId,
    /// The element.
    pub element: i64,
}

impl Values for Element<'_> {
    fn drawn(&self, id: ValueId) -> Drawn<'_> {
        if id == self.list { Drawn::Integer(self.element) } else { self.client.drawn(id) }
    }
}
