//! Where a reader stood when the bytes were over, for the protocols whose readers can tell.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending<E> {
    /// Between two messages.
    Clean,
    /// Within a message.
    Waiting,
    Broken(E),
}
