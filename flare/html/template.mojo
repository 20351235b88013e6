"""Fills templates, and escapes each value for the place where it appears."""

from std.format.tstring import TString, _ErasedWriter

from flare.core.text_buffer import TextBuffer

from .markup import Markup, is_mark
from .template_reader import HoleKind, TemplateReader
from .value import append_constant, append_value


@fieldwise_init
struct _Part(TrivialRegisterPassable):
    """The constant text before a hole, and the place of the hole."""

    var start: Int
    var octets: Int
    var kind: UInt8


struct HtmlPage(Movable):
    """Collects the pieces of a document."""

    var _buffer: TextBuffer
    # The latest template, which often comes again: once for each row.
    var _template: Int
    var _parts: List[_Part]

    def __init__(out self):
        """Creates an empty document."""
        self._buffer = TextBuffer()
        self._template = 0
        self._parts = []

    def add(mut self, template: TString) raises:
        """Appends a piece.

        Args:
            template: The piece, a t-string: `t"<td>{name}</td>"`.

        Raises:
            `html.bad_template` if no escaping would make a value safe at its
            place, or if the template ends inside of a tag. The document is as
            before.
        """
        var text = template._encoded
        # Two texts that differ in NUL have one address, and other holes.
        if Int(text) != self._template or len(self._parts) != (
            len(template._values) + 1
        ):
            self._parts.clear()
            self._template = 0
            _divide(text, len(template._values), self._parts)
            self._template = Int(text)
        var before = len(self._buffer)
        var writer = _ValueWriter(Pointer(to=self._buffer))
        var after = HoleKind.TEXT
        for i in range(len(self._parts)):
            var part = self._parts.unsafe_get(i)
            append_constant(
                self._buffer, after, _octets_at(text, part.start, part.octets)
            )
            after = part.kind
            if i < len(template._values):
                writer.begin(part.kind)
                template._values[i].dispatch_write_to(_ErasedWriter(writer))
                writer.end()
        if writer.has_fault:
            self._buffer.shorten(len(self._buffer) - before)
            raise Error(
                "html.bad_template fill: markup in an attribute or a title"
            )

    def add(mut self, markup: Markup):
        """Appends markup.

        Args:
            markup: The markup.
        """
        self._buffer.append(markup.text().as_bytes())

    def take(mut self) -> Markup:
        """Returns the document, and begins an empty one.

        Returns:
            The markup.
        """
        return Markup(unsafe_text=self._buffer.take())


def html(template: TString) raises -> Markup:
    """Returns markup whose interpolated values are escaped.

    Each value is written for its place. Between tags and in quoted attributes, it
    is escaped. An attribute that holds a URL takes no `javascript:`; after the
    start of the URL, a value is percent-encoded. `Markup` is taken over between
    tags.

    Args:
        template: A t-string that begins and ends outside of tags:
            `t"<a href='/items/{id}'>{name}</a>"`.

    Returns:
        The markup.

    Raises:
        `html.bad_template` if a value appears in another place: a script, a
        style, a comment, a name, an attribute without quotes or with code. It
        is raised too if the template ends inside of a tag.
    """
    var page = HtmlPage()
    page.add(template)
    return page.take()


def each[
    T: AnyType, //, Row: def(T) raises -> Markup
](items: Span[T, _], row: Row) raises -> Markup:
    """Returns the markup of all items, one after another.

    Parameters:
        T: The type of an item.
        Row: The type of the function.

    Args:
        items: The items.
        row: Makes the markup of one item.

    Returns:
        The markup.

    Raises:
        The error of the function.
    """
    var page = HtmlPage()
    for ref item in items:
        page.add(row(item))
    return page.take()


def _divide(
    text: Pointer[UInt8, ImmStaticOrigin], holes: Int, mut parts: List[_Part]
) raises:
    """Finds the constant parts of a template: each ends with NUL."""
    var reader = TemplateReader()
    var start = 0
    for i in range(holes + 1):
        var end = start
        while text[unsafe_offset=end] != 0:
            end += 1
        reader.take_text(_octets_at(text, start, end - start))
        var kind = HoleKind.TEXT
        if i < holes:
            kind = reader.take_hole()
        else:
            reader.end()
        if reader.fault != "":
            raise Error("html.bad_template fill: ", reader.fault)
        parts.append(_Part(start, end - start, kind))
        start = end + 1


@always_inline
def _octets_at(
    text: Pointer[UInt8, ImmStaticOrigin], start: Int, count: Int
) -> Span[UInt8, ImmStaticOrigin]:
    return Span(unsafe_ptr=text.unsafe_offset(start), length=count)


struct _ValueWriter[origin: MutOrigin](Movable, Writer):
    """Brings the text of a value into the form of its place."""

    var buffer: Pointer[TextBuffer, Self.origin]
    var kind: UInt8
    var is_markup: Bool
    var has_fault: Bool
    # The start of a URL is judged as a whole.
    var whole: String

    def __init__(out self, buffer: Pointer[TextBuffer, Self.origin]):
        self.buffer = buffer
        self.kind = HoleKind.TEXT
        self.is_markup = False
        self.has_fault = False
        self.whole = String()

    def begin(mut self, kind: UInt8):
        self.kind = kind
        self.is_markup = False

    def write_string(mut self, string: StringSlice):
        if is_mark(string):
            self.is_markup = True
            if self.kind != HoleKind.TEXT:
                self.has_fault = True
        elif self.is_markup:
            self.is_markup = False
            self.buffer[].append(string.as_bytes())
        elif self._is_judged_whole():
            self.whole.write_string(string)
        else:
            append_value(self.buffer[], self.kind, string)

    def end(mut self):
        if self._is_judged_whole():
            append_value(self.buffer[], self.kind, self.whole)
            self.whole = String()

    def _is_judged_whole(self) -> Bool:
        return self.kind == HoleKind.URL or self.kind == HoleKind.PATH
