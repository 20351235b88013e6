"""Defines the registered status codes (RFC 9110 section 15)."""

from std.builtin.globals import global_constant


struct Status:
    """The registered status codes and their classes."""

    comptime CONTINUE = 100
    """Continue (RFC 9110 section 15.2.1)."""
    comptime SWITCHING_PROTOCOLS = 101
    """Switching Protocols (RFC 9110 section 15.2.2)."""
    comptime PROCESSING = 102
    """Processing (RFC 2518 section 10.1)."""
    comptime EARLY_HINTS = 103
    """Early Hints (RFC 8297 section 2)."""
    comptime OK = 200
    """OK (RFC 9110 section 15.3.1)."""
    comptime CREATED = 201
    """Created (RFC 9110 section 15.3.2)."""
    comptime ACCEPTED = 202
    """Accepted (RFC 9110 section 15.3.3)."""
    comptime NON_AUTHORITATIVE_INFORMATION = 203
    """Non-Authoritative Information (RFC 9110 section 15.3.4)."""
    comptime NO_CONTENT = 204
    """No Content (RFC 9110 section 15.3.5)."""
    comptime RESET_CONTENT = 205
    """Reset Content (RFC 9110 section 15.3.6)."""
    comptime PARTIAL_CONTENT = 206
    """Partial Content (RFC 9110 section 15.3.7)."""
    comptime MULTI_STATUS = 207
    """Multi-Status (RFC 4918 section 11.1)."""
    comptime ALREADY_REPORTED = 208
    """Already Reported (RFC 5842 section 7.1)."""
    comptime IM_USED = 226
    """IM Used (RFC 3229 section 10.4.1)."""
    comptime MULTIPLE_CHOICES = 300
    """Multiple Choices (RFC 9110 section 15.4.1)."""
    comptime MOVED_PERMANENTLY = 301
    """Moved Permanently (RFC 9110 section 15.4.2)."""
    comptime FOUND = 302
    """Found (RFC 9110 section 15.4.3)."""
    comptime SEE_OTHER = 303
    """See Other (RFC 9110 section 15.4.4)."""
    comptime NOT_MODIFIED = 304
    """Not Modified (RFC 9110 section 15.4.5)."""
    comptime USE_PROXY = 305
    """Use Proxy (RFC 9110 section 15.4.6)."""
    comptime TEMPORARY_REDIRECT = 307
    """Temporary Redirect (RFC 9110 section 15.4.8)."""
    comptime PERMANENT_REDIRECT = 308
    """Permanent Redirect (RFC 9110 section 15.4.9)."""
    comptime BAD_REQUEST = 400
    """Bad Request (RFC 9110 section 15.5.1)."""
    comptime UNAUTHORIZED = 401
    """Unauthorized (RFC 9110 section 15.5.2)."""
    comptime PAYMENT_REQUIRED = 402
    """Payment Required (RFC 9110 section 15.5.3)."""
    comptime FORBIDDEN = 403
    """Forbidden (RFC 9110 section 15.5.4)."""
    comptime NOT_FOUND = 404
    """Not Found (RFC 9110 section 15.5.5)."""
    comptime METHOD_NOT_ALLOWED = 405
    """Method Not Allowed (RFC 9110 section 15.5.6)."""
    comptime NOT_ACCEPTABLE = 406
    """Not Acceptable (RFC 9110 section 15.5.7)."""
    comptime PROXY_AUTHENTICATION_REQUIRED = 407
    """Proxy Authentication Required (RFC 9110 section 15.5.8)."""
    comptime REQUEST_TIMEOUT = 408
    """Request Timeout (RFC 9110 section 15.5.9)."""
    comptime CONFLICT = 409
    """Conflict (RFC 9110 section 15.5.10)."""
    comptime GONE = 410
    """Gone (RFC 9110 section 15.5.11)."""
    comptime LENGTH_REQUIRED = 411
    """Length Required (RFC 9110 section 15.5.12)."""
    comptime PRECONDITION_FAILED = 412
    """Precondition Failed (RFC 9110 section 15.5.13)."""
    comptime CONTENT_TOO_LARGE = 413
    """Content Too Large (RFC 9110 section 15.5.14)."""
    comptime URI_TOO_LONG = 414
    """URI Too Long (RFC 9110 section 15.5.15)."""
    comptime UNSUPPORTED_MEDIA_TYPE = 415
    """Unsupported Media Type (RFC 9110 section 15.5.16)."""
    comptime RANGE_NOT_SATISFIABLE = 416
    """Range Not Satisfiable (RFC 9110 section 15.5.17)."""
    comptime EXPECTATION_FAILED = 417
    """Expectation Failed (RFC 9110 section 15.5.18)."""
    comptime MISDIRECTED_REQUEST = 421
    """Misdirected Request (RFC 9110 section 15.5.20)."""
    comptime UNPROCESSABLE_CONTENT = 422
    """Unprocessable Content (RFC 9110 section 15.5.21)."""
    comptime LOCKED = 423
    """Locked (RFC 4918 section 11.3)."""
    comptime FAILED_DEPENDENCY = 424
    """Failed Dependency (RFC 4918 section 11.4)."""
    comptime TOO_EARLY = 425
    """Too Early (RFC 8470 section 5.2)."""
    comptime UPGRADE_REQUIRED = 426
    """Upgrade Required (RFC 9110 section 15.5.22)."""
    comptime PRECONDITION_REQUIRED = 428
    """Precondition Required (RFC 6585 section 3)."""
    comptime TOO_MANY_REQUESTS = 429
    """Too Many Requests (RFC 6585 section 4)."""
    comptime REQUEST_HEADER_FIELDS_TOO_LARGE = 431
    """Request Header Fields Too Large (RFC 6585 section 5)."""
    comptime UNAVAILABLE_FOR_LEGAL_REASONS = 451
    """Unavailable For Legal Reasons (RFC 7725 section 3)."""
    comptime INTERNAL_SERVER_ERROR = 500
    """Internal Server Error (RFC 9110 section 15.6.1)."""
    comptime NOT_IMPLEMENTED = 501
    """Not Implemented (RFC 9110 section 15.6.2)."""
    comptime BAD_GATEWAY = 502
    """Bad Gateway (RFC 9110 section 15.6.3)."""
    comptime SERVICE_UNAVAILABLE = 503
    """Service Unavailable (RFC 9110 section 15.6.4)."""
    comptime GATEWAY_TIMEOUT = 504
    """Gateway Timeout (RFC 9110 section 15.6.5)."""
    comptime HTTP_VERSION_NOT_SUPPORTED = 505
    """HTTP Version Not Supported (RFC 9110 section 15.6.6)."""
    comptime VARIANT_ALSO_NEGOTIATES = 506
    """Variant Also Negotiates (RFC 2295 section 8.1)."""
    comptime INSUFFICIENT_STORAGE = 507
    """Insufficient Storage (RFC 4918 section 11.5)."""
    comptime LOOP_DETECTED = 508
    """Loop Detected (RFC 5842 section 7.2)."""
    comptime NOT_EXTENDED = 510
    """Not Extended (RFC 2774 section 7)."""
    comptime NETWORK_AUTHENTICATION_REQUIRED = 511
    """Network Authentication Required (RFC 6585 section 6)."""

    @staticmethod
    @always_inline
    def is_valid(code: Int) -> Bool:
        """Returns whether a number is a status code.

        Args:
            code: Any number.

        Returns:
            True from 100 to 599 (RFC 9110 section 15).
        """
        return 100 <= code < 600

    @staticmethod
    @always_inline
    def is_informational(code: Int) -> Bool:
        """Returns whether another head follows for the same request.

        Args:
            code: A status code.

        Returns:
            True from 100 to 199 (RFC 9110 section 15.2).
        """
        return 100 <= code < 200

    @staticmethod
    @always_inline
    def is_successful(code: Int) -> Bool:
        """Returns whether the request was received, understood and accepted.

        Args:
            code: A status code.

        Returns:
            True from 200 to 299 (RFC 9110 section 15.3).
        """
        return 200 <= code < 300

    @staticmethod
    @always_inline
    def is_redirection(code: Int) -> Bool:
        """Returns whether the client has to do more.

        Args:
            code: A status code.

        Returns:
            True from 300 to 399 (RFC 9110 section 15.4).
        """
        return 300 <= code < 400

    @staticmethod
    @always_inline
    def is_client_error(code: Int) -> Bool:
        """Returns whether the request is at fault.

        Args:
            code: A status code.

        Returns:
            True from 400 to 499 (RFC 9110 section 15.5).
        """
        return 400 <= code < 500

    @staticmethod
    @always_inline
    def is_server_error(code: Int) -> Bool:
        """Returns whether the server is at fault.

        Args:
            code: A status code.

        Returns:
            True from 500 to 599 (RFC 9110 section 15.6).
        """
        return 500 <= code < 600

    @staticmethod
    @always_inline
    def forbids_content(code: Int) -> Bool:
        """Returns whether a response never has content, whatever its fields
        say.

        Args:
            code: A status code.

        Returns:
            True for 1xx, 204 and 304 (RFC 9110 section 6.4.1).
        """
        return code < 200 or code == 204 or code == 304


@always_inline
def allows_content(code: Int) -> Bool:
    """Returns whether a response with a status may have content (RFC 9110
    section 6.4.1). The response to HEAD has none, whatever its status.

    Args:
        code: The status code.

    Returns:
        False for 1xx, 204 and 304.
    """
    return (
        code >= Status.OK
        and code != Status.NO_CONTENT
        and code != Status.NOT_MODIFIED
    )


def reason_phrase(code: Int) -> StaticString:
    """Returns the reason phrase of a registered status code.

    Args:
        code: Any number.

    Returns:
        The phrase; empty for a code that is not registered.
    """
    var line = status_line(code)
    if line.byte_length() == 0:
        return ""
    return StaticString(
        unsafe_from_utf8=line.as_bytes()[_PHRASE_START : line.byte_length() - 2]
    )


@always_inline
def status_line(code: Int) -> StaticString:
    """Returns the status line of a registered status code, with its CR LF.

    Args:
        code: Any number.

    Returns:
        The octets to send; empty for a code that is not registered.
    """
    if code < _CODE_MIN or code >= _CODE_BOUND:
        return ""
    var row = global_constant[_ROWS]().unsafe_get(code - _CODE_MIN)
    return global_constant[_LINES]().unsafe_get(Int(row))


comptime _PHRASE_START = 13
comptime _CODE_MIN = 100
comptime _CODE_BOUND = 512
comptime _ROWS = _fill_rows()
comptime _LINES: Array[StaticString, 62] = [
    "",
    "HTTP/1.1 100 Continue\r\n",
    "HTTP/1.1 101 Switching Protocols\r\n",
    "HTTP/1.1 102 Processing\r\n",
    "HTTP/1.1 103 Early Hints\r\n",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 201 Created\r\n",
    "HTTP/1.1 202 Accepted\r\n",
    "HTTP/1.1 203 Non-Authoritative Information\r\n",
    "HTTP/1.1 204 No Content\r\n",
    "HTTP/1.1 205 Reset Content\r\n",
    "HTTP/1.1 206 Partial Content\r\n",
    "HTTP/1.1 207 Multi-Status\r\n",
    "HTTP/1.1 208 Already Reported\r\n",
    "HTTP/1.1 226 IM Used\r\n",
    "HTTP/1.1 300 Multiple Choices\r\n",
    "HTTP/1.1 301 Moved Permanently\r\n",
    "HTTP/1.1 302 Found\r\n",
    "HTTP/1.1 303 See Other\r\n",
    "HTTP/1.1 304 Not Modified\r\n",
    "HTTP/1.1 305 Use Proxy\r\n",
    "HTTP/1.1 307 Temporary Redirect\r\n",
    "HTTP/1.1 308 Permanent Redirect\r\n",
    "HTTP/1.1 400 Bad Request\r\n",
    "HTTP/1.1 401 Unauthorized\r\n",
    "HTTP/1.1 402 Payment Required\r\n",
    "HTTP/1.1 403 Forbidden\r\n",
    "HTTP/1.1 404 Not Found\r\n",
    "HTTP/1.1 405 Method Not Allowed\r\n",
    "HTTP/1.1 406 Not Acceptable\r\n",
    "HTTP/1.1 407 Proxy Authentication Required\r\n",
    "HTTP/1.1 408 Request Timeout\r\n",
    "HTTP/1.1 409 Conflict\r\n",
    "HTTP/1.1 410 Gone\r\n",
    "HTTP/1.1 411 Length Required\r\n",
    "HTTP/1.1 412 Precondition Failed\r\n",
    "HTTP/1.1 413 Content Too Large\r\n",
    "HTTP/1.1 414 URI Too Long\r\n",
    "HTTP/1.1 415 Unsupported Media Type\r\n",
    "HTTP/1.1 416 Range Not Satisfiable\r\n",
    "HTTP/1.1 417 Expectation Failed\r\n",
    "HTTP/1.1 421 Misdirected Request\r\n",
    "HTTP/1.1 422 Unprocessable Content\r\n",
    "HTTP/1.1 423 Locked\r\n",
    "HTTP/1.1 424 Failed Dependency\r\n",
    "HTTP/1.1 425 Too Early\r\n",
    "HTTP/1.1 426 Upgrade Required\r\n",
    "HTTP/1.1 428 Precondition Required\r\n",
    "HTTP/1.1 429 Too Many Requests\r\n",
    "HTTP/1.1 431 Request Header Fields Too Large\r\n",
    "HTTP/1.1 451 Unavailable For Legal Reasons\r\n",
    "HTTP/1.1 500 Internal Server Error\r\n",
    "HTTP/1.1 501 Not Implemented\r\n",
    "HTTP/1.1 502 Bad Gateway\r\n",
    "HTTP/1.1 503 Service Unavailable\r\n",
    "HTTP/1.1 504 Gateway Timeout\r\n",
    "HTTP/1.1 505 HTTP Version Not Supported\r\n",
    "HTTP/1.1 506 Variant Also Negotiates\r\n",
    "HTTP/1.1 507 Insufficient Storage\r\n",
    "HTTP/1.1 508 Loop Detected\r\n",
    "HTTP/1.1 510 Not Extended\r\n",
    "HTTP/1.1 511 Network Authentication Required\r\n",
]


def _fill_rows() -> Array[UInt8, _CODE_BOUND - _CODE_MIN]:
    # The code stands in the line itself, at octets 9 to 11.
    var rows = Array[UInt8, _CODE_BOUND - _CODE_MIN](fill=0)
    for i in range(1, comptime (len(_LINES))):
        var line = materialize[_LINES]()[i].as_bytes()
        var code = 0
        for digit in line[9:12]:
            code = 10 * code + Int(digit - 48)
        rows[code - _CODE_MIN] = UInt8(i)
    return rows^
