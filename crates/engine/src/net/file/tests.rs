//! Orders on a pipe, which answers when the test wants it to.

use std::io::{PipeWriter, Write};
use std::os::fd::OwnedFd;

use base::clock::monotonic_ns;

use super::*;
use crate::file::result_of;

/// What was delivered.
#[derive(Default)]
struct Heard(Vec<String>);

impl<'a> Handler<Orders<'a>> for Heard {
    fn on(&mut self, _: &mut Orders<'a>, event: Event<'_>) {
        self.0.push(match event {
            Event::Connected(link) => format!("{link} is there"),
            Event::Data(link, bytes) => {
                let (result, read) = result_of(bytes).unwrap();
                format!("{link} has {result}: {}", String::from_utf8_lossy(read))
            }
            Event::Lost(link, fault) => format!("{link} is lost: {fault}"),
        });
    }
}

/// Listens until something is heard, for so long at most.
fn listen(disk: &mut Disk<'_>, longest: Nanos) -> Vec<String> {
    let mut heard = Heard::default();
    let last = Io::now(disk.io()) + longest;
    while heard.0.is_empty() && Io::now(disk.io()) < last {
        let now = Io::now(disk.io());
        disk.wait(now, last).unwrap();
        disk.deliver(&mut heard);
    }
    heard.0
}

fn order(disk: &mut Disk<'_>, link: Link) {
    disk.io().send(link, &Order { verb: Verb::Read, length: 512, offset: 0 }.bytes());
}

const LONG: Nanos = Nanos(10_000_000_000);

fn on_a_pipe(test: impl FnOnce(&mut Disk<'_>, &mut PipeWriter)) {
    if let Err(why) = probe(Waiting::Sleep) {
        return eprintln!("skipped: {why}");
    }
    let (reader, mut writer) = std::io::pipe().unwrap();
    let file = File::from(OwnedFd::from(reader));
    let clock = Clock { origin_monotonic_ns: monotonic_ns() };
    let mut disk = Disk::new(clock, &file, 2, 512, Waiting::Sleep).unwrap();
    disk.io().connect(0, 0);
    disk.io().connect(1, 0);
    assert_eq!(listen(&mut disk, LONG), ["0 is there", "1 is there"]);
    test(&mut disk, &mut writer);
}

#[test]
fn orders_are_answered_by_whoever_gave_them() {
    on_a_pipe(|disk, writer| {
        for (link, text) in [(1, "one"), (0, "two"), (0, "three"), (1, "four")] {
            order(disk, link);
            writer.write_all(text.as_bytes()).unwrap();
            assert_eq!(listen(disk, LONG), [format!("{link} has {}: {text}", text.len())]);
        }
    });
}

#[test]
fn an_order_that_was_given_up_is_waited_for_before_the_next() {
    on_a_pipe(|disk, writer| {
        order(disk, 0);
        disk.io().close(0);
        disk.io().connect(0, 0);
        assert!(listen(disk, Nanos(20_000_000)).is_empty(), "the order is still under way");
        disk.io().close(0);
        disk.io().connect(0, 0);
        writer.write_all(b"late").unwrap();
        assert_eq!(listen(disk, LONG), ["0 is there"], "nobody wants the late answer");
        order(disk, 0);
        writer.write_all(b"new").unwrap();
        assert_eq!(listen(disk, LONG), ["0 has 3: new"]);
    });
}

#[test]
fn what_comes_for_a_connection_that_is_gone_is_nobodys() {
    on_a_pipe(|disk, writer| {
        order(disk, 1);
        disk.io().close(1);
        writer.write_all(b"late").unwrap();
        assert!(listen(disk, Nanos(20_000_000)).is_empty());
        disk.io().connect(1, 0);
        assert_eq!(listen(disk, LONG), ["1 is there"]);
    });
}
