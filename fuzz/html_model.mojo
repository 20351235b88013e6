"""The structure of a document, found without the code under test."""

comptime MARK: UInt8 = 81
"""`Q`, which only a value writes: the model says where it may not be."""
comptime _RAW_ELEMENTS: List[StaticString] = [
    "script",
    "style",
    "iframe",
    "noembed",
    "noframes",
    "noscript",
    "xmp",
]
comptime _CODE_ATTRIBUTES: List[StaticString] = [
    "style",
    "srcdoc",
    "srcset",
    "to",
    "values",
    "http-equiv",
]


struct HtmlModel(Movable):
    """Tokenizes a whole document, as a browser would (WHATWG HTML section
    13.2.5), and notes all but the text and the values."""

    var octets: List[UInt8]
    var at: Int
    # In an SVG image, the content of <title> is markup.
    var in_svg: Bool
    var structure: String
    """Tags, names of attributes and elements with a grammar of their own."""
    var fault: String
    """The first place with a mark where no value may be."""
    var links: List[String]
    """The URLs, without references."""
    var _element: String
    var _has_http_equiv: Bool
    var _has_marked_content: Bool

    def __init__(out self, octets: Span[UInt8, _], in_svg: Bool):
        """Creates a tokenizer.

        Args:
            octets: The document.
            in_svg: Whether it is part of an SVG image.
        """
        self.octets = List[UInt8](octets)
        self.at = 0
        self.in_svg = in_svg
        self.structure = String()
        self.fault = String()
        self.links = []
        self._element = String()
        self._has_http_equiv = False
        self._has_marked_content = False

    def read(mut self):
        """Reads the whole document."""
        while self.at < len(self.octets):
            if self.octets[self.at] != UInt8(ord("<")):
                self.at += 1
            elif self._follows("!--"):
                self._skip_comment()
            elif self._follows("!") or self._follows("?"):
                self.structure += "!"
                self._note(self._skip_to(">"), "a declaration")
            elif self._follows("/"):
                self.at += 1
                if self._is_letter_next():
                    self.structure += "/"
                    self._read_tag()
                else:
                    self._note(self._skip_to(">"), "a comment")
            elif self._is_letter_next():
                self._read_tag()
                self._read_content()
            else:
                self.at += 1

    def _read_tag(mut self):
        self._has_http_equiv = False
        self._has_marked_content = False
        var start = self.at + 1
        while self.at < len(self.octets) and not _ends_name(
            self.octets[self.at]
        ):
            self.at += 1
        var name = self._text(start, self.at)
        self._note(name, "the name of a tag")
        self._element = name.lower()
        self.structure += String("<", self._element)
        while self.at < len(self.octets):
            var octet = self.octets[self.at]
            if octet == UInt8(ord(">")):
                break
            if _is_blank(octet) or octet == UInt8(ord("/")):
                self.at += 1
                continue
            self._read_attribute()
        self.structure += ">"
        self.at += 1
        if self._has_http_equiv and self._has_marked_content:
            self.fault = "http-equiv"

    def _read_attribute(mut self):
        var start = self.at
        self.at += 1
        while self.at < len(self.octets) and not (
            _ends_name(self.octets[self.at])
            or self.octets[self.at] == UInt8(ord("="))
        ):
            self.at += 1
        var name = self._text(start, self.at)
        self._note(name, "the name of an attribute")
        name = name.lower()
        self.structure += String(" ", name)
        self._skip_blanks()
        if self.at == len(self.octets) or self.octets[self.at] != UInt8(
            ord("=")
        ):
            return
        self.at += 1
        self._skip_blanks()
        self.structure += "="
        if self.at == len(self.octets):
            return
        var quote = self.octets[self.at]
        start = self.at
        if quote == UInt8(ord('"')) or quote == UInt8(ord("'")):
            self.at += 1
            _ = self._skip_to(chr(Int(quote)))
            self._judge(name, self._text(start + 1, self.at - 1))
            return
        while self.at < len(self.octets):
            var octet = self.octets[self.at]
            if _is_blank(octet) or octet == UInt8(ord(">")):
                break
            self.at += 1
        self._note(self._text(start, self.at), "a value without quotes")

    def _judge(mut self, name: String, value: String):
        """Judges a quoted value."""
        if name.startswith("on") or name[byte=0] == "@":
            self._note(value, name)
        comptime for code in _CODE_ATTRIBUTES:
            if name == code:
                self._note(value, name)
        if name == "http-equiv":
            self._has_http_equiv = True
        elif name == "content" and _is_marked(value):
            self._has_marked_content = True
        elif name == "href" or name == "src" or name == "action":
            var link = without_references(value)
            if has_script(link):
                self._note(value, "a script")
            if self._element == "script" or self._element == "base":
                self._note(_before_query(link), "the URL of code")
            self.links.append(link^)

    def _read_content(mut self):
        comptime for raw in _RAW_ELEMENTS:
            if self._element == raw:
                self._note(self._skip_content(raw), raw)
        if not self.in_svg:
            if self._element == "title" or self._element == "textarea":
                var element = self._element
                _ = self._skip_content(element)

    def _skip_content(mut self, element: StringSlice) -> String:
        """Skips to the end tag of an element."""
        var start = self.at
        # Within a comment, a script in a script ends with an end tag of its own.
        var is_escaped = False
        var is_nested = False
        while self.at < len(self.octets):
            if element == "script":
                if self._text(self.at, self.at + 4) == "<!--":
                    is_escaped = True
                elif self._text(self.at, self.at + 3) == "-->":
                    is_escaped = False
                    is_nested = False
                elif is_escaped and self._has_tag("<script"):
                    is_nested = True
            if self._has_tag(String("</", element)):
                if not is_nested:
                    break
                is_nested = False
            self.at += 1
        return self._text(start, self.at)

    def _has_tag(self, tag: StringSlice) -> Bool:
        var end = self.at + tag.byte_length()
        return (
            self._text(self.at, end).lower() == tag
            and end < len(self.octets)
            and _ends_name(self.octets[end])
        )

    def _skip_comment(mut self):
        self.structure += "#"
        var start = self.at
        self.at += 4
        if self._text(self.at, self.at + 1) == ">":
            self.at += 1
            return
        if self._text(self.at, self.at + 2) == "->":
            self.at += 2
            return
        while self.at < len(self.octets):
            if self._text(self.at, self.at + 3) == "-->":
                self.at += 3
                break
            if self._text(self.at, self.at + 4) == "--!>":
                self.at += 4
                break
            self.at += 1
        self._note(self._text(start, self.at), "a comment")

    def _skip_to(mut self, last: StringSlice) -> String:
        var start = self.at
        while self.at < len(self.octets) and self.octets[self.at] != UInt8(
            ord(last)
        ):
            self.at += 1
        self.at += 1
        return self._text(start, self.at)

    def _skip_blanks(mut self):
        while self.at < len(self.octets) and _is_blank(self.octets[self.at]):
            self.at += 1

    def _note(mut self, text: String, place: StringSlice):
        if _is_marked(text):
            self.fault = String(place)

    def _is_letter_next(self) -> Bool:
        return self.at + 1 < len(self.octets) and _is_letter(
            self.octets[self.at + 1]
        )

    def _follows(self, text: StaticString) -> Bool:
        return self._text(self.at + 1, self.at + 1 + text.byte_length()) == text

    def _text(self, start: Int, end: Int) -> String:
        var text = String()
        for i in range(start, min(end, len(self.octets))):
            text += chr(Int(self.octets[i]))
        return text


def without_references(value: String) -> String:
    """Replaces the references that matter in a URL.

    Args:
        value: The value of an attribute.

    Returns:
        What a browser takes for the URL.
    """
    var text = value
    text = text.replace("&#39;", "'").replace("&#58;", ":")
    text = text.replace("&#x3a;", ":").replace("&colon;", ":")
    text = text.replace("&Tab;", "\t").replace("&quot;", '"')
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def has_script(link: String) -> Bool:
    """Returns whether a browser would run a link.

    Args:
        link: The URL.

    Returns:
        True for `javascript:` and for a document in the URL.
    """
    var start = _cleaned(link).lower()
    return start.startswith("javascript:") or start.startswith("data:")


def host(link: String) -> String:
    """Returns the host that a link names (WHATWG URL section 4.4).

    Args:
        link: The URL.

    Returns:
        The authority; empty if it names none.
    """
    var text = _cleaned(link).replace("\\", "/")
    var lower = text.lower()
    var start = 0
    if lower.startswith("http:") or lower.startswith("https:"):
        start = text.find(":") + 1
    if not text[byte=start:].startswith("//"):
        return String()
    while start < text.byte_length() and text[byte=start] == "/":
        start += 1
    var end = start
    while end < text.byte_length():
        var octet = text.as_bytes()[end]
        if octet == 47 or octet == 63 or octet == 35:
            break
        end += 1
    return String(text[byte=start:end])


def _before_query(link: String) -> String:
    var end = 0
    while end < link.byte_length() and not (
        link[byte=end] == "?" or link[byte=end] == "#"
    ):
        end += 1
    return String(link[byte=0:end])


def _cleaned(link: String) -> String:
    """Removes what browsers ignore in a URL."""
    var text = String()
    for octet in link.as_bytes():
        # Blanks are ignored at the front only.
        if octet > 32 or (octet == 32 and text.byte_length() > 0):
            text += chr(Int(octet))
    return text^


def _is_marked(text: String) -> Bool:
    for octet in text.as_bytes():
        if octet == MARK:
            return True
    return False


def _is_letter(octet: UInt8) -> Bool:
    return (octet >= 65 and octet <= 90) or (octet >= 97 and octet <= 122)


def _ends_name(octet: UInt8) -> Bool:
    return (
        _is_blank(octet) or octet == UInt8(ord("/")) or octet == UInt8(ord(">"))
    )


def _is_blank(octet: UInt8) -> Bool:
    return (
        octet == 32 or octet == 9 or octet == 10 or octet == 12 or octet == 13
    )
