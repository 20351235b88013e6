"""Defines the record of a session, and the rules for all sessions."""

from flare.http import SameSite

comptime COOKIE_SECONDS_MAX = 400 * 86400
"""The longest life of a cookie (RFC 6265bis section 5.5)."""


@fieldwise_init
struct SessionRecord(Copyable, Movable):
    """The record of one session."""

    var data: String
    """The data, as JSON."""
    var created_at: Int
    """When the session began, in seconds since 1970."""
    var expires_at: Int
    """When it ends unless a request uses it, in seconds since 1970."""


struct SessionConfig(Copyable, Movable):
    """The rules for the sessions of a program."""

    var name: String
    """The name of the cookie, after the prefix `__Host-` if `secure` is set.
    """
    var idle_seconds: Int
    """How long a session lasts without a request that uses it, in seconds: 1
    to 34,560,000."""
    var absolute_seconds: Int
    """How long a session lasts in any case, in seconds: 1 to 34,560,000, which
    are the 400 days of the longest cookie."""
    var secure: Bool
    """Whether the cookie is for TLS only. Without it, the cookie has no
    prefix: only for development without TLS."""
    var same_site: SameSite
    """The requests from other sites with which the cookie is sent."""

    def __init__(
        out self,
        *,
        var name: String = "session",
        idle_seconds: Int = 30 * 60,
        absolute_seconds: Int = 12 * 3600,
        secure: Bool = True,
        same_site: SameSite = SameSite.LAX,
    ):
        """Creates rules. The defaults of the times are those of NIST SP
        800-63B section 4.2.3: 30 minutes without activity, and 12 hours.

        Args:
            name: The name of the cookie, a token.
            idle_seconds: How long a session lasts without a request that uses
                it, in seconds.
            absolute_seconds: How long it lasts in any case, in seconds.
            secure: Whether the cookie is for TLS only, with the prefix
                `__Host-`. Other hosts of the site cannot set such a cookie
                (RFC 6265bis section 4.1.3.2).
            same_site: The requests from other sites with which the cookie is
                sent. `LAX` lets a user follow a link into the program, and
                sends no cookie with forms of other sites.
        """
        self.name = name^
        self.idle_seconds = idle_seconds
        self.absolute_seconds = absolute_seconds
        self.secure = secure
        self.same_site = same_site

    def first_problem(self) -> Optional[StaticString]:
        """Returns the first rule that is out of its bounds.

        Returns:
            A fixed text; `None` if all are right.
        """
        if self.idle_seconds < 1 or self.idle_seconds > COOKIE_SECONDS_MAX:
            return StaticString("idle_seconds: 1 to 34560000")
        if (
            self.absolute_seconds < 1
            or self.absolute_seconds > COOKIE_SECONDS_MAX
        ):
            return StaticString("absolute_seconds: 1 to 34560000")
        if self.same_site == SameSite.NONE and not self.secure:
            return StaticString("same_site: NONE needs secure")
        return None

    def cookie_name(self) -> String:
        """Returns the name of the cookie.

        Returns:
            The name with its prefix.
        """
        if self.secure:
            return String("__Host-", self.name)
        return self.name

    def expires_at(self, created_at: Int, now_seconds: Int) -> Int:
        """Returns when a session ends unless a request uses it.

        Args:
            created_at: When it began, in seconds since 1970.
            now_seconds: The current time.

        Returns:
            The time, in seconds since 1970.
        """
        return min(
            now_seconds + self.idle_seconds, created_at + self.absolute_seconds
        )

    def is_alive(self, record: SessionRecord, now_seconds: Int) -> Bool:
        """Returns whether a session has not ended.

        Args:
            record: Its record.
            now_seconds: The current time, in seconds since 1970.

        Returns:
            True if a request may use it.
        """
        return (
            now_seconds < record.expires_at
            and now_seconds < record.created_at + self.absolute_seconds
        )
