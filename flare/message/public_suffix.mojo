"""Lists the public suffixes, such as `com` and `co.uk`: domains below which
anyone can register a name.

A cookie for such a domain would be sent to the sites of strangers. The rules
are a text as described at publicsuffix.org. Without rules, only domains of a
single label count.
"""

from flare.core import LF, find_octet

comptime _NAMED: UInt8 = 1
comptime _WILDCARD: UInt8 = 2
comptime _EXCEPTION: UInt8 = 4
comptime _DOT: UInt8 = 46


struct PublicSuffixes(Copyable, Movable, Sized):
    """A set of rules about public suffixes."""

    comptime RULES_MAX = 65536
    """The most rules that are read."""

    # The forms of rules that a domain has, together.
    var _rules: Dict[String, UInt8]

    def __init__(out self):
        """Creates the set with only the rule for domains of a single label."""
        self._rules = Dict[String, UInt8]()

    @staticmethod
    def parse(text: StringSlice) raises -> Self:
        """Parses rules, one per line.

        Args:
            text: Lines with a domain such as `co.uk`, `*.ck` or `!www.ck`.
                Empty lines and lines that start with `//` are skipped. So are
                rules that are not ASCII: names in requests have the form of
                IDNA (`xn--…`), and rules must have it too.

        Returns:
            The rules.

        Raises:
            Error: `message.bad_public_suffixes` if there are more than
                `RULES_MAX`.
        """
        var suffixes = Self()
        var rest = text.as_bytes()
        while len(rest) > 0:
            var end = find_octet(rest, LF)
            suffixes._add(rest[:end])
            rest = rest[min(end + 1, len(rest)) :]
            if len(suffixes) > Self.RULES_MAX:
                raise Error("message.bad_public_suffixes too many rules")
        return suffixes^

    def __len__(self) -> Int:
        """Returns the number of domains with rules.

        Returns:
            The number.
        """
        return len(self._rules)

    def __contains__(self, domain: StringSlice) -> Bool:
        """Returns whether a domain is a public suffix.

        Args:
            domain: A domain in lower case; a final dot is ignored.

        Returns:
            True if anyone can register a name below it.
        """
        var name = domain.as_bytes()
        if len(name) > 0 and name[len(name) - 1] == _DOT:
            name = name[: len(name) - 1]
        var dot = find_octet(name, _DOT)
        var own = self._forms_of(name)
        if own & _EXCEPTION != 0:
            return False
        if dot == len(name) or own & _NAMED != 0:
            return True
        return self._forms_of(name[dot + 1 :]) & _WILDCARD != 0

    def _forms_of(self, domain: Span[UInt8, _]) -> UInt8:
        return self._rules.get(
            String(StringSlice(unsafe_from_utf8=domain))
        ).or_else(0)

    def _add(mut self, line: Span[UInt8, _]):
        # A rule ends at the first white space.
        var end = 0
        while end < len(line) and line[end] > 32 and line[end] < 127:
            end += 1
        if end < len(line) and line[end] > 126:
            return
        var rule = line[:end]
        if len(rule) == 0 or rule[0] == UInt8(ord("/")):
            return
        var form = _NAMED
        if rule[0] == UInt8(ord("!")):
            form = _EXCEPTION
            rule = rule[1:]
        elif len(rule) > 2 and rule[0] == UInt8(ord("*")) and rule[1] == _DOT:
            form = _WILDCARD
            rule = rule[2:]
        var domain = String(StringSlice(unsafe_from_utf8=rule)).lower()
        var forms = self._rules.get(domain).or_else(0) | form
        self._rules[domain^] = forms
