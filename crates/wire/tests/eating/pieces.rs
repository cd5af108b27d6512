//! Bytes in pieces, as a socket may deliver them.

/// Cuts `bytes` into pieces of the lengths in `cuts`, repeated as often as needed.
pub fn pieces<'a>(bytes: &'a [u8], cuts: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = bytes;
    let mut cuts = cuts.iter().copied().cycle();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, behind) = rest.split_at(cuts.next()?.clamp(1, rest.len()));
        rest = behind;
        Some(piece)
    })
}
