//! Sans-IO protocol codecs: bytes in, bytes out.
