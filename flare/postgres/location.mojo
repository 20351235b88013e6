"""Reads the URL of a database."""

from flare.message.percent import percent_decoded
from flare.message.query import QueryParameters
from flare.net import IpAddr
from flare.sql.text import has_nul

from .options import DatabaseOptions, PostgresTls, bad_options

comptime _DEFAULT_PORT = 5432


struct DatabaseLocation(Copyable, Movable):
    """The place of a database and who uses it."""

    var host: String
    """A host name, an address, or the folder of a Unix socket."""
    var port: Int
    """The port, also of a Unix socket; 5432 by default."""
    var user: String
    """The user."""
    var password: Optional[String]
    """The password, if the URL has one."""
    var database: String
    """The name of the database; that of the user by default."""

    def __init__(out self):
        """Creates an empty location."""
        self.host = String()
        self.port = _DEFAULT_PORT
        self.user = String()
        self.password = None
        self.database = String()

    @staticmethod
    def parse(url: StringSlice, mut options: DatabaseOptions) raises -> Self:
        """Reads a URL.

        Args:
            url: As `postgres://user:password@host:5432/name?sslmode=require`.
                The parts may be percent-encoded. A Unix socket is
                `postgres://user@/name?host=/run/postgresql`.
            options: Changed by the parameters `sslmode`, `sslrootcert`,
                `application_name`, `connect_timeout` and `options`.

        Returns:
            The location.

        Raises:
            PostgresError: `postgres.bad_options`. Its text does not contain
                the password.
        """
        var rest = url[byte = _scheme_octets(url) :]
        var query = rest[byte=:0]
        var mark = rest.find("?")
        if mark >= 0:
            query = rest[byte = mark + 1 :]
            rest = rest[byte=:mark]
        var location = Self()
        var slash = rest.find("/")
        if slash >= 0:
            if "@" in rest[byte = slash + 1 :]:
                # A part of a password would be taken for the host.
                raise bad_options("`/` and `@` must be percent-encoded")
            location.database = percent_decoded(rest[byte = slash + 1 :])
            rest = rest[byte=:slash]
        var at = rest.rfind("@")
        if at < 0:
            raise bad_options("the URL has no user")
        var user = rest[byte=:at]
        var colon = user.find(":")
        if colon >= 0:
            location.password = percent_decoded(user[byte = colon + 1 :])
            user = user[byte=:colon]
        location.user = percent_decoded(user)
        location._read_host(rest[byte = at + 1 :])
        for parameter in QueryParameters(query):
            location._read_parameter(
                parameter.name(), parameter.value(), options
            )
        if location.user == "":
            raise bad_options("the URL has no user")
        if location.host == "":
            raise bad_options("the URL has no host")
        if location.database == "":
            location.database = location.user
        location._check()
        return location^

    def is_unix(self) -> Bool:
        """Returns whether the host is the folder of a Unix socket.

        Returns:
            True for a path.
        """
        return self.host.startswith("/")

    def is_local(self) -> Bool:
        """Returns whether connections stay on the machine.

        Returns:
            True for Unix sockets, `localhost` and loopback addresses.
        """
        if self.is_unix() or self.host == "localhost":
            return True
        try:
            return IpAddr.parse(self.host).is_loopback()
        except:
            return False

    def _read_host(mut self, text: StringSlice) raises:
        var host = text
        var after = text[byte=:0]
        if text.startswith("["):
            var end = text.find("]")
            if end < 0:
                raise bad_options("the URL has an invalid host")
            host = text[byte=1:end]
            after = text[byte = end + 1 :]
        else:
            var colon = text.find(":")
            if colon >= 0:
                host = text[byte=:colon]
                after = text[byte=colon:]
        self.host = percent_decoded(host)
        if after == "":
            return
        if not after.startswith(":"):
            raise bad_options("the URL has an invalid host")
        self._read_port(after[byte=1:])

    def _read_port(mut self, text: StringSlice) raises:
        var port = 0
        if text.byte_length() > 5:
            port = 65_536
        for octet in text.as_bytes():
            if octet < 48 or octet > 57:
                raise bad_options("the URL has an invalid port")
            port = port * 10 + Int(octet) - 48
        if not 1 <= port <= 65_535:
            raise bad_options("the URL has an invalid port")
        self.port = port

    def _read_parameter(
        mut self,
        name: StringSlice,
        value: StringSlice,
        mut options: DatabaseOptions,
    ) raises:
        if name == "host":
            self.host = String(value)
        elif name == "port":
            self._read_port(value)
        elif name == "sslmode":
            options.tls = _tls_of(value)
        elif name == "sslrootcert":
            options.trust_file = String(value)
        elif name == "application_name":
            options.application_name = String(value)
        elif name == "options":
            options.startup_options = String(value)
        elif name == "connect_timeout":
            try:
                options.connect_timeout_ms = Int(value) * 1000
            except:
                raise bad_options("the URL has an invalid connect_timeout")
        else:
            raise bad_options(String("the URL has an unknown parameter ", name))

    def _check(self) raises:
        var password = String()
        if self.password:
            password = self.password.value()
        if (
            has_nul(self.host)
            or has_nul(self.user)
            or has_nul(self.database)
            or has_nul(password)
        ):
            raise bad_options("the URL contains NUL")
        # A list of hosts, which the library would try in turn.
        if "," in self.host:
            raise bad_options("the URL has more than one host")


def _scheme_octets(url: StringSlice) raises -> Int:
    for scheme in [StaticString("postgres://"), StaticString("postgresql://")]:
        if url.startswith(scheme):
            return scheme.byte_length()
    raise bad_options("the URL does not start with postgres://")


def _tls_of(mode: StringSlice) raises -> PostgresTls:
    if mode == "disable":
        return PostgresTls.DISABLED
    if mode == "require":
        return PostgresTls.ENCRYPTED
    if mode == "verify-full":
        return PostgresTls.VERIFIED
    raise bad_options("sslmode is not disable, require or verify-full")
