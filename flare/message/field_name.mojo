"""Numbers the field names that framing, routing and the library use.

A received field's name is converted to a small number once, by the parser. All
later code compares numbers. A set of names is one `UInt64`.
"""

from std.builtin.globals import global_constant


struct FieldName:
    """The numbers of known field names."""

    comptime UNKNOWN: UInt8 = 0
    """A name without a number."""
    comptime HOST: UInt8 = 1
    """`Host` (RFC 9110 section 7.2)."""
    comptime CONTENT_LENGTH: UInt8 = 2
    """`Content-Length` (RFC 9110 section 8.6)."""
    comptime TRANSFER_ENCODING: UInt8 = 3
    """`Transfer-Encoding` (RFC 9112 section 6.1)."""
    comptime CONNECTION: UInt8 = 4
    """`Connection` (RFC 9110 section 7.6.1)."""
    comptime KEEP_ALIVE: UInt8 = 5
    """`Keep-Alive` (RFC 9112 appendix C.2.2)."""
    comptime EXPECT: UInt8 = 6
    """`Expect` (RFC 9110 section 10.1.1)."""
    comptime UPGRADE: UInt8 = 7
    """`Upgrade` (RFC 9110 section 7.8)."""
    comptime TE: UInt8 = 8
    """`TE` (RFC 9110 section 10.1.4)."""
    comptime TRAILER: UInt8 = 9
    """`Trailer` (RFC 9110 section 6.6.2)."""
    comptime DATE: UInt8 = 10
    """`Date` (RFC 9110 section 6.6.1)."""
    comptime SERVER: UInt8 = 11
    """`Server` (RFC 9110 section 10.2.4)."""
    comptime CONTENT_TYPE: UInt8 = 12
    """`Content-Type` (RFC 9110 section 8.3)."""
    comptime CONTENT_ENCODING: UInt8 = 13
    """`Content-Encoding` (RFC 9110 section 8.4)."""
    comptime ACCEPT_ENCODING: UInt8 = 14
    """`Accept-Encoding` (RFC 9110 section 12.5.3)."""
    comptime LOCATION: UInt8 = 15
    """`Location` (RFC 9110 section 10.2.2)."""
    comptime ALLOW: UInt8 = 16
    """`Allow` (RFC 9110 section 10.2.1)."""
    comptime COOKIE: UInt8 = 17
    """`Cookie` (RFC 6265 section 5.4)."""
    comptime SET_COOKIE: UInt8 = 18
    """`Set-Cookie` (RFC 6265 section 5.2)."""
    comptime PROXY_CONNECTION: UInt8 = 19
    """`Proxy-Connection` (RFC 9112 appendix C.2.2)."""
    comptime AUTHORIZATION: UInt8 = 20
    """`Authorization` (RFC 9110 section 11.6.2)."""
    comptime RANGE: UInt8 = 21
    """`Range` (RFC 9110 section 14.2)."""
    comptime RETRY_AFTER: UInt8 = 22
    """`Retry-After` (RFC 9110 section 10.2.3)."""
    comptime HTTP2_SETTINGS: UInt8 = 23
    """`HTTP2-Settings` (RFC 7540 section 3.2.1)."""
    comptime ACCEPT: UInt8 = 24
    """`Accept` (RFC 9110 section 12.5.1)."""
    comptime ACCEPT_LANGUAGE: UInt8 = 25
    """`Accept-Language` (RFC 9110 section 12.5.4)."""
    comptime ACCEPT_RANGES: UInt8 = 26
    """`Accept-Ranges` (RFC 9110 section 14.3)."""
    comptime AGE: UInt8 = 27
    """`Age` (RFC 9111 section 5.1)."""
    comptime CACHE_CONTROL: UInt8 = 28
    """`Cache-Control` (RFC 9111 section 5.2)."""
    comptime CONTENT_DISPOSITION: UInt8 = 29
    """`Content-Disposition` (RFC 6266 section 4)."""
    comptime CONTENT_LANGUAGE: UInt8 = 30
    """`Content-Language` (RFC 9110 section 8.5)."""
    comptime CONTENT_LOCATION: UInt8 = 31
    """`Content-Location` (RFC 9110 section 8.7)."""
    comptime CONTENT_RANGE: UInt8 = 32
    """`Content-Range` (RFC 9110 section 14.4)."""
    comptime ETAG: UInt8 = 33
    """`ETag` (RFC 9110 section 8.8.3)."""
    comptime EXPIRES: UInt8 = 34
    """`Expires` (RFC 9111 section 5.3)."""
    comptime FORWARDED: UInt8 = 35
    """`Forwarded` (RFC 7239 section 4)."""
    comptime IF_MATCH: UInt8 = 36
    """`If-Match` (RFC 9110 section 13.1.1)."""
    comptime IF_MODIFIED_SINCE: UInt8 = 37
    """`If-Modified-Since` (RFC 9110 section 13.1.3)."""
    comptime IF_NONE_MATCH: UInt8 = 38
    """`If-None-Match` (RFC 9110 section 13.1.2)."""
    comptime IF_RANGE: UInt8 = 39
    """`If-Range` (RFC 9110 section 13.1.5)."""
    comptime IF_UNMODIFIED_SINCE: UInt8 = 40
    """`If-Unmodified-Since` (RFC 9110 section 13.1.4)."""
    comptime LAST_MODIFIED: UInt8 = 41
    """`Last-Modified` (RFC 9110 section 8.8.2)."""
    comptime MAX_FORWARDS: UInt8 = 42
    """`Max-Forwards` (RFC 9110 section 7.6.2)."""
    comptime ORIGIN: UInt8 = 43
    """`Origin` (RFC 6454 section 7)."""
    comptime PROXY_AUTHENTICATE: UInt8 = 44
    """`Proxy-Authenticate` (RFC 9110 section 11.7.1)."""
    comptime PROXY_AUTHORIZATION: UInt8 = 45
    """`Proxy-Authorization` (RFC 9110 section 11.7.2)."""
    comptime REFERER: UInt8 = 46
    """`Referer` (RFC 9110 section 10.1.3)."""
    comptime SEC_WEBSOCKET_ACCEPT: UInt8 = 47
    """`Sec-WebSocket-Accept` (RFC 6455 section 11.3.3)."""
    comptime SEC_WEBSOCKET_EXTENSIONS: UInt8 = 48
    """`Sec-WebSocket-Extensions` (RFC 6455 section 11.3.2)."""
    comptime SEC_WEBSOCKET_KEY: UInt8 = 49
    """`Sec-WebSocket-Key` (RFC 6455 section 11.3.1)."""
    comptime SEC_WEBSOCKET_PROTOCOL: UInt8 = 50
    """`Sec-WebSocket-Protocol` (RFC 6455 section 11.3.4)."""
    comptime SEC_WEBSOCKET_VERSION: UInt8 = 51
    """`Sec-WebSocket-Version` (RFC 6455 section 11.3.5)."""
    comptime STRICT_TRANSPORT_SECURITY: UInt8 = 52
    """`Strict-Transport-Security` (RFC 6797 section 6.1)."""
    comptime USER_AGENT: UInt8 = 53
    """`User-Agent` (RFC 9110 section 10.1.5)."""
    comptime VARY: UInt8 = 54
    """`Vary` (RFC 9110 section 12.5.5)."""
    comptime VIA: UInt8 = 55
    """`Via` (RFC 9110 section 7.6.3)."""
    comptime WWW_AUTHENTICATE: UInt8 = 56
    """`WWW-Authenticate` (RFC 9110 section 11.6.1)."""
    comptime X_FORWARDED_FOR: UInt8 = 57
    """`X-Forwarded-For` (a convention of proxies before RFC 7239)."""
    comptime X_FORWARDED_HOST: UInt8 = 58
    """`X-Forwarded-Host` (a convention of proxies before RFC 7239)."""
    comptime X_FORWARDED_PROTO: UInt8 = 59
    """`X-Forwarded-Proto` (a convention of proxies before RFC 7239)."""
    comptime X_REQUEST_ID: UInt8 = 60
    """`X-Request-ID` (a convention of proxies and logs)."""
    comptime ALT_SVC: UInt8 = 61
    """`Alt-Svc` (RFC 7838 section 3)."""
    comptime PRIORITY: UInt8 = 62
    """`Priority` (RFC 9218 section 5)."""
    comptime COUNT = 63
    """One more than the largest number; at most 64, so that a set fits a word.
    """

    @staticmethod
    def text(id: UInt8) -> StaticString:
        """Returns the name as the registry spells it.

        Args:
            id: One of the constants.

        Returns:
            The name; empty for `UNKNOWN` and for invalid numbers.
        """
        if id >= UInt8(Self.COUNT):
            return ""
        return global_constant[FIELD_NAMES]().unsafe_get(Int(id))

    @staticmethod
    @always_inline
    def bit(id: UInt8) -> UInt64:
        """Returns the set that contains one name only.

        Args:
            id: One of the constants.

        Returns:
            A word with one bit set.
        """
        return UInt64(1) << UInt64(id & 63)


comptime FIELD_NAMES: Array[StaticString, FieldName.COUNT] = [
    "",
    "Host",
    "Content-Length",
    "Transfer-Encoding",
    "Connection",
    "Keep-Alive",
    "Expect",
    "Upgrade",
    "TE",
    "Trailer",
    "Date",
    "Server",
    "Content-Type",
    "Content-Encoding",
    "Accept-Encoding",
    "Location",
    "Allow",
    "Cookie",
    "Set-Cookie",
    "Proxy-Connection",
    "Authorization",
    "Range",
    "Retry-After",
    "HTTP2-Settings",
    "Accept",
    "Accept-Language",
    "Accept-Ranges",
    "Age",
    "Cache-Control",
    "Content-Disposition",
    "Content-Language",
    "Content-Location",
    "Content-Range",
    "ETag",
    "Expires",
    "Forwarded",
    "If-Match",
    "If-Modified-Since",
    "If-None-Match",
    "If-Range",
    "If-Unmodified-Since",
    "Last-Modified",
    "Max-Forwards",
    "Origin",
    "Proxy-Authenticate",
    "Proxy-Authorization",
    "Referer",
    "Sec-WebSocket-Accept",
    "Sec-WebSocket-Extensions",
    "Sec-WebSocket-Key",
    "Sec-WebSocket-Protocol",
    "Sec-WebSocket-Version",
    "Strict-Transport-Security",
    "User-Agent",
    "Vary",
    "Via",
    "WWW-Authenticate",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Request-ID",
    "Alt-Svc",
    "Priority",
]
"""The names of the registry, each at its id."""
