"""Tests which places of a template may have a hole."""

from flare.html.template_reader import TemplateReader

from tests.asserting import assert_equal, assert_true


def test_places() raises:
    assert_equal(_places("a {} b {}"), "00")
    assert_equal(_places("<p>{}</p>{}"), "00")
    assert_equal(_places("<P Title = '{} {}' class=\"{}\" hidden>{}"), "1110")
    assert_equal(_places("<a href='{}{}?{}#{}'>"), "2344")
    assert_equal(_places("<a href='/{}'><img SRC = \"{}\"/>{}"), "320")
    assert_equal(_places("<form action='  {}' data-a='{}'>"), "21")
    assert_equal(_places("<!-- <p --><!DOCTYPE html><?x?>{}"), "0")
    assert_equal(_places("<script>'<p {'</script>{}"), "0")
    assert_equal(_places("<script></</script>{}"), "0")
    assert_equal(_places("<STYLE>a { b: c }</Style x>{}"), "0")
    assert_equal(_places("<script src='/a.js?v={}'></script>{}"), "40")
    assert_equal(_places("<a href='https://{}/{}'>"), "33")
    assert_equal(_places("<a href='mailto:{}?a={}'>"), "54")
    assert_equal(_places("<a href='Tel:{}'>{}"), "50")
    assert_equal(_places("<a href='{}&page={}&amp;a={}'>"), "233")
    assert_equal(_places("<a href='/a&b={}'>"), "3")
    assert_equal(_places("<!-->{}<!--->{}"), "00")
    assert_equal(_places("<meta name='a' content='{}'>"), "1")
    assert_equal(_places("a < b {} <3 {} </p>{}"), "000")
    assert_equal(_places("<title>{} < 1 {}</title>{}"), "110")
    assert_equal(_places("<TEXTAREA id='{}'>{}</textarea x>{}"), "110")
    assert_equal(_places("<a b=c d = e/>{}<a b=''>{}<a b='>'>{}"), "000")
    assert_equal(_places("<a =b c='{}'>{}<a / / d='{}'>"), "101")


def test_refused_places() raises:
    _check_refused(
        [
            ["without quotes", "<a b={}>", "<a b= {}>", "<a b=c{}>"],
            [
                "the name of a tag",
                "<{}>",
                "<a{}>",
                "</{}>",
                "<a {}>",
                "<a b{}='c'>",
                "<a b='{}'{}>",
            ],
            [
                "<script>",
                "<script>{}</script>",
                "<style>{}",
                "<XMP>{}",
                "<script>'</p>'{}",
                "<script src='{}'>{}",
            ],
            [
                "a comment or a declaration",
                "<!-- {} -->",
                "<!DOCTYPE {}>",
                "<?{}?>",
            ],
        ]
    )


def test_refused_urls_and_code() raises:
    _check_refused(
        [
            [
                "before a reference",
                "<a href='{}&#58;'>",
                "<a href='{}&colon;'>",
                "<a href='{}&Ta{}b;'>",
                "<a href='/{}&sol;'>",
            ],
            [
                "a value in code",
                "<a href='/&Tab;{}'>",
                "<a href='/&#58;{}'>",
                "<a href='javascript:f({})'>",
                "<a href='data:text/html,{}'>",
                "<a href='java&colon;{}'>",
                "<set to='{}'>",
                "<a @click='{}'>",
                "<a x-data='{}'>",
                "<a hx-on:click='{}'>",
                "<a onclick='{}'>",
                "<a ONx='{}'>",
                "<a style='{}'>",
                "<iframe srcdoc='{}'>",
                "<img srcset='{}'>",
            ],
            [
                "before a constant colon",
                "<a href='{}://{}'>",
                "<a href='{}:{}'>",
            ],
            [
                "<script> or <base>",
                "<script src='{}'>",
                "<script src='/{}'>",
                "<base href='{}'>",
            ],
            [
                "<meta http-equiv>",
                "<meta http-equiv=refresh content='{}'>",
                "<meta content='{}' http-equiv=refresh>",
            ],
        ]
    )


def test_refused_templates() raises:
    _check_refused(
        [
            [
                "a tag in <title>",
                "<title><b>{}",
                "<title><{}",
                "<title></{}",
                "<title></titl{}",
                "<title></textarea>",
                "<title><!-- -->",
                "<textarea><?",
            ],
            ["CDATA", "<svg><![CDATA[ a ]]>"],
            ["--!>", "<!-- a --!>{}"],
            ["a comment in", "<script>'<!--'</script>{}"],
            ["a quote in a closing tag", "</p a='>'>{}"],
            ["use json_script", "<script></script-a>{}"],
            [
                "ends inside",
                "<a",
                "<",
                "<a b='",
                "<a b='c'",
                "<!-- a",
                "<script>",
                "<script>a</scrip>",
                "</a",
            ],
        ]
    )


comptime TESTS = __functions_in_module()


def _read(template: StaticString) -> Tuple[String, String]:
    """Returns the places of the holes, `{}`, and the fault."""
    var reader = TemplateReader()
    var places = String()
    var parts = template.split("{}")
    for i in range(len(parts)):
        if i > 0:
            places += String(reader.take_hole())
        if reader.fault != "":
            break
        reader.take_text(parts[i].as_bytes())
    reader.end()
    return places, String(reader.fault)


def _places(template: StaticString) raises -> String:
    var found = _read(template)
    assert_equal(found[1], "", template)
    return found[0]


def _check_refused(rows: List[List[StaticString]]) raises:
    for row in rows:
        for i in range(1, len(row)):
            assert_true(row[0] in _read(row[i])[1], row[i])
