"""Tests for `flare.message.request_target`."""

from flare.message import Method, RequestTarget, SyntaxError, valid_host

from tests.asserting import assert_equal, assert_false, assert_true


@fieldwise_init
struct Row(Copyable):
    var target: StaticString
    var parts: StaticString


@fieldwise_init
struct BadRow(Copyable):
    var target: StaticString
    var part: StaticString
    var offset: Int


def test_the_origin_form_is_divided() raises:
    var rows: List[Row] = [
        Row("/", "1 path=/ query=-"),
        Row("//", "1 path=// query=-"),
        Row("/?", "1 path=/ query="),
        Row("/a/b.c?d=e&f", "1 path=/a/b.c query=d=e&f"),
        Row("/a??b?", "1 path=/a query=?b?"),
        Row("/%2F", "1 path=/%2F query=-"),
        Row("/a:b@c", "1 path=/a:b@c query=-"),
        Row("/x[]{}|^`", "1 path=/x[]{}|^` query=-"),
        Row('/?a[]=<"\\>', '1 path=/ query=a[]=<"\\>'),
        Row("/*", "1 path=/* query=-"),
        # A percent sign that begins no escape is itself in a query.
        Row("/query?q=100%", "1 path=/query query=q=100%"),
        Row("/?%", "1 path=/ query=%"),
        Row("/?%4&%zz&%%41", "1 path=/ query=%4&%zz&%%41"),
        Row(
            "/a/path/of/more/than/16/octets?%41=bbbbbbbbbbbbbbbbbbbbb%42",
            (
                "1 path=/a/path/of/more/than/16/octets"
                " query=%41=bbbbbbbbbbbbbbbbbbbbb%42"
            ),
        ),
    ]
    for row in rows:
        assert_equal(_parts(row.target, Method.GET), row.parts)


def test_the_absolute_form_is_divided() raises:
    var rows: List[Row] = [
        Row("http://a", "2 path= query=- a [a] -1"),
        Row("HTTP://A.b/", "2 path=/ query=- A.b [A.b] -1"),
        Row("http://a:80/b?c", "2 path=/b query=c a [a:80] 80"),
        Row("http://a:/b", "2 path=/b query=- a [a:] -1"),
        Row("http://a?c", "2 path= query=c a [a] -1"),
        Row("http://a?%", "2 path= query=% a [a] -1"),
        Row("https://[::1]:8443/", "2s path=/ query=- ::1 [[::1]:8443] 8443"),
        Row("ws://a/", "2 path=/ query=- a [a] -1"),
        Row("wSs://a/", "2s path=/ query=- a [a] -1"),
    ]
    for row in rows:
        assert_equal(_parts(row.target, Method.GET), row.parts)
        assert_equal(_parts(row.target, Method.OPTIONS), row.parts)


def test_connect_has_the_authority_form_only() raises:
    assert_equal(
        _parts("a.b:443", Method.CONNECT), "3 path= query=- a.b [a.b:443] 443"
    )
    assert_equal(
        _parts("[::1]:1", Method.CONNECT), "3 path= query=- ::1 [[::1]:1] 1"
    )
    for target in ["/", "*", "a", "a:", "http://a:1/", "a:1/", "a:1?", ":1"]:
        assert_true(_is_refused(target, Method.CONNECT), target)
    assert_true(_is_refused("a.b:443", Method.GET))


def test_the_asterisk_belongs_to_options() raises:
    assert_equal(_parts("*", Method.OPTIONS), "4 path= query=-")
    for method in range(Method.COUNT):
        if Method(UInt8(method)) != Method.OPTIONS:
            assert_true(_is_refused("*", Method(UInt8(method))))
    assert_true(_is_refused("**", Method.OPTIONS))
    assert_true(_is_refused("*?", Method.OPTIONS))


def test_faults_are_found_where_they_are() raises:
    var rows: List[BadRow] = [
        BadRow("", "target", 0),
        BadRow("a", "scheme", 0),
        BadRow("?a", "scheme", 0),
        BadRow("/a b", "path", 2),
        BadRow("/a#b", "path", 2),
        BadRow("/a\\b", "path", 2),
        BadRow('/a"', "path", 2),
        BadRow("/a<", "path", 2),
        BadRow("/\x7f", "path", 1),
        BadRow("/é", "path", 1),
        BadRow("/aaaaaaaaaaaaaaaaaaaaaaaa\0", "path", 25),
        BadRow("/%", "path", 1),
        BadRow("/%4", "path", 1),
        BadRow("/%4g", "path", 1),
        BadRow("/%41%g1", "path", 4),
        BadRow("/?a b", "query", 3),
        BadRow("/?#", "query", 2),
        BadRow("/?%é", "query", 3),
        BadRow("/%?%", "path", 1),
        BadRow("http://a/%?", "path", 9),
        BadRow("/?\r", "query", 2),
        BadRow("ftp://a/", "scheme", 0),
        BadRow("httpx://a/", "scheme", 0),
        BadRow("http:/a", "scheme", 4),
        BadRow("http:", "scheme", 4),
        BadRow("http:/", "scheme", 4),
        BadRow("http", "scheme", 4),
        BadRow("http://", "host", 7),
        BadRow("http:///a", "host", 7),
        BadRow("http://:80/", "host", 7),
        BadRow("http://a b/", "host", 8),
        BadRow("http://u@a/", "user information", 8),
        BadRow("http://u:p@a/", "user information", 10),
        BadRow("http://u:1@a/", "user information", 10),
        BadRow("http://@a/", "user information", 7),
        BadRow("http://a:65536/", "port", 13),
        BadRow("http://a:x/", "host", 9),
        BadRow("http://a/#", "path", 9),
    ]
    for row in rows:
        try:
            _ = RequestTarget.parse(row.target.as_bytes(), Method.GET)
        except e:
            assert_equal(e.part, row.part, row.target)
            assert_equal(e.offset, row.offset, row.target)
            continue
        raise Error("accepted ", row.target)


def test_every_octet_of_a_path_and_a_query_is_judged() raises:
    for octet in range(256):
        for padding in [0, 20]:
            var path: List[UInt8] = [47]
            path.extend(List[UInt8](length=padding, fill=97))
            path.append(UInt8(octet))
            path.append(98)
            var allowed = 33 <= octet <= 126 and octet != 35
            var in_path = (
                (allowed and octet != 34 and octet != 60 and octet != 62)
                and octet != 92
                and octet != 37
            )
            assert_equal(not _is_refused_octets(Span(path)), in_path)
            path[0] = 47
            path.insert(1, 63)
            assert_equal(not _is_refused_octets(Span(path)), allowed)


def test_the_bound_on_the_length_is_inclusive() raises:
    var octets = List[UInt8](length=RequestTarget.OCTETS_MAX, fill=47)
    var target = RequestTarget.parse(Span(octets), Method.GET)
    assert_equal(Int(target.path_octets), RequestTarget.OCTETS_MAX)
    octets.append(47)
    assert_true(_is_refused_octets(Span(octets)))


def test_ports_go_up_to_65535() raises:
    assert_true(valid_host("a:65535".as_bytes()))
    assert_false(valid_host("a:65536".as_bytes()))
    assert_false(valid_host("a:99999999999999999999999999".as_bytes()))
    assert_true(valid_host("a:0".as_bytes()))
    assert_true(valid_host("a:0000080".as_bytes()))
    assert_true(valid_host("a:".as_bytes()))
    assert_false(valid_host("a:-1".as_bytes()))
    assert_false(valid_host("a:+1".as_bytes()))
    assert_false(valid_host("a:8 ".as_bytes()))


def test_host_fields_are_names_addresses_and_ports() raises:
    for host in [
        "a",
        "EXAMPLE.com",
        "a.b:80",
        "1.2.3.4",
        "1.2.3.4:5",
        "a_b",
        "a-b.",
        "%41",
        "a!$&'()*+,;=~",
        "[::1]",
        "[::1]:80",
        "[::]:",
    ]:
        assert_true(valid_host(host.as_bytes()), host)
    for host in [
        "",
        ":",
        ":80",
        " a",
        "a ",
        "a b",
        "a/b",
        "a?b",
        "a#b",
        "a@b",
        "a:b:c",
        "a:1:2",
        "::1",
        "[::1",
        "::1]",
        "[]",
        "[a]",
        "[::1]a",
        "[::1]80",
        "a[::1]",
        "[[::1]]",
        "a\\b",
        "a\0",
        "a\r",
        "a,b c",
        "a<",
        "é",
        "%4",
        "%",
        "a%4g",
        "http://a",
        "[v1.a]",
        "[::1%25eth0]",
        "[::1%eth0]",
        "a|b",
        "a^b",
    ]:
        assert_false(valid_host(host.as_bytes()), host)


def test_ipv6_addresses_have_eight_groups_or_one_gap() raises:
    for address in [
        "::",
        "::1",
        "1::",
        "1:2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7::",
        "::2:3:4:5:6:7:8",
        "1::8",
        "1:2::7:8",
        "ABCD:ef01::",
        "::1.2.3.4",
        "::ffff:255.255.255.255",
        "1:2:3:4:5:6:1.2.3.4",
        "1::5:6:0.0.0.0",
        "1:2:3:4:5::1.2.3.4",
    ]:
        assert_true(valid_host(_bracketed(address).as_bytes()), address)
    for address in [
        "",
        ":",
        ":::",
        "1",
        "1:",
        ":1",
        "1:2",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        "1:2:3:4:5:6:7:",
        "1:2:3:4:5:6:7:8:",
        "1:2:3:4::5:6:7:8",
        "::1:2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7:8::",
        "1::2::3",
        "::1::",
        "1:::2",
        "12345::",
        "g::",
        "::-1",
        ":1::2",
        "::1:",
        "1.2.3.4",
        "::1.2.3",
        "::1.2.3.4.5",
        "::1.2.3.256",
        "::01.2.3.4",
        "::1.2.3.",
        "::.1.2.3",
        "::1..2.3",
        "::1.2.3.4:5",
        "::1.2.3.1234",
        "1:2:3:4:5:6:7:1.2.3.4",
        "1:2:3:4:5:1.2.3.4",
        "1:2:3:4:5:6::1.2.3.4",
        "::a.2.3.4",
        "::1.2.3.a",
        "1.2.3.4::",
    ]:
        assert_false(valid_host(_bracketed(address).as_bytes()), address)


def test_nothing_is_known_of_a_target_before_it_is_parsed() raises:
    var target = RequestTarget()
    assert_equal(target.form, RequestTarget.NONE)
    assert_false(target.has_query())
    assert_equal(len(target.path("".as_bytes())), 0)


def test_a_syntax_error_says_part_offset_and_reason() raises:
    assert_equal(
        String(SyntaxError("port", 7, "over 65535")),
        "port at octet 7: over 65535",
    )


def _bracketed(address: StringSlice) -> String:
    return String("[", address, "]")


def _parts(text: StringSlice, method: Method) raises -> String:
    var octets = text.as_bytes()
    var target = RequestTarget.parse(octets, method)
    var shown = String(target.form, "s" if target.is_secure else "")
    shown.write(" path=", StringSlice(unsafe_from_utf8=target.path(octets)))
    shown.write(" query=")
    if target.has_query():
        shown.write(StringSlice(unsafe_from_utf8=target.query(octets)))
    else:
        shown.write("-")
    if len(target.authority(octets)) != 0:
        shown.write(" ", StringSlice(unsafe_from_utf8=target.host(octets)))
        shown.write(
            " [",
            StringSlice(unsafe_from_utf8=target.authority(octets)),
            "] ",
            target.port,
        )
    return shown^


def _is_refused(text: StringSlice, method: Method) -> Bool:
    try:
        _ = RequestTarget.parse(text.as_bytes(), method)
        return False
    except:
        return True


def _is_refused_octets(octets: Span[UInt8, _]) -> Bool:
    try:
        _ = RequestTarget.parse(octets, Method.GET)
        return False
    except:
        return True


comptime TESTS = __functions_in_module()
