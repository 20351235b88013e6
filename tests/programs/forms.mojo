"""Reads and writes forms and cookies for tests/python/test_form_peers.py.

Each line of the input is a command and texts in hexadecimal digits, `-` for
none; each has one line of output.
"""

from flare.core import Buffer
from flare.message import (
    CookieStore,
    FormFields,
    Url,
    parse_cookie_date,
    parse_cookie_header,
    parse_set_cookie_header,
)
from flare.proto.multipart import (
    MultipartEvent,
    MultipartMachine,
    MultipartWriter,
    PartDescription,
)

comptime NOW = 1_700_000_000
comptime DIGITS: StaticString = "0123456789abcdef"


def main() raises:
    var store = CookieStore()
    for line in open("/dev/stdin", "r").read().split("\n"):
        if line.byte_length() == 0:
            continue
        var words = line.split(" ")
        var texts = List[List[UInt8]]()
        for i in range(1, len(words)):
            texts.append(_octets(words[i]))
        try:
            print(_answer(String(words[0]), texts, store))
        except e:
            print("!", e)


def _answer(
    command: String, texts: List[List[UInt8]], mut store: CookieStore
) raises -> String:
    if command == "form":
        var text = String()
        for field in FormFields.parse(Span(texts[0])).fields:
            text.write(_hex(field.name.as_bytes()), " ")
            text.write(_hex(field.value.as_bytes()), " ")
        return text^
    if command == "write-form":
        var form = FormFields()
        for i in range(0, len(texts), 2):
            form.append(_text(texts[i]), _text(texts[i + 1]))
        return form.encoded()
    if command == "multipart":
        return _parts(texts[0], texts[1])
    if command == "write-multipart":
        return _written(texts)
    if command == "date":
        var date = parse_cookie_date(Span(texts[0]))
        return String(date.value().seconds) if date else String("none")
    if command == "cookies":
        var text = String()
        for cookie in parse_cookie_header(_text(texts[0])):
            text.write(_hex(cookie.name.as_bytes()), " ")
            text.write(_hex(cookie.value.as_bytes()), " ")
        return text^
    if command == "again":
        return parse_set_cookie_header(_text(texts[0])).to_set_cookie()
    if command == "clear":
        store.clear()
        return "cleared"
    if command == "set":
        var url = Url.parse(_text(texts[0]))
        store.receive(url, Span(texts[1]), NOW)
        return "kept"
    if command == "header":
        var url = Url.parse(_text(texts[0]))
        return store.header(url, NOW)
    raise Error("no such command")


def _parts(boundary: List[UInt8], octets: List[UInt8]) raises -> String:
    var machine = MultipartMachine(Span(boundary))
    var content = List[UInt8]()
    var text = String()
    var start = 0
    while True:
        var event = machine.next_event(Span(octets)[start:])
        if event.kind == MultipartEvent.END:
            return text^
        if event.kind == MultipartEvent.NEED_OCTETS and event.consumed == 0:
            machine.receive_end()
        if event.kind == MultipartEvent.DATA:
            var at = start + event.start
            content.extend(Span(octets)[at : at + event.length])
        if event.kind == MultipartEvent.END_OF_PART:
            text.write(_hex(machine.part.name.as_bytes()), " ")
            if machine.part.file_name:
                var name = machine.part.file_name.value()
                text.write(_hex(name.as_bytes()), " ")
            else:
                text += "- "
            text.write(_hex(machine.part.content_type().as_bytes()), " ")
            text.write(_hex(Span(content)), " ")
            content.clear()
        start += event.consumed


def _written(texts: List[List[UInt8]]) raises -> String:
    # Boundary, then name, file name and content of each part.
    var writer = MultipartWriter(_text(texts[0]))
    var output = Buffer()
    for i in range(1, len(texts), 3):
        var part = PartDescription.field(_text(texts[i]))
        if len(texts[i + 1]) > 0:
            part = PartDescription.file(_text(texts[i]), _text(texts[i + 1]))
        writer.write_head(part, output)
        output.append(Span(texts[i + 2]))
        writer.write_part_end(output)
    writer.write_end(output)
    return _hex(output.span())


def _octets(word: StringSlice) -> List[UInt8]:
    var octets = List[UInt8]()
    if word == "-":
        return octets^
    for i in range(0, word.byte_length(), 2):
        var digits = word.as_bytes()[i : i + 2]
        octets.append(_value(digits[0]) << 4 | _value(digits[1]))
    return octets^


def _value(digit: UInt8) -> UInt8:
    return digit - 48 if digit < 58 else digit - 87


def _text(octets: List[UInt8]) -> String:
    return String(StringSlice(unsafe_from_utf8=Span(octets)))


def _hex(octets: Span[UInt8, _]) -> String:
    if len(octets) == 0:
        return "-"
    var text = String()
    for b in octets:
        text += DIGITS[byte = Int(b >> 4) : Int(b >> 4) + 1]
        text += DIGITS[byte = Int(b & 15) : Int(b & 15) + 1]
    return text^
