"""Keeps cookies for a program that asks servers, by the wall clock."""

from flare.message import FieldSection, Url
from flare.message.cookie import Cookie
from flare.message.cookie_rules import CookieContext, CookieLimits
from flare.message.cookie_store import CookieStore
from flare.message.public_suffix import PublicSuffixes
from flare.sys.clock import unix_seconds


struct CookieJar(Copyable, Movable, Sized):
    """Keeps the cookies of servers, and those that the program sets.

    It is plain data for one thread, and waits for nothing.
    """

    var store: CookieStore
    """The cookies; its methods take the time as an argument."""

    def __init__(
        out self,
        limits: CookieLimits = CookieLimits(),
        var suffixes: PublicSuffixes = PublicSuffixes(),
    ):
        """Makes an empty jar.

        Args:
            limits: What is kept and sent at most.
            suffixes: The domains that no cookie may be for; by default those
                of a single label.
        """
        self.store = CookieStore(limits, suffixes^)

    def set(mut self, var cookie: Cookie) raises:
        """Keeps a cookie of the program's own.

        Args:
            cookie: The cookie. Its `domain` says for which hosts it is; one
                without belongs to no host, and only `to_request_header` gives
                it.

        Raises:
            Error: `message.bad_cookie` if name or value would divide a Cookie
                field.
        """
        try:
            self.store.set(cookie^, unix_seconds())
        except e:
            raise Error("message.bad_cookie ", e)

    def set(mut self, url: Url, var cookie: Cookie) raises:
        """Keeps a cookie as if a server had set it.

        Args:
            url: What was asked for.
            cookie: The cookie.

        Raises:
            Error: `message.bad_cookie`, with the part and the reason, if the
                server could not have set it.
        """
        try:
            self.store.insert(url, cookie^, unix_seconds())
        except e:
            raise Error("message.bad_cookie ", e)

    def receive(
        mut self,
        url: Url,
        headers: FieldSection,
        context: CookieContext = CookieContext.SAME_SITE,
    ) -> Int:
        """Keeps the cookies of a response.

        Args:
            url: What was asked for.
            headers: The fields of the response; each Set-Cookie is read.
            context: On whose behalf it was asked for.

        Returns:
            How many were ignored, because they are malformed, for a foreign
            domain, or break a rule of RFC 6265bis.
        """
        var ignored = 0
        var now_seconds = unix_seconds()
        for value in headers.values("Set-Cookie"):
            try:
                self.store.receive(url, value.as_bytes(), now_seconds, context)
            except:
                ignored += 1
        return ignored

    def header_for(
        mut self,
        url: Url,
        context: CookieContext = CookieContext.SAME_SITE,
    ) -> String:
        """Writes the Cookie field of a request.

        Args:
            url: What is asked for.
            context: On whose behalf.

        Returns:
            The value of the field; empty if there is no cookie for it.
        """
        return self.store.header(url, unix_seconds(), context)

    def to_request_header(self) -> String:
        """Writes a Cookie field of every cookie, whatever host it is for.

        Use it where the jar is for one host only; `header_for` sends each
        cookie where it belongs.

        Returns:
            The value of the field, the oldest first.
        """
        var text = String()
        for cookie in self.cookies():
            if text:
                text += "; "
            if cookie.name:
                text.write(cookie.name, "=")
            text += cookie.value
        return text^

    def cookies(self) -> List[Cookie]:
        """Copies every cookie whose time is not over.

        Returns:
            The cookies, the oldest first.
        """
        return self.store.all(unix_seconds())

    def __len__(self) -> Int:
        """Counts the cookies.

        Returns:
            The count, of those included whose time is over and that nobody has
            removed.
        """
        return len(self.store)

    def clear(mut self):
        """Removes all cookies."""
        self.store.clear()
