//! Requests as they are written, read by another's codec.

use bytes::BytesMut;
use ldap3_proto::LdapCodec;
use ldap3_proto::proto::{
    LdapBindCred, LdapFilter, LdapMatchingRuleAssertion, LdapModifyType, LdapOp, LdapSearchScope,
    LdapSubstringFilter,
};
use proptest::prelude::*;
use tokio_util::codec::Decoder;
use wire::ldap::{
    Asked, Change, Form, Invalid, Piece, Scope, Search, Values, bind, start_tls, unbind,
};

use crate::told;

/// Values by number, and one list.
struct Given<'a> {
    texts: &'a [&'a [u8]],
    list: &'a [i64],
}

impl Values for Given<'_> {
    fn append(&self, value: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(self.texts[value]);
    }

    fn elements(&self, _list: usize) -> &[i64] {
        self.list
    }
}

const NONE: Given<'static> = Given { texts: &[], list: &[] };

/// Pieces of a text in which `{0}` is a value and `[9]` a list.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '[']) {
        let number = rest[at + 1..=at + 1].parse().unwrap();
        let list = rest[at..].starts_with('[');
        if at > 0 {
            pieces.push(Piece::Text(&rest.as_bytes()[..at]));
        }
        pieces.push(if list { Piece::List(number) } else { Piece::Value(number) });
        rest = &rest[at + 3..];
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.as_bytes()));
    }
    pieces
}

fn written(form: &Form, values: &Given<'_>) -> Vec<u8> {
    let mut out = b"before".to_vec();
    form.write(70_000, values, &mut out);
    out.split_off(6)
}

/// What another's codec reads from the bytes, all of which are one message.
fn oracle(bytes: &[u8]) -> LdapOp {
    let mut input = BytesMut::from(bytes);
    let codec = LdapCodec::new(Some(1 << 20), None).decode(&mut input);
    let message = codec.unwrap().unwrap();
    assert!(input.is_empty());
    assert_eq!(message.msgid, 70_000);
    message.op
}

fn search<'a>(filter: &'a [Piece<'a>]) -> Search<'a> {
    Search {
        base: &[Piece::Text(b"o=x")],
        scope: Scope::Sub,
        filter,
        attributes: &["uid", "1.1"],
        size_limit: 0,
    }
}

fn filter(text: &str, values: &Given<'_>) -> Result<LdapFilter, Invalid> {
    let form = Form::search(&search(&pieces(text)))?;
    match oracle(&written(&form, values)) {
        LdapOp::SearchRequest(search) => Ok(search.filter),
        other => panic!("{other:?}"),
    }
}

fn is(name: &str, value: &str) -> LdapFilter {
    LdapFilter::Equality(name.to_owned(), value.to_owned())
}

fn substring(initial: Option<&str>, any: &[&str], last: Option<&str>) -> LdapFilter {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let any = any.iter().map(|&text| text.to_owned()).collect();
    let parts = LdapSubstringFilter { initial: owned(initial), any, final_: owned(last) };
    LdapFilter::Substring("cn".to_owned(), parts)
}

fn by_rule(name: Option<&str>, names: bool, rule: Option<&str>) -> LdapFilter {
    LdapFilter::Extensible(LdapMatchingRuleAssertion {
        matching_rule: rule.map(str::to_owned),
        type_: name.map(str::to_owned),
        match_value: "v".to_owned(),
        dn_attributes: names,
    })
}

#[test]
fn filters_mean_what_rfc_4515_says() {
    use LdapFilter::{And, Approx, GreaterOrEqual, LessOrEqual, Not, Or, Present};

    let text = |text: &str| text.to_owned();
    let values = Given { texts: &[b"17", b"*)(uid=*", b"\\"], list: &[1, -20] };
    let long = "x".repeat(300);
    for (written, expected) in [
        ("(uid=17)", is("uid", "17")),
        ("(uid=)", is("uid", "")),
        ("(2.5.4.3;lang-en=Ann b)", is("2.5.4.3;lang-en", "Ann b")),
        (r"(cn=\28a\29\2a\5cb\c3\a9)", is("cn", r"(a)*\bé")),
        ("(cn=a=b)", is("cn", "a=b")),
        ("(objectClass=*)", Present(text("objectClass"))),
        ("(uid>=5)", GreaterOrEqual(text("uid"), text("5"))),
        ("(uid<=5)", LessOrEqual(text("uid"), text("5"))),
        ("(uid~=5)", Approx(text("uid"), text("5"))),
        ("(cn=a*)", substring(Some("a"), &[], None)),
        ("(cn=*a)", substring(None, &[], Some("a"))),
        ("(cn=*a*)", substring(None, &["a"], None)),
        ("(cn=a*b*c*d)", substring(Some("a"), &["b", "c"], Some("d"))),
        ("(cn={0}*b{1})", substring(Some("17"), &[], Some("b*)(uid=*"))),
        ("(cn:=v)", by_rule(Some("cn"), false, None)),
        ("(cn:2.4.6:=v)", by_rule(Some("cn"), false, Some("2.4.6"))),
        ("(cn:dn:=v)", by_rule(Some("cn"), true, None)),
        ("(cn:dn:caseExactMatch:=v)", by_rule(Some("cn"), true, Some("caseExactMatch"))),
        ("(:DN:2.4.6:=v)", by_rule(None, true, Some("2.4.6"))),
        ("(&(a=1)(b=2))", And(vec![is("a", "1"), is("b", "2")])),
        (" ( & (a=1)\n ( | (b={0}) ) ) ", And(vec![is("a", "1"), Or(vec![is("b", "17")])])),
        ("(!(a={1}))", Not(Box::new(is("a", "*)(uid=*")))),
        ("(uid=u{0}-{2})", is("uid", r"u17-\")),
        ("(|(uid=[9]))", Or(vec![is("uid", "1"), is("uid", "-20")])),
        (
            "(|(a=x)(uid=p[9]q{0})(b=y))",
            Or(vec![is("a", "x"), is("uid", "p1q17"), is("uid", "p-20q17"), is("b", "y")]),
        ),
    ] {
        assert_eq!(filter(written, &values).unwrap(), expected, "{written}");
    }
    assert_eq!(filter(&format!("(cn={long})"), &NONE).unwrap(), is("cn", &long));
    assert_eq!(filter(r"(cn=\28)", &NONE).unwrap(), is("cn", "("));
    let nested = |depth: usize| format!("{}(a=1){}", "(!".repeat(depth), ")".repeat(depth));
    assert!(filter(&nested(31), &NONE).is_ok());
    assert!(filter(&nested(32), &NONE).unwrap_err().0.contains("levels"));
}

#[test]
fn what_is_no_filter_is_refused_with_the_reason() {
    for (text, why) in [
        ("", "parentheses"),
        ("uid=1", "parentheses"),
        ("(uid=1", "not closed"),
        ("(&(uid=1)", "not closed"),
        ("(&(uid=1)x)", "not closed"),
        ("(uid=1)(uid=2)", "behind"),
        ("(uid)", "attribute=value"),
        ("()", "attribute=value"),
        ("(u d=1)", "name such as"),
        ("(=1)", "name such as"),
        ("(u{0}=1)", "does not vary"),
        (r"(uid=\2)", "hexadecimal"),
        (r"(uid=\{0}0)", "hexadecimal"),
        ("(uid=a(b)", r"\28"),
        ("(uid>=*)", r"\2a"),
        ("(uid=a**b)", "**"),
        ("(:=v)", "by a rule"),
        ("(:dn:=v)", "by a rule"),
        ("(a:dn:b:c:=v)", "by a rule"),
        ("(uid=[9])", "(|…)"),
        ("(!(uid=[9]))", "(|…)"),
        ("(|(uid=[8]-[9]))", "no other"),
    ] {
        let error = filter(text, &NONE).unwrap_err();
        assert!(error.0.contains(why), "{text}: {error}");
    }
}

#[test]
fn a_search_says_what_it_is_for() {
    for (scope, expected) in [
        (Scope::Base, LdapSearchScope::Base),
        (Scope::One, LdapSearchScope::OneLevel),
        (Scope::Sub, LdapSearchScope::Subtree),
    ] {
        let base = pieces("uid={0},ou=p");
        let filter = pieces("(objectClass=*)");
        let asked = Search {
            base: &base,
            scope,
            filter: &filter,
            attributes: &["uid", "*", "+"],
            size_limit: 500,
        };
        let form = Form::search(&asked).unwrap();
        let bytes = written(&form, &Given { texts: &[b"5"], list: &[] });
        let LdapOp::SearchRequest(found) = oracle(&bytes) else { panic!("no search") };
        assert_eq!((found.base.as_str(), found.scope), ("uid=5,ou=p", expected));
        assert_eq!((found.sizelimit, found.timelimit, found.typesonly), (500, 0, false));
        assert_eq!(found.attrs, ["uid", "*", "+"]);
        let Asked::Search { base, alternatives, attributes } = told(&bytes).asked else {
            panic!("no search");
        };
        assert_eq!((base, alternatives), (&b"uid=5,ou=p"[..], None));
        assert_eq!(attributes.count(), 3);
    }
    let filter = pieces("(a=1)");
    let wrong = Search { attributes: &["u d"], ..search(&filter) };
    assert!(Form::search(&wrong).unwrap_err().0.contains("name such as"));
    let wrong = Search { base: &[Piece::List(0)], ..search(&filter) };
    assert!(Form::search(&wrong).unwrap_err().0.contains("one entry"));
}

#[test]
fn changes_additions_and_deletions_say_what_they_are() {
    let values = Given { texts: &[b"5", b"\xff\x00*"], list: &[7, 8] };
    let name = pieces("uid={0},o=x");
    let changes = [
        (Change::Delete, "mail", vec![]),
        (Change::Add, "mail", vec![pieces("a"), pieces("[9]@x")]),
        (Change::Replace, "description", vec![pieces("{1}")]),
    ];
    let form = Form::modify(&name, &changes).unwrap();
    let LdapOp::ModifyRequest(found) = oracle(&written(&form, &values)) else {
        panic!("no change")
    };
    assert_eq!(found.dn, "uid=5,o=x");
    let kinds: Vec<_> = found.changes.iter().map(|change| change.operation.clone()).collect();
    assert_eq!(kinds, [LdapModifyType::Delete, LdapModifyType::Add, LdapModifyType::Replace]);
    let held = |index: usize| found.changes[index].modification.vals.clone();
    assert_eq!(held(0), Vec::<Vec<u8>>::new());
    assert_eq!(held(1), [b"a".to_vec(), b"7@x".to_vec(), b"8@x".to_vec()]);
    assert_eq!(held(2), [b"\xff\x00*".to_vec()]);
    assert_eq!(found.changes[2].modification.atype, "description");

    let attributes = [("objectClass", vec![pieces("account")]), ("uid", vec![pieces("{0}")])];
    let form = Form::add(&name, &attributes).unwrap();
    let bytes = written(&form, &values);
    let LdapOp::AddRequest(found) = oracle(&bytes) else { panic!("no addition") };
    assert_eq!(found.dn, "uid=5,o=x");
    assert_eq!(found.attributes[1].vals, [b"5".to_vec()]);
    let Asked::Add { name: added, attributes } = told(&bytes).asked else {
        panic!("no addition");
    };
    assert_eq!((added, attributes.count()), (&b"uid=5,o=x"[..], 2));

    let form = Form::delete(&name).unwrap();
    assert_eq!(oracle(&written(&form, &values)), LdapOp::DelRequest("uid=5,o=x".to_owned()));

    for (wrong, why) in [
        (Form::modify(&name, &[]), "at least one attribute"),
        (Form::modify(&name, &[(Change::Add, "a", vec![])]), "at least one value"),
        (Form::modify(&name, &[(Change::Replace, "", vec![])]), "name such as"),
        (Form::add(&name, &[("a", vec![])]), "at least one value"),
        (Form::delete(&pieces("uid=[9],o=x")), "one entry"),
    ] {
        assert!(wrong.unwrap_err().0.contains(why), "{why}");
    }
}

#[test]
fn opening_and_ending_say_what_they_are() {
    let (mut out, mut secure, mut leave) = (Vec::new(), Vec::new(), Vec::new());
    bind(70_000, b"cn=admin", b"secret", &mut out);
    let LdapOp::BindRequest(found) = oracle(&out) else { panic!("no bind") };
    assert_eq!((found.version, found.dn.as_str()), (3, "cn=admin"));
    assert!(found.cred == LdapBindCred::Simple("secret".to_owned()));
    start_tls(70_000, &mut secure);
    let LdapOp::ExtendedRequest(found) = oracle(&secure) else { panic!("no extended request") };
    assert_eq!((found.name.as_str(), found.value), ("1.3.6.1.4.1.1466.20037", None));
    unbind(70_000, &mut leave);
    assert_eq!(oracle(&leave), LdapOp::UnbindRequest);
}

#[test]
fn a_value_within_a_name_is_escaped_and_one_that_is_all_of_it_is_not() {
    let named = |name: &str, value: &[u8]| {
        let form = Form::delete(&pieces(name)).unwrap();
        match oracle(&written(&form, &Given { texts: &[value], list: &[] })) {
            LdapOp::DelRequest(name) => name,
            other => panic!("{other:?}"),
        }
    };
    for (value, escaped) in [
        (&b"17"[..], "17"),
        (b"a,o=b", r"a\2co\3db"),
        (b" #a b ", r"\20#a b\20"),
        (b"#\"+;<>\\\0", r"\23\22\2b\3b\3c\3e\5c\00"),
        ("é".as_bytes(), "é"),
        (b" ", r"\20"),
        (b"", ""),
    ] {
        assert_eq!(named("uid={0},o=x", value), format!("uid={escaped},o=x"));
    }
    assert_eq!(named("{0}", b"uid=1,o=x"), "uid=1,o=x");
}

proptest! {
    #[test]
    fn a_bound_value_is_never_more_than_a_value(
        value in prop::collection::vec(any::<char>(), 0..200),
        list in prop::collection::vec(any::<i64>(), 0..40),
    ) {
        let text: String = value.iter().collect();
        let given = Given { texts: &[text.as_bytes()], list: &list };
        let found = filter("(&(a={0})(|(uid=[9]))(b=x{0}))", &given).unwrap();
        let ids = list.iter().map(|element| is("uid", &element.to_string())).collect();
        let expected = LdapFilter::And(vec![
            is("a", &text),
            LdapFilter::Or(ids),
            is("b", &format!("x{text}")),
        ]);
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn no_text_makes_the_compiler_panic(plain in r"[()&|!=*\\<>~: a-c0-9-]{0,30}") {
        if let Ok(found) = Form::search(&search(&pieces(&plain))) {
            told(&written(&found, &NONE));
        }
    }
}
