"""Tests answers to challenges, and logins out of files."""

from flare.core.message_digest import md5, sha256
from flare.http import (
    DigestAuth,
    HeaderMap,
    HttpClient,
    netrc_login,
)
from flare.http.client.credentials.digest import (
    DigestAccount,
    DigestSession,
    digest_challenge,
)

from tests.asserting import assert_equal, assert_false, assert_true
from tests.client.stand import OK_ANSWER, Ending, Reply, Stand, redirect_to
from tests.tcp.loops import on_each_backend


def test_digests_are_those_of_the_standards() raises:
    # RFC 1321 section A.5 and FIPS 180-4.
    assert_equal(md5("".as_bytes()), "d41d8cd98f00b204e9800998ecf8427e")
    assert_equal(md5("abc".as_bytes()), "900150983cd24fb0d6963f7d28e17f72")
    assert_equal(
        sha256("".as_bytes()),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    )
    assert_equal(
        sha256("abc".as_bytes()),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    )


def test_digests_around_the_end_of_a_block_are_those_of_other_programs() raises:
    var rows: List[Tuple[Int, String, String]] = []
    rows.append(
        (
            55,
            "ef1772b6dff9a122358552954ad0df65",
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318",
        )
    )
    rows.append(
        (
            56,
            "3b0c8ac703f828b04c6c197006d17218",
            "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a",
        )
    )
    rows.append(
        (
            63,
            "b06521f39153d618550606be297466d5",
            "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34",
        )
    )
    rows.append(
        (
            64,
            "014842d480b571495a4a0363793f7367",
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb",
        )
    )
    rows.append(
        (
            65,
            "c743a45e0d2e6a95cb859adae0248435",
            "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0",
        )
    )
    rows.append(
        (
            119,
            "8a7bd0732ed6a28ce75f6dabc90e1613",
            "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb",
        )
    )
    rows.append(
        (
            120,
            "5f61c0ccad4cac44c75ff505e1f1e537",
            "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c",
        )
    )
    rows.append(
        (
            1000,
            "cabe45dcc9ae5b66ba86600cca6b8ba8",
            "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3",
        )
    )
    for row in rows:
        var octets = List[UInt8](length=row[0], fill=97)
        assert_equal(md5(Span(octets)), row[1], String(row[0]))
        assert_equal(sha256(Span(octets)), row[2], String(row[0]))


def test_the_answers_of_the_standard_come_out() raises:
    # RFC 7616 section 3.9.1.
    comptime REST: StaticString = (
        ', nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v",'
        ' opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"'
    )
    var rows: List[Tuple[String, String]] = [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        (
            "SHA-256",
            "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
        ),
    ]
    for row in rows:
        var fields = HeaderMap()
        fields.set(
            "WWW-Authenticate",
            String(
                'Digest realm="http-auth@example.org", qop="auth, auth-int",',
                " algorithm=",
                row[0],
                REST,
            ),
        )
        var session = DigestSession(DigestAccount("Mufasa", "Circle of Life"))
        session.take(digest_challenge(fields.view()).value().copy())
        var value = session.authorization(
            "GET",
            "/dir/index.html",
            "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
        )
        assert_true(String('response="', row[1], '"') in value, value)
        assert_true("qop=auth, nc=00000001" in value)
        assert_true('opaque="FQhe' in value)
        assert_true(String("algorithm=", row[0]) in value)
        assert_true(
            "nc=00000002" in session.authorization("GET", "/", "x"), "counted"
        )


def test_the_best_challenge_is_found_among_others() raises:
    # Fields, realm of the challenge that is answered; none if empty.
    var rows: List[Tuple[String, String]] = []
    rows.append(('Digest realm="a", nonce="n"', "a"))
    rows.append(("digest REALM=a , Nonce = n", "a"))
    rows.append(('Digest realm="a\\"b, c", nonce="n"', 'a"b, c'))
    rows.append(('Basic realm="x", Digest realm="a", nonce="n"', "a"))
    rows.append(('Negotiate YWJj==, Digest realm="a", nonce="n"', "a"))
    rows.append(('Negotiate a/b+c=, Digest realm="a", nonce="n"', "a"))
    rows.append(('Digest realm="a", nonce="n", Basic realm="x"', "a"))
    rows.append(
        (
            (
                'Digest realm="a", nonce="n", algorithm=MD5, Digest realm="b",'
                ' nonce="n", algorithm=SHA-256'
            ),
            "b",
        )
    )
    rows.append(
        (
            (
                'Digest realm="b", nonce="n", algorithm=SHA-256-sess, Digest'
                ' realm="a", nonce="n"'
            ),
            "b",
        )
    )
    rows.append(('Digest realm="a", nonce="n", qop=auth', "a"))
    rows.append(('Digest realm="a", nonce="n", qop="auth-int"', ""))
    rows.append(('Digest realm="a", nonce="n", algorithm=SHA-512', ""))
    rows.append(('Digest realm="a"', ""))
    rows.append(('Basic realm="a", nonce="n"', ""))
    rows.append(("Digest", ""))
    rows.append(("Digest =,=", ""))
    rows.append(('Digest realm="', ""))
    rows.append(("", ""))
    for row in rows:
        var fields = HeaderMap()
        fields.set("WWW-Authenticate", row[0])
        var found = digest_challenge(fields.view())
        assert_equal(Bool(found), row[1].byte_length() > 0, row[0])
        if found:
            assert_equal(found.value().realm, row[1], row[0])


def test_what_is_no_text_is_not_answered_whatever_follows() raises:
    for octet in [UInt8(97), 0x80, 0xC3, 0xFF]:
        for name in [String("realm"), String("nonce")]:
            var octets = List[UInt8]('Digest nonce="n", '.as_bytes())
            octets.extend(name.as_bytes())
            octets.extend('="'.as_bytes())
            octets.append(octet)
            octets.extend('", qop="auth"'.as_bytes())
            var fields = HeaderMap()
            fields.set(
                "WWW-Authenticate", StringSlice(unsafe_from_utf8=Span(octets))
            )
            var found = digest_challenge(fields.view())
            assert_equal(Bool(found), octet < 128, name)


def test_a_refused_answer_leaves_a_challenge_that_came_meanwhile() raises:
    var session = DigestSession(DigestAccount("u", "p"))
    for nonce in [String("one"), "two"]:
        var fields = HeaderMap()
        fields.set(
            "WWW-Authenticate", String('Digest realm="r", nonce="', nonce, '"')
        )
        session.take(digest_challenge(fields.view()).value().copy())
    session.refuse("one")
    assert_true('nonce="two"' in session.authorization("GET", "/", "x"))
    session.refuse("two")
    assert_false(session.challenge)


def test_a_session_keeps_its_first_client_nonce() raises:
    var session = DigestSession(DigestAccount("u", "p"))
    for first in [String("one"), "two"]:
        var fields = HeaderMap()
        fields.set(
            "WWW-Authenticate",
            String(
                'Digest realm="r", qop=auth, algorithm=MD5-sess, nonce="n',
                first,
                '"',
            ),
        )
        session.take(digest_challenge(fields.view()).value().copy())
        var secret = md5("u:r:p".as_bytes())
        secret = md5(String(secret, ":n", first, ":", first).as_bytes())
        var asked = md5("GET:/".as_bytes())
        for i in range(1, 3):
            var shown = first if i == 1 else String("later")
            var value = session.authorization("GET", "/", shown)
            assert_true(String('cnonce="', first, '"') in value, value)
            var proof = String(
                secret, ":n", first, ":0000000", i, ":", first, ":auth:", asked
            )
            var response = md5(proof.as_bytes())
            assert_true(String('response="', response, '"') in value, value)


def test_a_nonce_that_comes_again_is_counted_on() raises:
    var session = DigestSession(DigestAccount("u", "p"))
    # Which algorithm is asked for, the client nonce, and what is shown of both.
    var rows: List[Tuple[String, String, String, Int]] = [
        ("MD5-sess", "one", "one", 1),
        ("MD5-sess", "two", "one", 2),
        ("MD5", "three", "three", 3),
    ]
    for row in rows:
        var fields = HeaderMap()
        fields.set(
            "WWW-Authenticate",
            String('Digest realm="r", nonce="n", qop=auth, algorithm=', row[0]),
        )
        session.take(digest_challenge(fields.view()).value().copy())
        var value = session.authorization("GET", "/", row[1])
        assert_true(String('cnonce="', row[2], '"') in value, value)
        assert_true(String("nc=0000000", row[3]) in value, value)
        session.refuse("n")


def test_a_challenge_is_answered_and_its_nonce_used_again() raises:
    on_each_backend(_answered)


def test_a_proof_stays_in_its_origin() raises:
    on_each_backend(_stays)


def test_a_login_is_found_in_a_file() raises:
    comptime TEXT: StaticString = (
        "# machine c login no\nmachine a login me password secret\n"
        'machine b\n  account x\n  password "a \\" b"\n  login you\n'
        "macdef init\nmachine d login no\n\n"
        "machine e login only\ndefault login any password one\n"
        "machine late login no\n"
    )
    var rows: List[Tuple[String, String, String]] = [
        ("a", "me", "secret"),
        ("A", "me", "secret"),
        ("b", "you", 'a " b'),
        ("e", "only", ""),
        ("d", "any", "one"),
        ("late", "any", "one"),
    ]
    for row in rows:
        var found = netrc_login(TEXT, row[0])
        assert_equal(found.value().user, row[1], row[0])
        assert_equal(found.value().password, row[2], row[0])
    assert_false(netrc_login("machine a login b", "c"))
    assert_false(netrc_login("machine a password b", "a"))
    assert_false(netrc_login("machine", ""))
    assert_false(netrc_login("login", "a"))


def test_a_macro_ends_where_it_does_and_its_name_is_no_keyword() raises:
    # Text, and the user of the host a; no login if empty.
    var rows: List[Tuple[String, String]] = [
        ("macdef x\ncd /\n\n\nmachine a login me", "me"),
        ("macdef login\ncd /\n\nmachine a login me", "me"),
        ("macdef default\ncd /\n\nlogin no", ""),
        ("machine a password macdef login\nme\n", "me"),
        ("machine a login me macdef x\n\n\nmachine a login no", "me"),
        ("macdef x\nmachine a login no", ""),
    ]
    for row in rows:
        var found = netrc_login(row[0], "a")
        assert_equal(Bool(found), row[1].byte_length() > 0, row[0])
        if found:
            assert_equal(found.value().user, row[1], row[0])


def test_a_number_sign_begins_a_comment_at_the_front_of_a_word_alone() raises:
    # What stands behind `password`, and the password: as curl and wget have it.
    var rows: List[Tuple[String, String]] = [
        ("abc#def", "abc#def"),
        ("abc#", "abc#"),
        ("abc # comment", "abc"),
        ("abc # login no password no", "abc"),
        ("abc\t#login no", "abc"),
        ("abc # macdef x", "abc"),
        ('abc # "', "abc"),
        ('"#abc"', "#abc"),
        ('"abc" # password no', "abc"),
        ('"abc"# password no', "abc"),
        ("# no\nabc", "abc"),
        ("#no\n  abc", "abc"),
        ("#no", ""),
    ]
    for row in rows:
        var text = String("machine a # login no\n login me password ", row[0])
        for end in [String(), "\n", "\r\n", "\nmachine b login no"]:
            if row[1].byte_length() == 0 and end.byte_length() > 2:
                continue
            var found = netrc_login(String(text, end), "a")
            assert_equal(found.value().user, "me", row[0])
            assert_equal(found.value().password, row[1], row[0])


def _challenge(nonce: StringSlice, more: StringSlice = "") -> Reply:
    return Reply(
        String(
            "HTTP/1.1 401 X\r\nContent-Length: 2\r\n",
            'WWW-Authenticate: Digest realm="r", qop="auth", nonce="',
            nonce,
            '"',
            more,
            "\r\n\r\nno",
        ),
        Ending.KEEP,
    )


def _ok() -> Reply:
    return Reply(String(OK_ANSWER), Ending.KEEP)


def _answered() raises:
    var replies: List[Reply] = [
        _challenge("one"),
        _ok(),
        _ok(),
        _challenge("two", ", stale=true"),
        _ok(),
        _challenge("three"),
        _challenge("four"),
        _challenge("five"),
    ]
    var stand = Stand(replies^)
    var client = HttpClient(stand.url(), DigestAuth("me", "secret"))
    assert_equal(client.post("/a?b", "{}").status, 200)
    assert_equal(client.get("/").status, 200)
    assert_equal(client.get("/").status, 200)
    # It was refused: once more would be refused again.
    assert_equal(client.get("/").status, 401)
    assert_equal(client.get("/").status, 401)
    client.close_idle()
    assert_false("Authorization" in stand.request(0))
    assert_true('uri="/a?b"' in stand.request(1))
    assert_true(stand.request(1).endswith("\r\n\r\n{}"))
    var rows: List[Tuple[Int, String, Int]] = [
        (1, "one", 1),
        (2, "one", 2),
        (3, "one", 3),
        (4, "two", 1),
        (5, "two", 2),
        (7, "four", 1),
    ]
    for row in rows:
        var request = stand.request(row[0])
        assert_true(String('nonce="', row[1], '"') in request, request)
        assert_true(String("nc=0000000", row[2]) in request, request)
    assert_false("Authorization" in stand.request(6))
    assert_equal(stand.connections(), 1)
    stand^.join()


def _stays() raises:
    var other = Stand([_challenge("theirs")])
    var first = Stand(
        [
            _challenge("one"),
            redirect_to(other.url("/")),
        ]
    )
    var client = HttpClient(first.url(), DigestAuth("me", "secret"))
    assert_equal(client.get("/").status, 401)
    client.close_idle()
    assert_true("Authorization: Digest" in first.request(1))
    assert_false("Authorization" in other.request(0))
    first^.join()
    other^.join()


comptime TESTS = __functions_in_module()
