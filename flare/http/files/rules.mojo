"""Defines the fields that `StaticFiles` adds to answers, by file names."""

from flare.message.list_grammar import lists_member

from .compressed_forms import FileCompression
from .media_types import MediaTypes

comptime _IMMUTABLE: StaticString = "public, max-age=31536000, immutable"
comptime _STAR: UInt8 = 42
comptime _SLASH: UInt8 = 47
comptime _DOT: UInt8 = 46


struct CacheRule(Copyable, Movable):
    """The value of Cache-Control for files of some names."""

    var pattern: String
    """The pattern of the path; `*` stands for any octets, also for `/`. Without
    a `/` in it, it is compared with the name alone."""
    var value: String
    """The value of the field."""

    def __init__(out self, pattern: StringSlice, value: StringSlice):
        """Creates a rule.

        Args:
            pattern: The pattern, such as `*.html` or `assets/*`.
            value: The value, such as `no-cache`.
        """
        self.pattern = String(pattern)
        self.value = String(value)

    def applies(self, path: Span[UInt8, _]) -> Bool:
        """Returns whether the rule is for a file.

        Args:
            path: The path of the file below the folder.

        Returns:
            True if the pattern matches.
        """
        var pattern = self.pattern.as_bytes()
        if "/" in self.pattern:
            return _matches(pattern, path)
        return _matches(pattern, path[_name_start(path) :])


def _name_start(path: Span[UInt8, _]) -> Int:
    var at = len(path)
    while at > 0 and path[at - 1] != _SLASH:
        at -= 1
    return at


def _matches(pattern: Span[UInt8, _], text: Span[UInt8, _]) -> Bool:
    # The last star takes one octet more whenever the rest does not match. So
    # the work is at most the product of the two lengths.
    var p = 0
    var t = 0
    var star = -1
    var taken = 0
    while t < len(text):
        if p < len(pattern) and pattern[p] == _STAR:
            star = p
            taken = t
            p += 1
        elif p < len(pattern) and pattern[p] == text[t]:
            p += 1
            t += 1
        elif star >= 0:
            taken += 1
            t = taken
            p = star + 1
        else:
            return False
    while p < len(pattern) and pattern[p] == _STAR:
        p += 1
    return p == len(pattern)


def has_hash_in_name(path: Span[UInt8, _]) -> Bool:
    """Returns whether the name of a file has a hash of its content, as bundlers
    write it.

    That are at least eight letters or digits between a `-` or `.` and the
    extension, with at least one digit.

    Args:
        path: The path of the file.

    Returns:
        True for `app-3f9a1c2e.js` and `app.3f9a1c2e.css`; False for
        `app-settings.js`.
    """
    var name = path[_name_start(path) :]
    var end = len(name)
    while end > 0 and name[end - 1] != _DOT:
        end -= 1
    end -= 1
    var start = end
    var has_digit = False
    while start > 0 and _is_of_hash(name[start - 1]):
        start -= 1
        has_digit = has_digit or _is_digit(name[start])
    if start < 1 or end - start < 8 or not has_digit:
        return False
    var before = name[start - 1]
    return before == UInt8(ord("-")) or before == _DOT


def _is_digit(octet: UInt8) -> Bool:
    return octet >= 48 and octet <= 57


def _is_of_hash(octet: UInt8) -> Bool:
    var lower = octet | 32
    return (
        _is_digit(octet)
        or (lower >= 97 and lower <= 122)
        or octet == UInt8(ord("_"))
    )


struct FileRules(Copyable, Movable):
    """The fields that `StaticFiles` adds to answers."""

    var precompressed: Bool
    """Whether compressed siblings are sent."""
    var compression: Optional[FileCompression]
    """Which files are compressed once, if any are."""
    var immutable_hashed: Bool
    """Whether files with a hash in their name never change."""
    var cache_control: List[CacheRule]
    """The rules for Cache-Control; the first that applies counts."""
    var types: MediaTypes
    """The media types by extension."""

    def __init__(out self):
        """Creates rules that add nothing."""
        self.precompressed = False
        self.compression = None
        self.immutable_hashed = False
        self.cache_control = List[CacheRule]()
        self.types = MediaTypes()

    def compresses(self, path: Span[UInt8, _], octets: Int) -> Bool:
        """Returns whether a file is compressed once.

        Args:
            path: The path of the file below the folder.
            octets: Its length.

        Returns:
            True if it is a text that may be transformed.
        """
        return (
            Bool(self.compression)
            and self.compression.value().includes(
                self.types.of(StringSlice(unsafe_from_utf8=path)), octets
            )
            and not lists_member(
                self.cache_control_of(path).as_bytes(),
                StaticString("no-transform").as_bytes(),
            )
        )

    def cache_control_of(
        self, path: Span[UInt8, _]
    ) -> StringSlice[origin_of(self)]:
        """Returns the value of Cache-Control for a file.

        Args:
            path: The path of the file below the folder.

        Returns:
            The value; empty for none.
        """
        for i in range(len(self.cache_control)):
            if self.cache_control[i].applies(path):
                return rebind[StringSlice[origin_of(self)]](
                    StringSlice(self.cache_control[i].value)
                )
        if self.immutable_hashed and has_hash_in_name(path):
            return rebind[StringSlice[origin_of(self)]](StringSlice(_IMMUTABLE))
        return rebind[StringSlice[origin_of(self)]](StringSlice(""))
