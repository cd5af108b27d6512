//! Where servers listen, and the sockets that go there.
//!
//! TCP over IPv4 and IPv6, and Unix-domain streams. Absent from it: names and how a URL spells
//! them, which drivers resolve, and when to connect.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use socket2::{SockAddr, Socket, Type};

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A port of an IPv4 or IPv6 address.
    Tcp(SocketAddr),
    /// A Unix-domain socket's path.
    Unix(PathBuf),
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Address {
        Address::Tcp(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// An address as the kernel takes it.
pub(super) struct Target {
    pub at: SockAddr,
    is_tcp: bool,
}

impl Target {
    /// Fails where a path is longer than the kernel takes.
    pub fn new(address: &Address) -> io::Result<Target> {
        Ok(match address {
            Address::Tcp(address) => Target { at: (*address).into(), is_tcp: true },
            Address::Unix(path) => Target { at: SockAddr::unix(path)?, is_tcp: false },
        })
    }

    /// All of them.
    pub fn all(addresses: &[Address]) -> io::Result<Vec<Target>> {
        addresses.iter().map(Target::new).collect()
    }

    /// A socket that does not block, not connected yet.
    pub fn socket(&self) -> io::Result<Socket> {
        let socket = Socket::new(self.at.domain(), Type::STREAM.nonblocking().cloexec(), None)?;
        if self.is_tcp {
            socket.set_tcp_nodelay(true)?;
        }
        Ok(socket)
    }

    /// Begins to connect; says whether that is done already, as with Unix-domain sockets, of which
    /// those whose server is behind with accepting are refused at once.
    pub fn connect(&self, socket: &Socket) -> io::Result<bool> {
        match socket.connect(&self.at) {
            Ok(()) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether connecting takes the network's time.
    pub fn is_tcp(&self) -> bool {
        self.is_tcp
    }
}

/// Writes as much as the kernel takes at once.
pub(super) fn write(socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
    let mut sent = 0;
    while sent < bytes.len() {
        match socket.send_with_flags(&bytes[sent..], libc::MSG_NOSIGNAL) {
            Ok(count) => sent += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sent)
}
