"""A login is found in a netrc file as the list that the file was written from has it.

Invariant: of a file written from a list, in any layout, the first entry that
means a host gives its login and password, and nothing that is a value, a
comment or a macro is taken for a keyword; line ends of both kinds mean the
same. Any text yields a login that is text of one line, or none.
"""

from flare.http import BasicAuth, netrc_login

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate

comptime _Octets = List[UInt8]

comptime _HOSTS: List[StaticString] = [
    "a.test",
    "b.a.test",
    "a",
    "localhost",
    "::1",
    "machine",
    "default",
]

comptime _WORDS: List[StaticString] = [
    "machine",
    "default",
    "login",
    "password",
    "account",
    "macdef",
    "#",
    "#x",
    "me",
    "\\",
    "a\\b",
    'a"b',
    '"',
    "two words",
    " ",
    "\t",
    "end ",
    "",
    "é",
    "\xc2\xa0",
]


def fuzz_netrc(mut random: Random, mut histogram: Histogram) raises:
    """Looks one host up in one file.

    Args:
        random: Draws and damages the file.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var entries = List[_Entry]()
    for _ in range(random.below(5)):
        entries.append(_Entry(random))
    var octets = _write(entries, random)
    var host = String(random.pick(materialize[_HOSTS]()))
    if len(entries) > 0 and random.chance(50):
        host = random.pick(entries).machine.or_else(host)
    if random.chance(10):
        host = "elsewhere.test"
    if random.chance(30):
        host = host.upper()
    if random.chance(30):
        return _check_any(mutate(octets, random), host, histogram)
    histogram.input(Span(octets))
    var found = netrc_login(StringSlice(from_utf8=Span(octets)), host)
    _check_line_ends(octets, host, found)
    for entry in entries:
        if entry.machine and entry.machine.value() != host.lower():
            continue
        if not entry.login:
            break
        if not found:
            raise Error("the login of ", host, " is not found")
        if found.value().user != entry.login.value():
            raise Error("another user: ", found.value().user)
        if found.value().password != entry.password.or_else(""):
            raise Error("another password: ", found.value().password)
        return histogram.count_whole("a login")
    if found:
        raise Error("a login for ", host, ": ", found.value().user)
    histogram.count_whole("none")


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_netrc)


struct _Entry(Copyable, Movable):
    var machine: Optional[String]
    var login: Optional[String]
    var password: Optional[String]
    var account: Optional[String]

    def __init__(out self, mut random: Random):
        self.machine = None
        self.login = None
        self.password = None
        self.account = None
        if random.chance(85):
            self.machine = String(random.pick(materialize[_HOSTS]()))
        if random.chance(80):
            self.login = _draw_word(random)
        if random.chance(70):
            self.password = _draw_word(random)
        if random.chance(20):
            self.account = _draw_word(random)


def _draw_word(mut random: Random) -> String:
    if random.chance(50):
        return String(random.pick(materialize[_WORDS]()))
    var octets = random.octets_of('aZ0#"\\ \t=:,', random.below(8))
    return String(from_utf8_lossy=Span(octets))


def _write(entries: List[_Entry], mut random: Random) -> _Octets:
    var text = String()
    _write_between(text, random)
    for entry in entries:
        if entry.machine:
            var machine = entry.machine.value()
            if random.chance(30):
                machine = machine.upper()
            text += "machine"
            _write_value(machine, text, random)
        else:
            text += "default"
        # Whatever else an entry says, it says in any order.
        var keywords: List[StaticString] = ["login", "password", "account"]
        while len(keywords) > 0:
            var keyword = keywords.pop(random.below(len(keywords)))
            var value = entry.account
            if keyword == "login":
                value = entry.login
            elif keyword == "password":
                value = entry.password
            if not value:
                continue
            _write_between(text, random)
            text += keyword
            _write_value(value.value(), text, random)
        _write_between(text, random)
    if random.chance(10):
        text += "macdef last\nmachine a.test login no\n"
    return _Octets(text.as_bytes())


def _write_value(value: String, mut text: String, mut random: Random):
    _write_blanks(text, random)
    var must_be_quoted = value.byte_length() == 0 or value.startswith('"')
    # There it would begin a comment.
    must_be_quoted |= value.startswith("#")
    for octet in value.as_bytes():
        must_be_quoted |= octet <= 32
    if not must_be_quoted and random.chance(70):
        text += value
        return
    text += '"'
    for character in value.codepoint_slices():
        if character == '"' or character == "\\" or random.chance(10):
            text += "\\"
        text += character
    text += '"'


def _write_between(mut text: String, mut random: Random):
    # What may stand where a keyword could.
    if text.byte_length() > 0:
        _write_blanks(text, random)
    if random.chance(80):
        return
    if text.byte_length() > 0:
        text += "\n"
    if random.chance(50):
        text += random.pick(
            [
                StaticString("#"),
                "# machine a.test login no",
                "  #login no password no",
                "# macdef no",
                '#"',
            ]
        )
        text += "\n"
        return
    text += "macdef"
    text += random.pick([StaticString(" "), "\t ", "  "])
    text += random.pick(
        [StaticString("init"), "machine", "default", "login", "macdef", '"x"']
    )
    text += "\n"
    for _ in range(random.below(4)):
        text += random.pick(
            [
                StaticString("cd /pub"),
                "machine a.test login no password no",
                "default login no",
                "# no",
                "macdef no",
                '  put "x',
                "login no",
            ]
        )
        text += "\n"
    # The empty line that ends it, and those that end nothing more.
    for _ in range(1 + random.below(3)):
        text += random.pick([StaticString("\n"), "\n", " \n", "\t\n"])


def _write_blanks(mut text: String, mut random: Random):
    for _ in range(random.between(1, 2)):
        text += random.pick(
            [
                StaticString(" "),
                " ",
                "  ",
                "\t",
                "\n",
                "\n ",
                "\n\n",
                "\n#\n",
                " #\n",
                "\t# login no password no\n",
                ' #machine a.test "\n',
                " # macdef no\n",
            ]
        )


def _check_line_ends(
    octets: _Octets, host: String, found: Optional[BasicAuth]
) raises:
    var other = _Octets()
    for octet in octets:
        if octet == 10:
            other.append(13)
        other.append(octet)
    var again = netrc_login(StringSlice(from_utf8=Span(other)), host)
    if Bool(found) != Bool(again):
        raise Error("found with one kind of line ends alone")
    if found and (
        found.value().user != again.value().user
        or found.value().password != again.value().password
    ):
        raise Error("another login with other line ends")


def _check_any(octets: _Octets, host: String, mut histogram: Histogram) raises:
    # A file that is no UTF-8 is refused where it is read.
    var text = String(from_utf8_lossy=Span(octets))
    histogram.input(text.as_bytes())
    var found = netrc_login(text, host)
    _check_line_ends(_Octets(text.as_bytes()), host, found)
    if not found:
        return histogram.count("damaged: none")
    for value in [found.value().user, found.value().password]:
        _ = StringSlice(from_utf8=value.as_bytes())
        for octet in value.as_bytes():
            if octet == 10:
                raise Error("a value has two lines")
    if "login" not in text.replace("\\", ""):
        raise Error("a login where none is written")
    histogram.count("damaged: a login")
