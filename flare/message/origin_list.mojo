"""Lists the origins whose pages a server trusts.

Suffixes of texts are compared nowhere: `evilb.example` is not below
`b.example`, and `https://a.example.evil.net` is not `https://a.example`.
"""

from flare.core import (
    equals,
    equals_ignoring_case,
    find_octet,
    write_escaped,
)

from .web_origin import WebOrigin

comptime _DOT: UInt8 = 46
comptime _ASTERISK: UInt8 = 42
comptime _WILDCARD: StaticString = "://*."


@fieldwise_init
struct _Rule(Copyable, Movable):
    # An origin in its normal form, as browsers write it. That of a wildcard
    # lacks the `*.`.
    var text: String
    var scheme: String
    var host: String
    var port: Int
    var is_wildcard: Bool

    @always_inline
    def matches_normal_form(self, octets: Span[UInt8, _]) -> Bool:
        var text = self.text.as_bytes()
        if not self.is_wildcard:
            return equals(octets, text)
        var host = self.scheme.byte_length() + 3
        var start = len(octets) - (len(text) - host)
        return (
            start > host + 1
            and octets[start - 1] == _DOT
            and equals(octets[start:], text[host:])
            and equals(octets[:host], text[:host])
            and _are_labels(octets[host : start - 1])
        )

    def matches(self, origin: WebOrigin[_]) -> Bool:
        if self.port != origin.port or not equals_ignoring_case(
            self.scheme.as_bytes(), origin.scheme
        ):
            return False
        var host = self.host.as_bytes()
        if not self.is_wildcard:
            return equals_ignoring_case(host, origin.host)
        var start = len(origin.host) - len(host)
        return (
            start > 1
            and origin.host[start - 1] == _DOT
            and equals_ignoring_case(origin.host[start:], host)
            and _are_labels(origin.host[: start - 1])
        )


struct OriginList(Copyable, Movable, Sized):
    """Origins that a server trusts, compared as scheme, host and port.

    | entry | accepts |
    |---|---|
    | `https://a.example`, `http://a.example:8080` | this origin |
    | `https://*.b.example` | each host below it, at any depth, but not `b.example` |
    | `null` | pages whose origin browsers do not reveal, such as sandboxed ones: anyone can make one |
    | `*` | every origin |
    """

    var has_any: Bool
    """Whether it contains `*`."""
    var has_null: Bool
    """Whether it contains `null`."""
    var _rules: List[_Rule]

    def __init__(out self, origins: List[String]) raises:
        """Parses a list.

        Args:
            origins: The entries.

        Raises:
            Error: `message.bad_origin`, with the reason and the entry.
        """
        self.has_any = False
        self.has_null = False
        self._rules = []
        for entry in origins:
            if entry == "*":
                self.has_any = True
            elif entry == "null":
                self.has_null = True
            else:
                self._rules.append(_parsed(entry))

    def __len__(self) -> Int:
        """Returns the number of entries that name hosts.

        Returns:
            The number, without `null` and `*`.
        """
        return len(self._rules)

    def accepts(self, octets: Span[UInt8, _]) -> Bool:
        """Returns whether the list has an origin. Allocates nothing.

        Args:
            octets: The value of a field Origin, unchecked.

        Returns:
            True if an entry accepts it.
        """
        if self.has_any:
            return True
        # Browsers write the normal form, which needs no parsing.
        for rule in self._rules:
            if rule.matches_normal_form(octets):
                return True
        return self._accepts_parsed(octets)

    @no_inline
    def _accepts_parsed(self, octets: Span[UInt8, _]) -> Bool:
        var origin = WebOrigin[ImmOrigin(octets.origin)].parse(octets)
        if not origin:
            return self.has_null and equals(octets, "null".as_bytes())
        for rule in self._rules:
            if rule.matches(origin.unsafe_value()):
                return True
        return False


def _parsed(entry: String) raises -> _Rule:
    var is_wildcard = entry.find(_WILDCARD) >= 0
    var plain = entry.replace(_WILDCARD, "://") if is_wildcard else entry
    var octets = plain.as_bytes()
    if find_octet(octets, _ASTERISK) < len(octets):
        raise _bad_origin("a * stands only in front of a domain", entry)
    var found = WebOrigin[ImmOrigin(octets.origin)].parse(octets)
    if not found:
        raise _bad_origin(
            (
                "write scheme, host and a port if it is not the default one:"
                " https://a.example"
            ),
            entry,
        )
    ref origin = found.unsafe_value()
    if is_wildcard and not _are_labels(origin.host):
        raise _bad_origin("a * stands only in front of a domain", entry)
    return _Rule(
        origin.normal_form(),
        String(StringSlice(unsafe_from_utf8=origin.scheme)),
        String(StringSlice(unsafe_from_utf8=origin.host)),
        origin.port,
        is_wildcard,
    )


def _bad_origin(reason: StaticString, entry: String) -> Error:
    var text = String("message.bad_origin ", reason, ": ")
    write_escaped(entry.as_bytes(), text)
    return Error(text^)


def _are_labels(octets: Span[UInt8, _]) -> Bool:
    # Of a domain name: no empty label, and no octet that browsers would not
    # send in one.
    var is_start = True
    for octet in octets:
        if octet == _DOT:
            if is_start:
                return False
            is_start = True
            continue
        var is_letter = (octet | 32) - 97 < 26
        if not (
            is_letter
            or octet - 48 < 10
            or octet == UInt8(ord("-"))
            or octet == UInt8(ord("_"))
        ):
            return False
        is_start = False
    return not is_start
