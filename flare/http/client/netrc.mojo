"""Reads logins out of a netrc file, for a program that asks for it.

Nothing is read unless `read_netrc` is called, and from no other path than the
one that it is given.
"""

from .credentials import BasicAuth

comptime _FILE_OCTETS_MAX = 1 << 20


def read_netrc(
    path: StringSlice, host: StringSlice
) raises -> Optional[BasicAuth]:
    """Looks a login up in a file.

    Args:
        path: The path of the file.
        host: The host, as a URL has it.

    Returns:
        The login, or none.

    Raises:
        Error: `client.netrc` if the file exceeds 1 MiB or is no UTF-8, and what
            the library raises if it cannot be read.
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
    """Looks a login up in the text of a netrc file.

    Args:
        text: `machine`, `login` and `password` with their values in any order
            of lines; `default` stands for every host that is not named before
            it. A word may stand in quotation marks; a line that begins with a
            number sign, and macros, are passed over.
        host: The host.

    Returns:
        The first login of the host, or none.
    """
    var words = _words(text)
    var is_meant = False
    var user = Optional[String](None)
    var password = String()
    var i = 0
    while i < len(words):
        ref word = words[i]
        i += 1
        if word == "machine" or word == "default":
            if is_meant:
                break
            if word == "default":
                is_meant = True
                continue
            is_meant = (
                i < len(words) and words[i].lower() == String(host).lower()
            )
            i += 1
        elif word == "login" or word == "password" or word == "account":
            if is_meant and i < len(words):
                if word == "login":
                    user = words[i]
                elif word == "password":
                    password = words[i]
            i += 1
    if not user:
        return None
    return BasicAuth(user.take(), password^)


def _words(text: StringSlice) -> List[String]:
    var words = List[String]()
    var is_macro = False
    for line in text.split("\n"):
        var rest = line.strip()
        # A macro lasts to the next empty line.
        if is_macro or rest.startswith("#"):
            is_macro = is_macro and rest.byte_length() > 0
            continue
        var octets = rest.as_bytes()
        var at = 0
        while at < len(octets):
            if octets[at] <= 32:
                at += 1
                continue
            var word = List[UInt8]()
            var is_quoted = octets[at] == 34
            at += 1 if is_quoted else 0
            while at < len(octets):
                if is_quoted and octets[at] == 34:
                    at += 1
                    break
                if not is_quoted and octets[at] <= 32:
                    break
                if is_quoted and octets[at] == 92 and at + 1 < len(octets):
                    at += 1
                word.append(octets[at])
                at += 1
            words.append(String(unsafe_from_utf8=Span(word)))
        if len(words) > 1 and words[len(words) - 2] == "macdef":
            is_macro = True
    return words^
