"""Reads logins from a netrc file, on request of the program.

Only `read_netrc` reads a file, and only from the given path.
"""

from .credentials import BasicAuth

comptime _FILE_OCTETS_MAX = 1 << 20
comptime _NUMBER_SIGN: UInt8 = 35


def read_netrc(
    path: StringSlice, host: StringSlice
) raises -> Optional[BasicAuth]:
    """Returns the login for a host from a file.

    Args:
        path: The path of the file.
        host: The host, as in a URL.

    Returns:
        The login, or `None`.

    Raises:
        Error: `client.netrc` if the file exceeds 1 MiB or is not UTF-8, and
            the library's error if it cannot be read.
    """
    var octets: List[UInt8]
    with open(String(path), "r") as file:
        octets = file.read_bytes(_FILE_OCTETS_MAX + 1)
    if len(octets) > _FILE_OCTETS_MAX:
        raise Error("client.netrc the file is too long")
    try:
        return netrc_login(StringSlice(from_utf8=Span(octets)), host)
    except:
        raise Error("client.netrc the file is no UTF-8")


def netrc_login(text: StringSlice, host: StringSlice) -> Optional[BasicAuth]:
    """Returns the login for a host from the text of a netrc file.

    Args:
        text: `machine`, `login` and `password` with their values, on any
            lines. `default` applies to every host without an entry before it.
            A word may be quoted. An unquoted word that starts with a number
            sign starts a comment up to the end of the line, even in place of a
            value. Macros are skipped.
        host: The host.

    Returns:
        The first login for the host, or `None`. A client sends it to that host
        only.
    """
    var search = _Search(String(host).lower())
    var is_macro = False
    for line in text.split("\n"):
        var rest = line.strip()
        # A macro lasts to the next empty line.
        if is_macro:
            is_macro = rest.byte_length() > 0
            continue
        var octets = rest.as_bytes()
        var at = 0
        while at < len(octets) and not is_macro:
            if octets[at] <= 32:
                at += 1
                continue
            if octets[at] == _NUMBER_SIGN:
                break
            var word = List[UInt8]()
            at = _read_word(octets, at, word)
            is_macro = search.take(
                String(StringSlice(unsafe_from_utf8=Span(word)))
            )
    if not search.user:
        return None
    return BasicAuth(search.user.take(), search.password, host=search.host)


struct _Search:
    var host: String
    # The keyword whose value comes next; empty before a keyword.
    var keyword: String
    var is_meant: Bool
    var is_over: Bool
    var user: Optional[String]
    var password: String

    def __init__(out self, var host: String):
        self.host = host^
        self.keyword = String()
        self.is_meant = False
        self.is_over = False
        self.user = None
        self.password = String()

    def take(mut self, var word: String) -> Bool:
        # True at the start of a macro.
        if self.keyword.byte_length() > 0:
            self._take_value(word^)
            self.keyword = String()
        elif word == "macdef":
            return True
        elif word == "machine" or word == "default":
            self.is_over |= self.is_meant
            self.is_meant = word == "default"
            if word == "machine":
                self.keyword = word^
        elif word == "login" or word == "password" or word == "account":
            self.keyword = word^
        return False

    def _take_value(mut self, var value: String):
        if self.keyword == "machine":
            self.is_meant = value.lower() == self.host
        elif not self.is_meant or self.is_over:
            return
        elif self.keyword == "login":
            self.user = value^
        elif self.keyword == "password":
            self.password = value^


def _read_word(
    octets: Span[UInt8, _], start: Int, mut into: List[UInt8]
) -> Int:
    var is_quoted = octets[start] == 34
    var at = start + Int(is_quoted)
    while at < len(octets):
        if is_quoted and octets[at] == 34:
            return at + 1
        if not is_quoted and octets[at] <= 32:
            break
        if is_quoted and octets[at] == 92 and at + 1 < len(octets):
            at += 1
        into.append(octets[at])
        at += 1
    return at
