"""Tests the patterns of cache rules, and names with a hash."""

from flare.core.xxhash import xxh64
from flare.http.files.rules import CacheRule, FileRules, has_hash_in_name

from tests.asserting import assert_equal, assert_true


def test_patterns_match_names_or_paths() raises:
    var rows: List[Tuple[String, String, Bool]] = [
        ("*.html", "index.html", True),
        ("*.html", "docs/index.html", True),
        ("*.html", "index.html.br", False),
        ("*.html", "html", False),
        ("assets/*", "assets/a.js", True),
        ("assets/*", "assets/deep/a.js", True),
        ("assets/*", "other/assets/a.js", False),
        ("assets/*", "assets", False),
        ("*/assets/*", "other/assets/a.js", True),
        ("*", "any/thing", True),
        ("a*b*c", "aXXbYYc", True),
        ("a*b*c", "abc", True),
        ("a*b*c", "acb", False),
        ("", "a", False),
        ("**", "", True),
        ("index.html", "docs/index.html", True),
        ("/index.html", "index.html", False),
    ]
    for row in rows:
        assert_equal(
            CacheRule(row[0], "x").applies(row[1].as_bytes()),
            row[2],
            String(row[0], " ", row[1]),
        )


def test_many_stars_take_no_more_time_than_the_product_of_the_lengths() raises:
    var pattern = String("*a") * 200 + "b"
    assert_true(
        not CacheRule(pattern, "x").applies((String("a") * 4000).as_bytes())
    )


def test_the_first_rule_counts() raises:
    var rules = FileRules()
    rules.cache_control = [
        CacheRule("*.html", "no-cache"),
        CacheRule("assets/*", "max-age=60"),
    ]
    rules.immutable_hashed = True
    assert_equal(
        String(rules.cache_control_of("a.html".as_bytes())), "no-cache"
    )
    assert_equal(
        String(rules.cache_control_of("assets/b.html".as_bytes())), "no-cache"
    )
    assert_equal(
        String(rules.cache_control_of("assets/app-3f9a1c2e.js".as_bytes())),
        "max-age=60",
    )
    assert_equal(
        String(rules.cache_control_of("js/app-3f9a1c2e.js".as_bytes())),
        "public, max-age=31536000, immutable",
    )
    assert_equal(String(rules.cache_control_of("js/app.js".as_bytes())), "")


def test_names_with_a_hash_are_those_of_bundlers() raises:
    var hashed: List[StaticString] = [
        "app-3f9a1c2e.js",
        "a/b/app.3f9a1c2e.css",
        "index-DiwrgTda1.js",
        "chunk-0_abcdef.mjs",
    ]
    for name in hashed:
        assert_true(has_hash_in_name(name.as_bytes()), String(name))
    var others: List[StaticString] = [
        "app.js",
        "app-settings.js",
        "app-3f9a1c2.js",
        "3f9a1c2e4d.js",
        "app-3f9a1c2e",
        "app-3f9a1c2e/index.html",
        "photo-20240101 x.jpg",
        "",
        ".js",
    ]
    for name in others:
        assert_true(not has_hash_in_name(name.as_bytes()), String(name))


def test_the_hash_is_that_of_the_specification() raises:
    assert_equal(xxh64("".as_bytes()), 0xEF46DB3751D8E999)
    assert_equal(xxh64("a".as_bytes()), 0xD24EC4F1A98C6E5B)
    assert_equal(xxh64("abc".as_bytes()), 0x44BC2CF5AD770999)
    assert_equal(
        xxh64("Nobody inspects the spammish repetition".as_bytes()),
        0xFBCEA83C8A378BF1,
    )


comptime TESTS = __functions_in_module()
