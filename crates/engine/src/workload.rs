//! What is asked: a compiled mix of transactions as a step function, one client at a time.
//!
//! `step(client, reply)` says what a client does next: send an operation, wait, or end its
//! transaction. Absent: when transactions start (`schedule`), how requests are written and answers
//! checked (the drivers), and any clock or socket.
#![allow(clippy::inline_always, reason = "each transaction takes these few instructions")]

use base::Nanos;
use base::random::{Key, Weights};
use tally::{Kind, Layout, Outcome, Series};

use crate::error::PlanError;
use crate::plan::{self, Request, Seeds};
use crate::template::{Piece, Template, Values, pieces, variable};
use crate::values::{Current, Drawn, Generator, Names, Turn, ValueId, ordinal};

/// The longest text of a value; every client has room for each of its values.
const LONGEST_TEXT: usize = 64 << 20;

/// The index of an operation among the program's.
pub type OperationIndex = usize;

/// What a client does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sends this operation.
    Send(OperationIndex),
    /// Pauses within its transaction; a compiled mix never does.
    Wait(Nanos),
    /// Its transaction has ended.
    End(Outcome),
}

/// A transaction of the program.
#[derive(Clone, Debug)]
pub struct TransactionInfo {
    /// Its name.
    pub name: String,
    /// Where it is counted.
    pub series: Series,
    /// Its operations, in order.
    pub operations: std::ops::Range<OperationIndex>,
    /// The values it needs, each after those it is made from.
    draws: Vec<ValueId>,
}

/// An operation of the program.
#[derive(Clone, Debug)]
pub struct OperationInfo {
    /// As the Plan has it.
    pub plan: plan::Operation,
    /// Its path in the Plan.
    pub field: String,
    /// Where it is counted.
    pub series: Series,
    /// The index of its transaction.
    pub transaction: usize,
    /// The list it is asked for each element of.
    pub each: Option<ValueId>,
    /// The values that are drawn anew before it is sent, since they follow the element.
    redraws: Vec<ValueId>,
}

impl OperationInfo {
    /// Whether it is asked once for each element of its list, and not once for all of them.
    pub fn is_stepped(&self) -> bool {
        self.each.is_some() && !matches!(self.plan.request, Request::Copy(_))
    }
}

/// A workload, compiled; immutable and shared by all workers.
#[derive(Clone, Debug)]
pub struct Program {
    names: Names,
    generators: Vec<Generator>,
    /// By value: the greatest length it is written with.
    longest: Vec<usize>,
    transactions: Vec<TransactionInfo>,
    operations: Vec<OperationInfo>,
    mix: Weights,
    mix_stream: Key,
}

/// One client: its number, its current transaction and that one's values. It allocates nothing
/// after it is made.
#[derive(Clone, Debug)]
pub struct Client {
    number: u32,
    clients: u32,
    n: u64,
    transaction: usize,
    operation: OperationIndex,
    values: Current,
}

impl Client {
    /// Its number within the whole trial.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The ordinal of its current transaction.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// The ordinal of its current transaction among those of all clients, without gaps when each
    /// does its share.
    pub fn ordinal(&self) -> u64 {
        ordinal(self.turn())
    }

    fn turn(&self) -> Turn {
        Turn { client: self.number, clients: self.clients, n: self.n }
    }

    /// The index of its current transaction.
    pub fn transaction(&self) -> usize {
        self.transaction
    }

    /// The element that follows the current one in the list the operation goes through.
    #[inline]
    fn next_element(&self) -> Option<(ValueId, usize)> {
        let (list, element) = self.values.each?;
        (element + 1 < self.values.list(list).len()).then_some((list, element + 1))
    }
}

impl Values for Client {
    /// What the value is now; within a `for_each`, its list stands for the element.
    #[inline]
    fn drawn(&self, id: ValueId) -> Drawn<'_> {
        self.values.drawn(id)
    }
}

/// Text or bytes with a key, as a driver that has no program checks what it gets.
#[derive(Clone, Debug)]
pub struct Keyed {
    /// The value it belongs to.
    pub key: ValueId,
    generator: Generator,
}

impl Keyed {
    /// Whether `found` is what belongs to `key`: any version of it, where it has versions. Uses up
    /// what `room` holds.
    pub fn holds(&self, key: Drawn<'_>, found: &[u8], room: &mut Vec<u8>) -> bool {
        self.generator.holds(key, found, room)
    }
}

impl Program {
    /// Compiles a workload and adds its names to the layout.
    pub fn compile(
        workload: &plan::Workload,
        seeds: &Seeds,
        layout: &mut Layout,
    ) -> Result<Program, PlanError> {
        let names = Names::new(workload.values.keys().cloned());
        let compiled = workload
            .values
            .iter()
            .map(|(name, value)| Generator::compile(name, value, seeds, &names));
        let generators = compiled.collect::<Result<Vec<_>, _>>()?;
        let order = order(&names, &generators)?;
        let longest = longest(&names, &generators, &order)?;
        let weights: Vec<f64> = workload.transactions.iter().map(|t| t.weight).collect();
        let mut program = Program {
            names,
            generators,
            longest,
            transactions: Vec::new(),
            operations: Vec::new(),
            mix: Weights::new(&weights),
            mix_stream: Key::new(seeds.keys, "mix"),
        };
        for (index, transaction) in workload.transactions.iter().enumerate() {
            program.add(index, transaction, &order, layout)?;
        }
        Ok(program)
    }

    fn add(
        &mut self,
        index: usize,
        transaction: &plan::Transaction,
        order: &[ValueId],
        layout: &mut Layout,
    ) -> Result<(), PlanError> {
        let first = self.operations.len();
        let mut needed = Vec::new();
        for (position, operation) in transaction.operations.iter().enumerate() {
            let field = format!("workload.transactions[{index}].operations[{position}]");
            let each = operation
                .for_each
                .as_ref()
                .map(|list| self.list(list, &format!("{field}.for_each")))
                .transpose()?;
            let needs = self.closure(self.mentioned(operation, &field)?, order);
            self.check_keys(&needs, each, &field)?;
            needed.push(needs);
            self.operations.push(OperationInfo {
                plan: operation.clone(),
                series: layout.add(Kind::Operation, &operation.name),
                transaction: index,
                each,
                redraws: Vec::new(),
                field,
            });
        }
        // A value made from a list that any operation goes through changes with the element, so it
        // is drawn for each operation that needs it; the others are drawn once a transaction.
        let lists: Vec<ValueId> =
            self.operations[first..].iter().filter_map(|op| op.each).collect();
        let follows = |id: &ValueId| {
            !lists.contains(id)
                && self.closure(vec![*id], order).iter().any(|need| lists.contains(need))
        };
        let mut all: Vec<ValueId> = needed.iter().flatten().chain(&lists).copied().collect();
        all = self.closure(all, order);
        let (_, draws): (Vec<ValueId>, Vec<ValueId>) = all.into_iter().partition(&follows);
        let redraws: Vec<Vec<ValueId>> =
            needed.into_iter().map(|needs| needs.into_iter().filter(&follows).collect()).collect();
        for (operation, redraws) in self.operations[first..].iter_mut().zip(redraws) {
            operation.redraws = redraws;
        }
        self.transactions.push(TransactionInfo {
            name: transaction.name.clone(),
            series: layout.add(Kind::Transaction, &transaction.name),
            operations: first..self.operations.len(),
            draws,
        });
        Ok(())
    }

    /// The values that must be drawn before the operation can be sent and its answer checked.
    fn mentioned(
        &self,
        operation: &plan::Operation,
        field: &str,
    ) -> Result<Vec<ValueId>, PlanError> {
        let mut ids = Vec::new();
        for (key, text) in operation.templates() {
            let field = format!("{field}.{key}");
            for piece in pieces(text, &field)? {
                if let Piece::Mention(name) = piece
                    && variable(name).is_none()
                {
                    ids.push(self.names.find(name, &field, text)?);
                }
            }
        }
        Ok(ids)
    }

    /// These values and all they are made from, each after those it is made from.
    fn closure(&self, mut ids: Vec<ValueId>, order: &[ValueId]) -> Vec<ValueId> {
        let mut wanted = vec![false; self.generators.len()];
        while let Some(id) = ids.pop() {
            if !std::mem::replace(&mut wanted[id], true) {
                ids.extend(self.generators[id].needs());
            }
        }
        order.iter().copied().filter(|&id| wanted[id]).collect()
    }

    /// Text derived from a list has a meaning only where the list stands for one element.
    fn check_keys(
        &self,
        needs: &[ValueId],
        each: Option<ValueId>,
        field: &str,
    ) -> Result<(), PlanError> {
        for &id in needs {
            let key = self.generators[id].key();
            let Some(list) = key.filter(|&key| self.generators[key].list_len().is_some()) else {
                continue;
            };
            if each != Some(list) {
                let (name, list) = (self.names.name(id), self.names.name(list));
                let why = format!(
                    "`{name}` is derived from each element of the list `{list}`, so an operation \
                     that mentions it needs `for_each: {list}`"
                );
                return Err(PlanError::new(field, "", why));
            }
        }
        Ok(())
    }

    /// The id of a value that must be a list.
    pub fn list(&self, name: &str, field: &str) -> Result<ValueId, PlanError> {
        let id = self.names.find(name, field, name)?;
        match self.generators[id].list_len() {
            Some(_) => Ok(id),
            None => Err(PlanError::new(field, name, format!("`{name}` is not a list"))),
        }
    }

    /// The id of a value that must be text or bytes with a key.
    pub fn keyed_value(&self, name: &str, field: &str) -> Result<ValueId, PlanError> {
        let id = self.names.find(name, field, name)?;
        match self.generators[id].key() {
            Some(_) => Ok(id),
            None => Err(PlanError::new(
                field,
                name,
                format!("`{name}` is not text or bytes with a key"),
            )),
        }
    }

    /// Compiles a template over this workload's values.
    pub fn template(&self, text: &str, field: &str) -> Result<Template, PlanError> {
        Template::compile(text, &self.names, field)
    }

    /// The id of `name`, which `text`, the Plan's `field`, mentions.
    pub fn id(&self, name: &str, field: &str, text: &str) -> Result<ValueId, PlanError> {
        self.names.find(name, field, text)
    }

    /// The name of a value.
    pub fn name(&self, id: ValueId) -> &str {
        self.names.name(id)
    }

    /// The greatest number of elements of a list value; `None` where the value is not a list.
    pub fn list_len(&self, id: ValueId) -> Option<usize> {
        self.generators[id].list_len()
    }

    /// The greatest length a value is written with.
    pub fn longest(&self, id: ValueId) -> usize {
        self.longest[id]
    }

    /// How what is found for a key is held against the keyed value of this name.
    pub fn keyed_check(&self, name: &str, field: &str) -> Result<Keyed, PlanError> {
        let generator = &self.generators[self.keyed_value(name, field)?];
        let key = generator.key().ok_or_else(|| PlanError::new(field, name, "has no key"))?;
        Ok(Keyed { key, generator: generator.clone() })
    }

    /// Whether `found` is what the keyed value of `id` may be for `key`: any version of it, where
    /// it has versions. Uses up what `room` holds.
    pub fn holds(&self, id: ValueId, key: Drawn<'_>, found: &[u8], room: &mut Vec<u8>) -> bool {
        self.generators[id].holds(key, found, room)
    }

    /// What the keyed value of `id` is for `key`; replaces what `out` holds.
    pub fn keyed(&self, id: ValueId, key: Drawn<'_>, out: &mut Vec<u8>) {
        self.generators[id].keyed(key, out);
    }

    /// The transactions.
    pub fn transactions(&self) -> &[TransactionInfo] {
        &self.transactions
    }

    /// The operations of all transactions.
    pub fn operations(&self) -> &[OperationInfo] {
        &self.operations
    }

    /// Client `number` of the trial's `clients`.
    pub fn client(&self, number: u32, clients: u32) -> Client {
        let cell = |(id, generator): (ValueId, &Generator)| generator.cell(self.longest(id));
        Client {
            number,
            clients,
            n: 0,
            transaction: 0,
            operation: 0,
            values: Current {
                cells: self.generators.iter().enumerate().map(cell).collect(),
                each: None,
            },
        }
    }

    /// Where the `n`th transaction of the client of this number is counted, without drawing it.
    #[inline]
    pub fn series(&self, number: u32, n: u64) -> Series {
        self.transactions[self.choose(number, n)].series
    }

    #[inline]
    fn choose(&self, number: u32, n: u64) -> usize {
        if self.transactions.len() == 1 {
            return 0;
        }
        self.mix.sample(&mut self.mix_stream.draws(number, n))
    }

    /// Draws the client's `n`th transaction and its values.
    #[inline(always)]
    pub fn begin(&self, client: &mut Client, n: u64) -> &TransactionInfo {
        client.n = n;
        client.transaction = self.choose(client.number, n);
        client.values.each = None;
        let transaction = &self.transactions[client.transaction];
        self.draw(client, &transaction.draws);
        transaction
    }

    /// What the client does next, given how its last operation ended; `None` begins its
    /// transaction. An operation that did not end ok ends the transaction with its outcome.
    #[inline(always)]
    pub fn step(&self, client: &mut Client, reply: Option<Outcome>) -> Step {
        match reply {
            None => {
                let first = self.transactions[client.transaction].operations.start;
                self.arrive(client, first)
            }
            Some(Outcome::Ok) => {
                if let Some(after) = client.next_element() {
                    return self.send(client, Some(after));
                }
                self.arrive(client, client.operation + 1)
            }
            Some(outcome) => Step::End(outcome),
        }
    }

    /// Whether the client's current operation is the first that its transaction sends.
    pub fn is_first(&self, client: &Client) -> bool {
        let start = self.transactions[client.transaction].operations.start;
        client.values.each.is_none_or(|(_, element)| element == 0)
            && (start..client.operation).all(|earlier| self.is_skipped(client, earlier))
    }

    /// Whether the client's current operation is the last that its transaction sends.
    pub fn is_last(&self, client: &Client) -> bool {
        let end = self.transactions[client.transaction].operations.end;
        client.next_element().is_none()
            && (client.operation + 1..end).all(|later| self.is_skipped(client, later))
    }

    /// An operation for each element of an empty list is not sent at all.
    fn is_skipped(&self, client: &Client, operation: OperationIndex) -> bool {
        self.operations[operation].each.is_some_and(|list| client.values.list(list).is_empty())
    }

    #[inline(always)]
    fn arrive(&self, client: &mut Client, mut operation: OperationIndex) -> Step {
        let end = self.transactions[client.transaction].operations.end;
        while operation < end {
            client.operation = operation;
            if !self.is_skipped(client, operation) {
                let stepped = &self.operations[operation];
                let each = stepped.each.filter(|_| stepped.is_stepped()).map(|list| (list, 0));
                return self.send(client, each);
            }
            operation += 1;
        }
        Step::End(Outcome::Ok)
    }

    #[inline(always)]
    fn send(&self, client: &mut Client, each: Option<(ValueId, usize)>) -> Step {
        client.values.each = each;
        let operation = &self.operations[client.operation];
        if each.is_some() || operation.each.is_none() {
            self.draw(client, &operation.redraws);
        }
        Step::Send(client.operation)
    }

    /// Gives the client as it is at each element of the list that an operation asks for as a
    /// whole.
    pub fn for_each(
        &self,
        client: &Client,
        operation: OperationIndex,
        mut give: impl FnMut(&Client),
    ) {
        let operation = &self.operations[operation];
        let Some(list) = operation.each else { return };
        let mut client = client.clone();
        for element in 0..client.values.list(list).len() {
            client.values.each = Some((list, element));
            self.draw(&mut client, &operation.redraws);
            give(&client);
        }
    }

    #[inline]
    fn draw(&self, client: &mut Client, ids: &[ValueId]) {
        let turn = client.turn();
        for &id in ids {
            self.generators[id].draw(id, &mut client.values, turn);
        }
    }
}

/// An order of the values in which each comes after those it is made from.
fn order(names: &Names, generators: &[Generator]) -> Result<Vec<ValueId>, PlanError> {
    let mut order: Vec<ValueId> = Vec::with_capacity(generators.len());
    let mut placed = vec![false; generators.len()];
    while order.len() < generators.len() {
        let ready = (0..generators.len())
            .find(|&id| !placed[id] && generators[id].needs().iter().all(|&need| placed[need]));
        let Some(id) = ready else {
            let stuck = placed.iter().position(|&placed| !placed).unwrap_or_default();
            let name = names.name(stuck);
            let why = "values are made from one another in a circle, this one among them or made \
                       from them";
            return Err(PlanError::new(format!("workload.values.{name}"), "", why));
        };
        placed[id] = true;
        order.push(id);
    }
    Ok(order)
}

/// The greatest length of each value's text; one that no client has room for is refused.
fn longest(
    names: &Names,
    generators: &[Generator],
    order: &[ValueId],
) -> Result<Vec<usize>, PlanError> {
    let mut longest = vec![0; generators.len()];
    for &id in order {
        longest[id] = generators[id].longest(&|need| longest[need]);
        if longest[id] > LONGEST_TEXT {
            let why = format!("up to {} characters; at most {LONGEST_TEXT}", longest[id]);
            return Err(PlanError::new(format!("workload.values.{}", names.name(id)), "", why));
        }
    }
    Ok(longest)
}

#[cfg(test)]
mod tests;
