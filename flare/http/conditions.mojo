"""Evaluates conditional requests (RFC 9110 section 13).

A client sends conditions with the validators of a representation that it has:
an entity tag, or a date. The conditions decide whether the request is carried
out. The evaluation reads the received field lines in place, and allocates no
memory. No function but those that take a `Request` asks a clock.
"""

from flare.message import (
    ETag,
    FieldName,
    FieldSection,
    HeaderMap,
    HttpDate,
    Method,
    Status,
)
from flare.message.etag import etags_match, is_strong_etag, lists_etag
from flare.sys.clock import unix_seconds

from .request import Request
from .response import Response

comptime _IF_MATCH: StaticString = "If-Match"
comptime _IF_NONE_MATCH: StaticString = "If-None-Match"
comptime _IF_MODIFIED_SINCE: StaticString = "If-Modified-Since"
comptime _IF_UNMODIFIED_SINCE: StaticString = "If-Unmodified-Since"
comptime _IF_RANGE: StaticString = "If-Range"

comptime CONDITIONAL_FIELDS: UInt64 = (
    FieldName.bit(FieldName.IF_MATCH)
    | FieldName.bit(FieldName.IF_NONE_MATCH)
    | FieldName.bit(FieldName.IF_MODIFIED_SINCE)
    | FieldName.bit(FieldName.IF_UNMODIFIED_SINCE)
)
"""The set of the fields that `evaluate_conditions` reads."""


struct Validators(Copyable, Movable):
    """The state of a resource, as its tag and its date describe it.

    An `ETag` or an `HttpDate` converts to validators without the other.
    """

    var tag: Optional[ETag]
    """The tag that ETag sends."""
    var modified: Optional[HttpDate]
    """The time that Last-Modified sends."""
    var exists: Bool
    """Whether the resource has a representation."""

    @implicit
    def __init__(out self, tag: ETag):
        """Creates the validators of a representation with a tag only.

        Args:
            tag: The tag.
        """
        self.tag = tag.copy()
        self.modified = None
        self.exists = True

    @implicit
    def __init__(out self, modified: HttpDate):
        """Creates the validators of a representation with a date only.

        Args:
            modified: The time of the last change.
        """
        self.tag = None
        self.modified = modified
        self.exists = True

    def __init__(out self, tag: ETag, modified: HttpDate):
        """Creates the validators of a representation with tag and date.

        Args:
            tag: The tag.
            modified: The time of the last change.
        """
        self.tag = tag.copy()
        self.modified = modified
        self.exists = True

    def __init__(out self, *, exists: Bool):
        """Creates the validators of a resource without tag and date.

        Args:
            exists: Whether the resource has a representation. `If-Match: *`
                and `If-None-Match: *` ask for that.
        """
        self.tag = None
        self.modified = None
        self.exists = exists

    def add_to(self, mut headers: HeaderMap) raises:
        """Sets ETag and Last-Modified of a response.

        Args:
            headers: The header fields of the response.

        Raises:
            An error `message.headers_too_large`.
        """
        if self.tag:
            headers.set("ETag", self.tag.value().text())
        if self.modified:
            var date = self.modified.value().octets()
            headers.set(
                "Last-Modified", StringSlice(unsafe_from_utf8=Span(date))
            )


@fieldwise_init
struct ConditionResult(Equatable, TrivialRegisterPassable):
    """The decision of the conditions of a request."""

    comptime PASSED = Self(0)
    """The request is carried out as without conditions."""
    comptime NOT_MODIFIED = Self(1)
    """The answer is 304: the client has the representation."""
    comptime FAILED = Self(2)
    """The answer is 412, and nothing is changed."""

    var _value: UInt8

    def __eq__(self, other: Self) -> Bool:
        """Returns whether two results are equal.

        Args:
            other: The other result.

        Returns:
            True if both are equal.
        """
        return self._value == other._value


def unchanged(req: Request, validators: Validators) -> Bool:
    """Returns whether a client already has the representation that GET or HEAD
    would send. If so, answer `not_modified(validators)`.

    Args:
        req: The request.
        validators: The tag or the date of the representation, or both.

    Returns:
        True if If-None-Match has the tag, or, without that field,
        If-Modified-Since is no earlier than the date.
    """
    return _result_of(req, validators) == ConditionResult.NOT_MODIFIED


def precondition_fails(req: Request, validators: Validators) -> Bool:
    """Returns whether a request must not be carried out, because the resource
    is not in the state that the client expects. If so, answer
    `precondition_failed()`.

    This stops a client from overwriting the change of another one.

    Args:
        req: The request.
        validators: The tag or the date of the present representation, or both;
            `Validators(exists=False)` if there is none.

    Returns:
        True if If-Match, If-Unmodified-Since or, with a method other than GET
        and HEAD, If-None-Match forbids it.
    """
    return _result_of(req, validators) == ConditionResult.FAILED


def not_modified(validators: Validators) raises -> Response:
    """Returns a 304 response: the client has the representation already.

    If the 200 response has Cache-Control, Expires, Content-Location or Vary,
    set them in this one too (RFC 9110 section 15.4.5).

    Args:
        validators: The tag or the date of the representation, or both.

    Returns:
        The response without content: with the tag, or else with the date.

    Raises:
        Error: Never.
    """
    var response = Response(Status.NOT_MODIFIED)
    if validators.tag:
        Validators(validators.tag.value()).add_to(response.headers)
    else:
        validators.add_to(response.headers)
    return response^


def evaluate_conditions(
    method: Method,
    fields: FieldSection,
    validators: Validators,
    now_seconds: Int,
) -> ConditionResult:
    """Evaluates the conditions of a request in the order of RFC 9110 section
    13.2.2. A Range is left to `range_applies`.

    Call it only if the answer without conditions would be a success (section
    13.2.1).

    Args:
        method: The method.
        fields: The header section of the request.
        validators: Those of the representation that was selected.
        now_seconds: The current time, in seconds since 1970, for two-digit
            years.

    Returns:
        The decision.
    """
    if (
        method == Method.CONNECT
        or method == Method.OPTIONS
        or method == Method.TRACE
    ):
        # They select no representation (section 13.2.1).
        return ConditionResult.PASSED
    var line = fields.find(_IF_MATCH)
    if line < len(fields):
        if not _any_matches[strong=True](fields, _IF_MATCH, line, validators):
            return ConditionResult.FAILED
    elif validators.modified:
        var since = _only_date(fields, _IF_UNMODIFIED_SINCE, now_seconds)
        if since and validators.modified.value() > since.value():
            return ConditionResult.FAILED
    var only_reads = method == Method.GET or method == Method.HEAD
    line = fields.find(_IF_NONE_MATCH)
    if line < len(fields):
        if _any_matches[strong=False](fields, _IF_NONE_MATCH, line, validators):
            return (
                ConditionResult.NOT_MODIFIED if only_reads else ConditionResult.FAILED
            )
    elif only_reads and validators.modified:
        var since = _only_date(fields, _IF_MODIFIED_SINCE, now_seconds)
        if since and validators.modified.value() <= since.value():
            return ConditionResult.NOT_MODIFIED
    return ConditionResult.PASSED


def range_applies(
    fields: FieldSection, validators: Validators, now_seconds: Int
) -> Bool:
    """Returns whether If-Range lets a Range field count (RFC 9110 section
    13.1.5).

    Args:
        fields: The header section of the request.
        validators: Those of the representation that was selected.
        now_seconds: The current time, in seconds since 1970, for two-digit
            years.

    Returns:
        True without If-Range, or if it has the tag, which must be strong, or
        exactly the date.
    """
    var line = fields.find(_IF_RANGE)
    if line == len(fields):
        return True
    if fields.find(_IF_RANGE, line + 1) < len(fields):
        return False
    var value = fields.value(line).as_bytes()
    if is_strong_etag(value):
        return Bool(validators.tag) and etags_match[strong=True](
            value, validators.tag.value().octets()
        )
    if not validators.modified:
        return False
    # A weak tag is no date.
    var date = HttpDate.parse(value, now_seconds)
    return Bool(date) and date.value() == validators.modified.value()


def _result_of(req: Request, validators: Validators) -> ConditionResult:
    if req.unsafe_exchange()[].head.known & CONDITIONAL_FIELDS == 0:
        return ConditionResult.PASSED
    return evaluate_conditions(
        req.method, req.headers, validators, unix_seconds()
    )


def _any_matches[
    *, strong: Bool
](
    fields: FieldSection,
    name: StaticString,
    first: Int,
    validators: Validators,
) -> Bool:
    var line = first
    while line < len(fields):
        var value = fields.value(line).as_bytes()
        if len(value) == 1 and value.unsafe_get(0) == UInt8(ord("*")):
            if validators.exists:
                return True
        elif validators.tag and lists_etag[strong=strong](
            value, validators.tag.value().octets()
        ):
            return True
        line = fields.find(name, line + 1)
    return False


def _only_date(
    fields: FieldSection, name: StaticString, now_seconds: Int
) -> Optional[HttpDate]:
    # A field that is repeated, or is no date, is ignored (RFC 9110 sections
    # 13.1.3 and 13.1.4).
    var line = fields.find(name)
    if line == len(fields) or fields.find(name, line + 1) < len(fields):
        return None
    return HttpDate.parse(fields.value(line).as_bytes(), now_seconds)
