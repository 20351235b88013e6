"""Stores the cookies of a client, by the wall clock."""

from flare.message import FieldSection, Url
from flare.core import LF, find_octet
from flare.message.cookie import Cookie
from flare.message.cookie_file import (
    COOKIE_FILE_HEAD,
    read_cookie_line,
    write_cookie_line,
)
from flare.message.cookie_rules import (
    CookieContext,
    CookieLimits,
    StoredCookie,
)
from flare.message.cookie_store import CookieStore
from flare.message.public_suffix import PublicSuffixes
from flare.sys.clock import unix_seconds


struct CookieJar(Copyable, Movable, Sized):
    """Stores the cookies of servers and of the program.

    It is plain data for one thread and never waits.
    """

    var store: CookieStore
    """The cookies; its methods take the time as an argument."""

    def __init__(
        out self,
        limits: CookieLimits = CookieLimits(),
        var suffixes: PublicSuffixes = PublicSuffixes(),
    ):
        """Creates an empty jar.

        Args:
            limits: Bounds on the stored and sent cookies.
            suffixes: The domains for which no cookie is accepted; by default,
                those of one label.
        """
        self.store = CookieStore(limits, suffixes^)

    def set(mut self, var cookie: Cookie) raises:
        """Stores a cookie of the program.

        Args:
            cookie: The cookie. Its `domain` selects the hosts it is sent to.
                Without a domain, only `to_request_header` returns it.

        Raises:
            Error: `message.bad_cookie` if name or value would break the Cookie
                field.
        """
        try:
            self.store.set(cookie^, unix_seconds())
        except e:
            raise Error("message.bad_cookie ", e)

    def set(mut self, url: Url, var cookie: Cookie) raises:
        """Stores a cookie as if a server had set it.

        Args:
            url: The URL of the request.
            cookie: The cookie.

        Raises:
            Error: `message.bad_cookie`, with the part and the reason, if that
                server could not set it.
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
        """Stores the cookies of a response.

        Args:
            url: The URL of the request.
            headers: The header fields of the response; all Set-Cookie fields
                are read.
            context: The site that caused the request.

        Returns:
            How many cookies were ignored, because they are malformed, for
            another domain, or break a rule of RFC 6265bis.
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
        """Returns the value of the Cookie field for a request.

        Args:
            url: The URL of the request.
            context: The site that causes the request.

        Returns:
            The value; empty if no cookie applies.
        """
        return self.store.header(url, unix_seconds(), context)

    def to_request_header(self) -> String:
        """Returns the value of a Cookie field with all cookies, for any host.

        Use it only if the jar serves a single host. For any other jar, use
        `header_for`.

        Returns:
            The value, the oldest cookie first.
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
        """Returns copies of all cookies that have not expired.

        Returns:
            The cookies, the oldest first.
        """
        return self.store.all(unix_seconds())

    def to_text(self) -> String:
        """Returns the cookies in the form of a `cookies.txt`, which curl, wget
        and Python read too.

        Returns:
            A line for each cookie that has not expired, the oldest first. It
            says nothing of SameSite, for which the form has no place. Cookies
            without a domain are left out, and those with a tab in their name.
        """
        var text = String(COOKIE_FILE_HEAD)
        for stored in self.store.stored(unix_seconds()):
            _ = write_cookie_line(stored, text)
        return text^

    def read_text(mut self, text: Span[UInt8, _]) raises -> Int:
        """Stores the cookies of a `cookies.txt`. A cookie that the jar has gets
        the value of the text.

        Args:
            text: The octets of the file.

        Returns:
            How many cookies were ignored, because no server could have set
            them.

        Raises:
            Error: `message.bad_cookie`, with the number of the line and the
                reason, if a line has another form. The cookies before it are
                stored.
        """
        var ignored = 0
        var number = 0
        var start = 0
        var now_seconds = unix_seconds()
        while start < len(text):
            var end = find_octet(text, LF, start)
            number += 1
            try:
                var stored = read_cookie_line(text[start:end])
                if stored and not self._restore(stored.take(), now_seconds):
                    ignored += 1
            except e:
                raise Error("message.bad_cookie line ", number, ": ", e)
            start = end + 1
        return ignored

    def _restore(mut self, var stored: StoredCookie, now_seconds: Int) -> Bool:
        try:
            self.store.restore(stored^, now_seconds)
        except:
            return False
        return True

    def __len__(self) -> Int:
        """Returns the number of cookies.

        Returns:
            The number, including expired cookies that were not removed yet.
        """
        return len(self.store)

    def clear(mut self):
        """Removes all cookies."""
        self.store.clear()
