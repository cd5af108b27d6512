//! What the kernel's answers mean.
//!
//! Absent from it: what follows for the worker, who is told.

use std::io;

use io_uring::cqueue;

use super::Links;
use crate::net::uring::buffers::Buffers;
use crate::net::uring::slot::{Kind, Phase, Tag};
use crate::net::uring::{Event, Fault, Handler, Io, Loss};

impl Links {
    pub(super) fn take_in(&mut self) -> io::Result<()> {
        while let Some(answer) = self.ring.next()? {
            let tag = Tag::of(answer.user_data());
            match tag.kind {
                Kind::Connect | Kind::Receive => self.found.push(answer),
                Kind::Send => self.cut_short(tag, answer.result()),
                Kind::LongSend => self.sent_at_last(tag, answer.result()),
                Kind::Cancel => {}
            }
        }
        Ok(())
    }

    /// A send could not send all: what is left waits for room.
    fn cut_short(&mut self, tag: Tag, result: i32) {
        let slot = &mut self.slots[tag.link as usize];
        if !slot.is_current(tag.generation) {
            return;
        }
        match result {
            0.. => slot.out.drain(..result as usize),
            _ if result == -libc::EAGAIN || result == -libc::EINTR => slot.out.drain(..0),
            _ => return self.lost.push((tag.link, tag.generation, Fault::Os(-result))),
        };
        std::mem::swap(&mut slot.held, &mut slot.out);
        self.list(tag.link);
    }

    /// A send that waited for room is over.
    fn sent_at_last(&mut self, tag: Tag, result: i32) {
        let slot = &mut self.slots[tag.link as usize];
        if !slot.is_current(tag.generation) {
            let number = tag.number();
            return self.orphans.retain(|(of, _)| *of != number);
        }
        slot.sending = false;
        match result {
            0.. => slot.held.drain(..result as usize),
            _ if result == -libc::EAGAIN || result == -libc::EINTR => slot.held.drain(..0),
            _ => return self.lost.push((tag.link, tag.generation, Fault::Os(-result))),
        };
        if !(slot.held.is_empty() && slot.out.is_empty()) {
            self.list(tag.link);
        }
    }

    /// Delivers what an answer means.
    pub(in crate::net::uring) fn deliver(
        &mut self,
        answer: &cqueue::Entry,
        buffers: &mut Buffers,
        handler: &mut impl Handler<Links>,
    ) {
        let tag = Tag::of(answer.user_data());
        if self.is_current(tag.link, tag.generation) {
            match tag.kind {
                Kind::Connect => self.connected(tag, answer.result(), handler),
                _ => self.received(tag, answer, buffers, handler),
            }
        }
        // Also what came for a connection that is no more took a buffer.
        if let Some(id) = cqueue::buffer_select(answer.flags()) {
            buffers.give(id);
        }
    }

    fn connected(&mut self, tag: Tag, result: i32, handler: &mut impl Handler<Links>) {
        if result < 0 {
            return self.lose((tag.link, tag.generation, Fault::Os(-result)), handler);
        }
        self.slots[tag.link as usize].phase = Phase::Up;
        self.up += 1;
        self.list(tag.link);
        handler.on(self, Event::Connected(tag.link));
    }

    fn received(
        &mut self,
        tag: Tag,
        answer: &cqueue::Entry,
        buffers: &Buffers,
        handler: &mut impl Handler<Links>,
    ) {
        let Tag { link, generation, .. } = tag;
        if !cqueue::more(answer.flags()) {
            self.slots[link as usize].receiving = false;
            self.list(link);
        }
        let fault = match (answer.result(), cqueue::buffer_select(answer.flags())) {
            (length @ 1.., Some(id)) => {
                let bytes = buffers.received(id, length as usize);
                return handler.on(self, Event::Data(link, bytes));
            }
            (0.., _) => Fault::Closed,
            // All buffers were taken, and are given again by now.
            (result, _) if result == -libc::ENOBUFS || result == -libc::EINTR => return,
            (result, _) => Fault::Os(-result),
        };
        self.lose((link, generation, fault), handler);
    }

    pub(in crate::net::uring) fn lose(
        &mut self,
        (link, generation, fault): Loss,
        handler: &mut impl Handler<Links>,
    ) {
        if self.slots[link as usize].generation == generation {
            self.close(link);
            handler.on(self, Event::Lost(link, fault));
        }
    }
}
