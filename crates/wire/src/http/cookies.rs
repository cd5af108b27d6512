//! Cookies as a user agent keeps them for one host (RFC 6265).
//!
//! Absent: other hosts, so `Domain` says nothing, and a clock: a cookie lasts for as long as the
//! jar, unless it is set with a `Max-Age` that is not positive or with an `Expires` in 1970, which
//! is how servers take one back.

/// More cookies are not kept, nor longer ones.
const MOST_COOKIES: usize = 64;
const MOST_BYTES: usize = 4096;

/// The cookies of one client at one host. Room that a cookie had is used for later ones.
#[derive(Clone, Debug, Default)]
pub struct Jar {
    /// Those with longer paths first, as they are sent; behind the kept ones, spare room.
    cookies: Vec<Cookie>,
    kept: usize,
}

#[derive(Clone, Debug, Default)]
struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    path: Vec<u8>,
    secure: bool,
}

/// What a `Set-Cookie` says.
struct Set<'a> {
    name: &'a [u8],
    value: &'a [u8],
    path: Option<&'a [u8]>,
    secure: bool,
    gone: bool,
}

impl Jar {
    /// Takes the value of a `Set-Cookie` of the answer to a request for `target`. What is no
    /// cookie is passed over.
    pub fn take(&mut self, set: &[u8], target: &[u8]) {
        let Some(set) = Set::read(set) else { return };
        let path = set.path.unwrap_or_else(|| folder(target));
        let same = |cookie: &Cookie| cookie.name == set.name && cookie.path == path;
        let known = self.cookies[..self.kept].iter().position(same);
        match known {
            Some(index) if set.gone => {
                self.cookies[index..self.kept].rotate_left(1);
                self.kept -= 1;
            }
            Some(index) => self.cookies[index].fill(&set, path),
            None if set.gone || self.kept == MOST_COOKIES => {}
            None => self.add(&set, path),
        }
    }

    fn add(&mut self, set: &Set<'_>, path: &[u8]) {
        if self.kept == self.cookies.len() {
            self.cookies.push(Cookie::default());
        }
        self.cookies[self.kept].fill(set, path);
        let shorter = |cookie: &Cookie| cookie.path.len() < path.len();
        let place = self.cookies[..self.kept].iter().position(shorter).unwrap_or(self.kept);
        self.kept += 1;
        self.cookies[place..self.kept].rotate_right(1);
    }

    /// Appends the header field `Cookie`, its line end included, of a request for `target`;
    /// nothing where no cookie belongs to it.
    pub fn write(&self, target: &[u8], secure: bool, out: &mut Vec<u8>) {
        let path = path(target);
        let belongs = |cookie: &&Cookie| covers(&cookie.path, path) && (secure || !cookie.secure);
        for (index, cookie) in self.cookies[..self.kept].iter().filter(belongs).enumerate() {
            out.extend_from_slice(if index == 0 { b"Cookie: " } else { b"; " });
            out.extend_from_slice(&cookie.name);
            out.push(b'=');
            out.extend_from_slice(&cookie.value);
        }
        if self.cookies[..self.kept].iter().any(|cookie| belongs(&cookie)) {
            out.extend_from_slice(b"\r\n");
        }
    }
}

impl Cookie {
    fn fill(&mut self, set: &Set<'_>, path: &[u8]) {
        for (room, text) in
            [(&mut self.name, set.name), (&mut self.value, set.value), (&mut self.path, path)]
        {
            room.clear();
            room.extend_from_slice(text);
        }
        self.secure = set.secure;
    }
}

impl<'a> Set<'a> {
    /// What it says (RFC 6265, 5.2); `None` where it is to be passed over.
    fn read(text: &'a [u8]) -> Option<Set<'a>> {
        let misplaced = |&byte: &u8| byte != b'\t' && byte.is_ascii_control();
        if text.len() > MOST_BYTES || text.iter().any(misplaced) {
            return None;
        }
        let mut parts = text.split(|&byte| byte == b';');
        let (name, value) = pair(parts.next()?);
        let value = value?;
        if name.is_empty() {
            return None;
        }
        let mut set = Set { name, value, path: None, secure: false, gone: false };
        let mut age = None;
        let mut expired = false;
        for part in parts {
            let (attribute, value) = pair(part);
            let value = value.unwrap_or_default();
            if attribute.eq_ignore_ascii_case(b"path") {
                set.path = value.starts_with(b"/").then_some(value);
            } else if attribute.eq_ignore_ascii_case(b"secure") {
                set.secure = true;
            } else if attribute.eq_ignore_ascii_case(b"max-age") {
                let digits = value.strip_prefix(b"-").unwrap_or(value);
                if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) {
                    age = Some(value.len() == digits.len() && digits.iter().any(|&d| d != b'0'));
                }
            } else if attribute.eq_ignore_ascii_case(b"expires") {
                expired = value.windows(4).any(|year| year == b"1970");
            }
        }
        // `Max-Age` wins over `Expires`.
        set.gone = age.map_or(expired, |lasts| !lasts);
        Some(set)
    }
}

fn pair(part: &[u8]) -> (&[u8], Option<&[u8]>) {
    match part.iter().position(|&byte| byte == b'=') {
        Some(at) => (part[..at].trim_ascii(), Some(part[at + 1..].trim_ascii())),
        None => (part.trim_ascii(), None),
    }
}

/// A target without its query.
pub(super) fn path(target: &[u8]) -> &[u8] {
    let end = target.iter().position(|&byte| byte == b'?').unwrap_or(target.len());
    &target[..end]
}

/// The path of a cookie that says none (RFC 6265, 5.1.4).
fn folder(target: &[u8]) -> &[u8] {
    match path(target).iter().rposition(|&byte| byte == b'/') {
        None | Some(0) => b"/",
        Some(at) => &target[..at],
    }
}

/// Whether a cookie's path covers a request's (RFC 6265, 5.1.4).
fn covers(cookie: &[u8], path: &[u8]) -> bool {
    path.strip_prefix(cookie)
        .is_some_and(|rest| rest.is_empty() || cookie.ends_with(b"/") || rest.starts_with(b"/"))
}
