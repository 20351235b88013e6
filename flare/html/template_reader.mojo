"""Finds out where in a document a template interpolates values."""

from flare.core import SPACE, equals, equals_lower, find_octet, lower_octet

from .url import SCHEMES

comptime _LESS: UInt8 = 60
comptime _GREATER: UInt8 = 62


struct HoleKind:
    """The places of a document in which a value may appear."""

    comptime TEXT: UInt8 = 0
    """Between two tags."""
    comptime ATTRIBUTE: UInt8 = 1
    """In the quoted value of an attribute, or in <title> or <textarea>: there
    are no tags."""
    comptime URL: UInt8 = 2
    """At the start of an attribute that holds a URL: the value may have a
    scheme."""
    comptime PATH: UInt8 = 3
    """Later in such an attribute, before `?` and `#`."""
    comptime QUERY: UInt8 = 4
    """After `?` or `#` of such an attribute."""
    comptime ADDRESS: UInt8 = 5
    """After `mailto:` or `tel:`, before `?`."""
    comptime CODE: UInt8 = 6
    """In an attribute that holds a script or a style; refused."""


struct _State:
    comptime TEXT: UInt8 = 0
    comptime TAG_NAME: UInt8 = 1
    comptime BEFORE_NAME: UInt8 = 2
    comptime NAME: UInt8 = 3
    comptime AFTER_NAME: UInt8 = 4
    comptime BEFORE_VALUE: UInt8 = 5
    comptime VALUE: UInt8 = 6
    comptime UNQUOTED: UInt8 = 7
    comptime CLOSING_TAG: UInt8 = 8
    comptime COMMENT: UInt8 = 9
    comptime DECLARATION: UInt8 = 10
    # The content of <script> and the like, which has a grammar of its own.
    comptime RAW: UInt8 = 11


struct _TagFact:
    # The element is script or base, whose URL decides which code runs.
    comptime LOADS_CODE: UInt8 = 1
    comptime HTTP_EQUIV: UInt8 = 2
    # The present attribute is `content`.
    comptime IN_CONTENT: UInt8 = 4
    comptime CONTENT_VALUE: UInt8 = 8


struct TemplateReader(TrivialRegisterPassable):
    """Follows the constant text of a template from hole to hole.

    It knows as much of the tokenizer of HTML as a template needs: tags,
    attributes, comments and elements with another grammar (WHATWG HTML section
    13.2.5).
    """

    var fault: StaticString
    """The reason why the template is refused; empty if it is not."""
    var _state: UInt8
    # The quote around the present value.
    var _quote: UInt8
    var _kind: UInt8
    # The element with another grammar, counted from 1; 0 if the tag is of none.
    var _raw: Int
    # Whether the present URL may still get a scheme, the constant start of it, and
    # whether a value came first.
    var _scheme_is_open: Bool
    var _scheme: UInt64
    var _has_value: Bool
    # Facts about the present tag, bits of `_TagFact`.
    var _tag: UInt8

    def __init__(out self):
        """Creates a reader at the start of a template."""
        self.fault = ""
        self._state = _State.TEXT
        self._quote = 0
        self._kind = HoleKind.TEXT
        self._raw = 0
        self._scheme_is_open = False
        self._scheme = 0
        self._has_value = False
        self._tag = 0

    def take_hole(mut self) -> UInt8:
        """Takes the next hole.

        Returns:
            Its place, one of `HoleKind`. If no value may appear there, `fault`
            says so.
        """
        if self._state == _State.TEXT or self.fault != "":
            return HoleKind.TEXT
        if self._state == _State.RAW and self._holds_text():
            return HoleKind.ATTRIBUTE
        if self._state != _State.VALUE:
            self.fault = _fault_of(self._state)
        elif self._kind == HoleKind.CODE:
            self.fault = (
                "a value in code: style, srcdoc, srcset, an event handler or a"
                " URL with a script or a reference"
            )
        elif (
            self._kind != HoleKind.QUERY
            and self._kind != HoleKind.ATTRIBUTE
            and (self._tag & _TagFact.LOADS_CODE != 0)
        ):
            self.fault = (
                "a value in the place of the code of <script> or <base>"
            )
        elif self._tag & _TagFact.IN_CONTENT != 0:
            self._tag |= _TagFact.CONTENT_VALUE
            self._judge_refresh()
        var kind = self._kind
        self._has_value = True
        if kind == HoleKind.URL:
            self._kind = HoleKind.PATH
        return kind

    def _holds_text(self) -> Bool:
        return self._raw >= _TEXT_ELEMENTS_AT

    def _judge_refresh(mut self):
        comptime BOTH = _TagFact.CONTENT_VALUE | _TagFact.HTTP_EQUIV
        if self._tag & BOTH == BOTH:
            self.fault = "a value in the content of <meta http-equiv>"

    def end(mut self):
        """Takes the end of the template. If it is inside of a tag or the like,
        `fault` says so."""
        if self.fault == "" and self._state != _State.TEXT:
            self.fault = (
                "it ends inside of a tag, a comment or a script: a template is"
                " a whole piece of a document"
            )

    def take_text(mut self, text: Span[UInt8, _]):
        """Takes the constant text before a hole or the end.

        Args:
            text: The text, as it is sent.
        """
        var at = 0
        while at < len(text):
            if self._state == _State.TEXT:
                at = self._take_plain(text, at)
            elif self._state < _State.CLOSING_TAG:
                at = self._take_tag(text, at)
            elif self._state == _State.COMMENT:
                at = self._take_comment(text, at)
            elif self._state == _State.RAW:
                at = self._take_raw(text, at)
            else:
                at = self._take_closing(text, at)

    def _take_closing(mut self, text: Span[UInt8, _], at: Int) -> Int:
        """Takes the rest of a closing tag or of a declaration."""
        for i in range(at, len(text)):
            var octet = text.unsafe_get(i)
            if octet == _GREATER:
                self._state = _State.TEXT
                return i + 1
            if self._state == _State.CLOSING_TAG and _is_quote(octet):
                self.fault = "a quote in a closing tag"
        return len(text)

    def _take_plain(mut self, text: Span[UInt8, _], at: Int) -> Int:
        var start = find_octet(text, _LESS, at)
        if start == len(text):
            return start
        if _starts(text, start, "<!--"):
            # Two of its octets may be part of its end: `<!-->`.
            self._state = _State.COMMENT
            return start + 2
        if start + 1 == len(text):
            # A hole or the end follows: it could begin a tag.
            self._state = _State.TAG_NAME
            self._raw = 0
            return start + 1
        var next = text.unsafe_get(start + 1)
        if _starts(text, start, "<!["):
            # In SVG, it ends elsewhere than in HTML.
            self.fault = "a CDATA section"
        elif next == _octet("!") or next == _octet("?"):
            self._state = _State.DECLARATION
        elif next == _octet("/"):
            self._state = _State.CLOSING_TAG
        elif _is_letter(next):
            return self._take_tag_name(text, start + 1)
        return start + 1

    def _take_tag_name(mut self, text: Span[UInt8, _], start: Int) -> Int:
        var end = start
        while end < len(text) and not _ends_name(text.unsafe_get(end)):
            end += 1
        var name = text.unsafe_subspan(offset=start, length=end - start)
        self._raw = _raw_element(name)
        self._tag = 0
        if _place_in(_CODE_ELEMENTS, name) > 0:
            self._tag = _TagFact.LOADS_CODE
        # The name could continue with a hole.
        self._state = (
            _State.TAG_NAME if end == len(text) else _State.BEFORE_NAME
        )
        return end

    def _take_tag(mut self, text: Span[UInt8, _], at: Int) -> Int:
        var octet = text.unsafe_get(at)
        if self._state == _State.VALUE:
            return self._take_value(text, at)
        if octet == _GREATER:
            self._state = _State.RAW if self._raw > 0 else _State.TEXT
        elif self._state == _State.BEFORE_VALUE:
            if _is_quote(octet):
                self._state = _State.VALUE
                self._quote = octet
                self._scheme_is_open = self._kind == HoleKind.URL
                self._scheme = 0
                self._has_value = False
            elif not _is_blank(octet):
                self._state = _State.UNQUOTED
        elif _is_blank(octet):
            if self._state == _State.NAME:
                self._state = _State.AFTER_NAME
            elif self._state != _State.AFTER_NAME:
                self._state = _State.BEFORE_NAME
        elif self._state == _State.UNQUOTED:
            return at + 1
        elif octet == _octet("=") and (
            self._state == _State.NAME or self._state == _State.AFTER_NAME
        ):
            self._state = _State.BEFORE_VALUE
        elif octet == _octet("/"):
            self._state = _State.BEFORE_NAME
        else:
            return self._take_name(text, at)
        return at + 1

    def _take_name(mut self, text: Span[UInt8, _], start: Int) -> Int:
        var end = start + 1
        while end < len(text):
            var octet = text.unsafe_get(end)
            if _ends_name(octet) or octet == _octet("="):
                break
            end += 1
        var name = text.unsafe_subspan(offset=start, length=end - start)
        self._kind = _kind_of_attribute(name)
        self._tag &= ~_TagFact.IN_CONTENT
        if equals_lower(name, "content".as_bytes()):
            self._tag |= _TagFact.IN_CONTENT
        elif equals_lower(name, "http-equiv".as_bytes()):
            self._tag |= _TagFact.HTTP_EQUIV
            self._judge_refresh()
        self._state = _State.NAME
        return end

    def _take_value(mut self, text: Span[UInt8, _], at: Int) -> Int:
        var octet = text.unsafe_get(at)
        if octet == self._quote:
            self._state = _State.BEFORE_NAME
            return at + 1
        if not _is_before_query(self._kind):
            return at + 1
        if octet == _octet("&") and _has_reference(text, at + 1):
            # It can stand for a colon, a slash or a blank.
            self._refuse_values("a value before a reference in a URL")
        elif self._scheme_is_open:
            self._take_scheme(octet)
        elif octet == _octet("?") or octet == _octet("#"):
            self._kind = HoleKind.QUERY
        return at + 1

    def _refuse_values(mut self, fault: StaticString):
        """Refuses a URL that has or gets a value."""
        if self._has_value:
            self.fault = fault
        self._kind = HoleKind.CODE
        self._scheme_is_open = False

    def _take_scheme(mut self, octet: UInt8):
        """Takes an octet before the first `:`, `/`, `?` or `#` of a URL."""
        if octet == _octet(":"):
            if self._has_value:
                self._refuse_values("a value before a constant colon of a URL")
            else:
                self._kind = _kind_after_scheme(self._scheme)
            self._scheme_is_open = False
        elif octet == _octet("?") or octet == _octet("#"):
            self._kind = HoleKind.QUERY
            self._scheme_is_open = False
        elif octet == _octet("/") or octet == _octet("\\"):
            self._kind = HoleKind.PATH
            self._scheme_is_open = False
        elif octet > 32:
            self._kind = HoleKind.PATH
            # Longer ones are no scheme that is allowed.
            self._scheme = self._scheme << 8 | UInt64(lower_octet(octet))

    def _take_comment(mut self, text: Span[UInt8, _], at: Int) -> Int:
        var end = at
        while not _starts(text, end, "-->"):
            if _starts(text, end, "--!>"):
                self.fault = "a comment that ends with --!>"
            end += 1
            if end >= len(text):
                return len(text)
        self._state = _State.TEXT
        return end + 3

    def _take_raw(mut self, text: Span[UInt8, _], at: Int) -> Int:
        var start = find_octet(text, _LESS, at)
        if start == len(text):
            return start
        if not _starts(text, start, "</"):
            if self._holds_text():
                self._judge_tag_in_text(text, start + 1)
            elif _starts(text, start, "<!--"):
                # It lets a script contain </script>.
                self.fault = "a comment in <script>, <style> or the like"
            return start + 1
        var end = start + 2
        while end < len(text) and not _ends_name(text.unsafe_get(end)):
            end += 1
        if self._raw == _raw_element(
            text.unsafe_subspan(offset=start + 2, length=end - start - 2)
        ):
            self._state = _State.CLOSING_TAG
            return end
        if self._holds_text():
            self.fault = _TAG_IN_TEXT
        # The name of another one may contain the end tag: `</</script>`.
        return start + 2

    def _judge_tag_in_text(mut self, text: Span[UInt8, _], at: Int):
        """Refuses a tag in <title>: HTML has none there, but SVG images have
        them."""
        if at == len(text):
            # A value could continue it.
            self.fault = _TAG_IN_TEXT
            return
        var octet = text.unsafe_get(at)
        if _is_letter(octet) or octet == _octet("!") or octet == _octet("?"):
            self.fault = _TAG_IN_TEXT


def _fault_of(state: UInt8) -> StaticString:
    if state == _State.RAW:
        return "a value in <script>, <style> or the like: use json_script"
    if state == _State.COMMENT or state == _State.DECLARATION:
        return "a value in a comment or a declaration"
    if state == _State.BEFORE_VALUE or state == _State.UNQUOTED:
        return "a value in an attribute without quotes"
    return "a value in the name of a tag or of an attribute"


comptime _RAW_ELEMENTS: StaticString = (
    " script style iframe noembed noframes noscript plaintext xmp"
    " title textarea "
)
# Where the elements begin whose content may have values.
comptime _TEXT_ELEMENTS_AT = _place_in(_RAW_ELEMENTS, "title".as_bytes())
comptime _TAG_IN_TEXT: StaticString = "a tag in <title> or <textarea>"
comptime _URL_ATTRIBUTES: StaticString = (
    " action background cite classid codebase data formaction href icon"
    " longdesc manifest ping poster profile src usemap xlink:href "
)
# Scripts, styles, lists of URLs, and values that SVG assigns to attributes.
comptime _CODE_ATTRIBUTES: StaticString = (
    " style srcdoc srcset imagesrcset http-equiv to from by values"
    " attributename hx-vals hx-on "
)
# Prefixes of attributes in which libraries find code.
comptime _CODE_PREFIXES: List[StaticString] = [
    "on",
    "@",
    ":",
    "x-",
    "v-",
    "hx-on",
    "ng-",
]
comptime _CODE_ELEMENTS: StaticString = " script base "


def _raw_element(name: Span[UInt8, _]) -> Int:
    return _place_in(_RAW_ELEMENTS, name)


def _kind_of_attribute(name: Span[UInt8, _]) -> UInt8:
    comptime for prefix in _CODE_PREFIXES:
        var count = prefix.byte_length()
        if len(name) > count and equals_lower(
            name.unsafe_subspan(offset=0, length=count), prefix.as_bytes()
        ):
            return HoleKind.CODE
    if _place_in(_CODE_ATTRIBUTES, name) > 0:
        return HoleKind.CODE
    if _place_in(_URL_ATTRIBUTES, name) > 0:
        return HoleKind.URL
    return HoleKind.ATTRIBUTE


def _place_in(names: StaticString, name: Span[UInt8, _]) -> Int:
    """Returns the place of a name between blanks, in any case; 0 if it is none
    of them."""
    var octets = names.as_bytes()
    var start = 1
    while start < len(octets):
        var end = find_octet(octets, SPACE, start)
        if end - start == len(name) and equals_lower(
            name, octets.unsafe_subspan(offset=start, length=end - start)
        ):
            return start
        start = end + 1
    return 0


@always_inline
def _octet(text: StaticString) -> UInt8:
    return text.as_bytes().unsafe_get(0)


@always_inline
def _is_quote(octet: UInt8) -> Bool:
    return octet == _octet('"') or octet == _octet("'")


def _is_before_query(kind: UInt8) -> Bool:
    return (
        kind == HoleKind.URL
        or kind == HoleKind.PATH
        or kind == HoleKind.ADDRESS
    )


def _has_reference(text: Span[UInt8, _], start: Int) -> Bool:
    """Returns whether `&` before the start begins a reference other than
    `&amp;`, or could after a value."""
    var end = start
    while end < len(text) and _is_alphanumeric(text.unsafe_get(end)):
        end += 1
    if end == len(text):
        return True
    var next = text.unsafe_get(end)
    if next == _octet("#"):
        return end == start
    return next == _octet(";") and not _starts(text, start, "amp;")


def _kind_after_scheme(letters: UInt64) -> UInt8:
    comptime for allowed in SCHEMES:
        comptime wanted = _packed(allowed)
        if letters == wanted:
            comptime if allowed == "mailto" or allowed == "tel":
                return HoleKind.ADDRESS
            return HoleKind.PATH
    return HoleKind.CODE


def _packed(text: StaticString) -> UInt64:
    var letters: UInt64 = 0
    for octet in text.as_bytes():
        letters = letters << 8 | UInt64(octet)
    return letters


def _is_letter(octet: UInt8) -> Bool:
    var lower = lower_octet(octet)
    return lower >= _octet("a") and lower <= _octet("z")


def _is_alphanumeric(octet: UInt8) -> Bool:
    return _is_letter(octet) or (octet >= _octet("0") and octet <= _octet("9"))


def _is_blank(octet: UInt8) -> Bool:
    # SPACE, TAB, LF, FF and CR.
    return (
        octet == 32 or octet == 9 or octet == 10 or octet == 12 or octet == 13
    )


def _ends_name(octet: UInt8) -> Bool:
    return octet == _GREATER or octet == _octet("/") or _is_blank(octet)


def _starts(text: Span[UInt8, _], at: Int, wanted: StaticString) -> Bool:
    var count = wanted.byte_length()
    return at + count <= len(text) and equals(
        text.unsafe_subspan(offset=at, length=count), wanted.as_bytes()
    )
