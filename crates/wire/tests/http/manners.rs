//! Cookies and redirects, each as a table.

use wire::http::{Astray, Jar, follow, is_redirect, request_line};

/// The header field that a jar writes after these answers to requests for `/shop/cart?n=1`.
fn sent(set: &[&str], target: &str, secure: bool) -> String {
    let mut jar = Jar::default();
    for set in set {
        jar.take(set.as_bytes(), b"/shop/cart?n=1");
    }
    let mut out = Vec::new();
    jar.write(target.as_bytes(), secure, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn cookies_are_sent_back_where_they_belong() {
    for (set, target, expected) in [
        (&[][..], "/", ""),
        (&["a=1; Path=/"], "/", "Cookie: a=1\r\n"),
        (&["a=1; path=/", "b=2; Path=/; HttpOnly"], "/x?y=z", "Cookie: a=1; b=2\r\n"),
        // A value is what stands there, quotes and equals signs included.
        (&["a=\"x=y\"; Path=/"], "/", "Cookie: a=\"x=y\"\r\n"),
        (&["  a = 1 ;Path=/"], "/", "Cookie: a=1\r\n"),
        (&["a=; Path=/"], "/", "Cookie: a=\r\n"),
        // The same name and path again replaces it, at its place.
        (&["a=1; Path=/", "b=2; Path=/", "a=3; Path=/"], "/", "Cookie: a=3; b=2\r\n"),
        // Without a path it belongs to the folder of what was asked.
        (&["a=1"], "/shop/item", "Cookie: a=1\r\n"),
        (&["a=1"], "/shop", "Cookie: a=1\r\n"),
        (&["a=1"], "/shopping", ""),
        (&["a=1; Path=no"], "/", ""),
        // Longer paths go first.
        (&["a=1; Path=/", "b=2; Path=/shop"], "/shop/x", "Cookie: b=2; a=1\r\n"),
        // Taken back.
        (&["a=1; Path=/", "b=2; Path=/", "a=; Path=/; Max-Age=0"], "/", "Cookie: b=2\r\n"),
        (&["a=1; Path=/", "a=; Path=/; Max-Age=-1"], "/", ""),
        (&["a=1; Path=/", "a=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], "/", ""),
        (
            &["a=1; Path=/; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT"],
            "/",
            "Cookie: a=1\r\n",
        ),
        (&["a=1; Path=/; Max-Age=soon"], "/", "Cookie: a=1\r\n"),
        (&["a=1; Path=/", "a=; Path=/; Max-Age=0", "c=3; Path=/"], "/", "Cookie: c=3\r\n"),
        // What is none.
        (&["", "novalue", "=1", "a=1\x07"], "/", ""),
    ] {
        assert_eq!(sent(set, target, false), expected, "{set:?} for {target}");
    }
    let secure = &["a=1; Path=/; Secure"];
    assert_eq!(
        (sent(secure, "/", false).as_str(), sent(secure, "/", true).as_str()),
        ("", "Cookie: a=1\r\n")
    );
}

#[test]
fn a_jar_is_of_limited_size() {
    let mut jar = Jar::default();
    for number in 0..10_000 {
        jar.take(format!("n{number}=1; Path=/").as_bytes(), b"/");
    }
    jar.take(format!("big={}; Path=/", "x".repeat(100_000)).as_bytes(), b"/");
    let mut out = Vec::new();
    jar.write(b"/", false, &mut out);
    assert_eq!(String::from_utf8(out).unwrap().matches('=').count(), 64);
}

const GET: &str = "GET /a/b?c=d HTTP/1.1\r\nHost: shop:8080\r\nX-Id: 1\r\n\r\n";

#[test]
fn a_location_is_read_against_what_was_asked() {
    for (location, expected) in [
        ("/x", Ok("/x")),
        ("/x?y=z#part", Ok("/x?y=z")),
        ("x", Ok("/a/x")),
        ("x/y", Ok("/a/x/y")),
        ("../x", Ok("/x")),
        ("../../../x", Ok("/x")),
        ("./x/../y/.", Ok("/a/y/")),
        ("/x/..", Ok("/")),
        ("?n=1", Ok("/a/b?n=1")),
        ("#part", Ok("/a/b?c=d")),
        ("  /x ", Ok("/x")),
        ("/a b/\u{e9}", Ok("/a%20b/%C3%A9")),
        ("http://shop:8080/x", Ok("/x")),
        ("HTTP://SHOP:8080", Ok("/")),
        ("http://shop:8080?n=1", Ok("/?n=1")),
        ("//shop:8080/x", Ok("/x")),
        ("http://shop/x", Err(Astray::Elsewhere)),
        ("http://other:8080/x", Err(Astray::Elsewhere)),
        ("http://user@shop:8080/x", Err(Astray::Elsewhere)),
        ("https://shop:8080/x", Err(Astray::Elsewhere)),
        ("mailto:someone", Err(Astray::Elsewhere)),
        ("http:/x", Err(Astray::Nowhere)),
    ] {
        let mut out = Vec::new();
        let followed = follow(GET.as_bytes(), 302, location.as_bytes(), false, &mut out);
        assert_eq!(followed, expected.map(|_| ()), "{location}");
        if let Ok(target) = expected {
            let request = format!("GET {target} HTTP/1.1\r\nHost: shop:8080\r\nX-Id: 1\r\n\r\n");
            assert_eq!(String::from_utf8(out).unwrap(), request, "{location}");
        } else {
            assert!(out.is_empty(), "{location}");
        }
    }
    // A port that goes without saying is the same port.
    let mut out = Vec::new();
    let asked = b"GET / HTTP/1.1\r\nHost: shop:443\r\n\r\n";
    follow(asked, 301, b"https://shop/x", true, &mut out).unwrap();
    assert_eq!(request_line(&out), Some((&b"GET"[..], &b"/x"[..])));
}

#[test]
fn what_was_posted_is_sent_again_where_the_status_insists() {
    let asked = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\
                 \r\nhi";
    let again = asked.replace("/a", "/b");
    let plain = "GET /b HTTP/1.1\r\nHost: h\r\n\r\n";
    for (status, method, expected) in [
        (301, "POST", plain),
        (302, "POST", plain),
        (303, "POST", plain),
        (307, "POST", again.as_str()),
        (308, "POST", again.as_str()),
        (303, "PUT", plain),
        (302, "PUT", again.as_str()),
    ] {
        assert!(is_redirect(status));
        let mut out = Vec::new();
        let asked = asked.replace("POST", method);
        follow(asked.as_bytes(), status, b"/b", false, &mut out).unwrap();
        let expected = expected.replace("POST", method);
        assert_eq!(String::from_utf8(out).unwrap(), expected, "{status} to {method}");
    }
    let mut out = Vec::new();
    follow(b"HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n", 303, b"/b", false, &mut out).unwrap();
    assert!(out.starts_with(b"HEAD /b "));
    assert!([200, 300, 304, 305, 404].iter().all(|&status| !is_redirect(status)));
}
