"""Opens connections.

Each parameter of libpq is passed, so that no environment variable and no file
of the user's home changes the connection. Steps that compute or read files run
on a helper thread, and the fiber waits for the socket in between.
"""

from flare.dns import resolve
from flare.net import IpAddr
from flare.runtime.blocking import blocking
from flare.runtime.readiness import wait_readable, wait_writable
from flare.runtime.wait import deadline_in
from flare.sys.libpq import Libpq
from flare.sys.libpq_connection import PgConnection, PgPolling
from flare.sys.pg_parameters import CStringTable
from flare.tls.library import system_trust_store

from .error import PostgresError
from .location import DatabaseLocation
from .options import DatabaseOptions, PostgresTls

# The library takes an empty value for none, and then reads a variable or a
# default file. No file can be at this path.
comptime _NO_FILE: StaticString = "/dev/null/none"
# Sent only if the server asks for a password.
comptime _NO_PASSWORD: StaticString = "(none)"
comptime _VERSION_16 = 160_000
comptime _VERSION_17 = 170_000
comptime _VERSION_18 = 180_000


struct ConnectParameters(Copyable, Movable):
    """The parameters of libpq for one connection."""

    var keywords: CStringTable
    """Their names."""
    var values: CStringTable
    """Their values."""

    def __init__(out self):
        """Creates an empty list."""
        self.keywords = CStringTable()
        self.values = CStringTable()

    def set(mut self, keyword: StringSlice, value: StringSlice):
        """Appends a parameter.

        Args:
            keyword: Its name.
            value: Its value, not empty.
        """
        self.keywords.add(keyword)
        self.values.add(value)


struct _Started(Movable):
    var connection: Optional[PgConnection]

    def __init__(out self, connection: Optional[PgConnection]):
        self.connection = connection

    def __deinit__(deinit self):
        if self.connection:
            self.connection.value().finish()

    def take(mut self) -> PgConnection:
        var connection = self.connection.value()
        self.connection = None
        return connection


def open_connection(
    library: Libpq, location: DatabaseLocation, options: DatabaseOptions
) raises -> PgConnection:
    """Opens a connection in pipeline mode.

    Args:
        library: The library.
        location: The database.
        options: The bounds.

    Returns:
        The connection, which the caller finishes.

    Raises:
        PostgresError: `postgres.connect`, with the server's code if it sent
            one.

        DnsError: If the host is not found.

        NetError: `net.timeout` or `net.cancelled`.
    """
    with deadline_in(options.connect_timeout_ms):
        var parameters = connect_parameters(
            library.version(), location, options, _addresses_of(location)
        )

        def start() raises {var library, var parameters^} -> _Started:
            var started = library.start(parameters.keywords, parameters.values)
            if not started:
                raise Error("there is no memory for a connection")
            return _Started(started)

        # A cancelled fiber drops the connection, which is then closed.
        var started = blocking(start^)
        var connection = started.take()
        try:
            _finish_connecting(connection, Bool(location.password))
        except e:
            connection.finish()
            raise e^
        return connection


def connect_parameters(
    version: Int,
    location: DatabaseLocation,
    options: DatabaseOptions,
    addresses: List[IpAddr],
) raises -> ConnectParameters:
    """Returns all parameters of a connection.

    Args:
        version: The version of the library.
        location: The database.
        options: The bounds.
        addresses: The addresses of the host, none for a Unix socket.

    Returns:
        The parameters, of which no value is empty.

    Raises:
        PostgresError: `postgres.bad_options` if the system has no file of
            authorities, and one is needed.
    """
    var p = ConnectParameters()
    _set_place(p, location, addresses)
    p.set("user", location.user)
    p.set("dbname", location.database)
    var password = String(_NO_PASSWORD)
    if location.password and location.password.value() != "":
        password = location.password.value()
    p.set("password", password)
    p.set("passfile", _NO_FILE)
    p.set("client_encoding", "UTF8")
    p.set("application_name", options.application_name or "flare")
    p.set("fallback_application_name", "flare")
    if options.startup_options:
        p.set("options", options.startup_options.value() or " ")
    p.set("connect_timeout", "3600")
    p.set("keepalives", "1")
    p.set("keepalives_idle", "30")
    p.set("keepalives_interval", "10")
    p.set("keepalives_count", "3")
    # Octets that stay unanswered for so long end the connection.
    p.set("tcp_user_timeout", "30000")
    p.set("target_session_attrs", "any")
    # The library would look for tickets of Kerberos, in files.
    p.set("gssencmode", "disable")
    p.set("krbsrvname", "postgres")
    p.set("gsslib", "gssapi")
    _set_tls(p, location, options)
    if version >= _VERSION_16:
        p.set("require_auth", "none,password,md5,scram-sha-256,gss,sspi")
        p.set("sslcertmode", "disable")
        p.set("load_balance_hosts", "disable")
        p.set("gssdelegation", "0")
    if version >= _VERSION_17:
        p.set("sslnegotiation", "postgres")
    if version >= _VERSION_18:
        p.set("min_protocol_version", "3.0")
        p.set("max_protocol_version", "3.0")
    return p^


def _set_place(
    mut p: ConnectParameters,
    location: DatabaseLocation,
    addresses: List[IpAddr],
):
    p.set("port", String(location.port))
    if location.is_unix():
        # An empty `hostaddr` would be replaced by PGHOSTADDR, but not an empty
        # one in a list. The requirement applies to Unix sockets alone.
        p.set("host", String(location.host, ",", location.host))
        p.set("hostaddr", ",")
        return
    p.set("requirepeer", "none")
    var hosts = String()
    var texts = String()
    for i in range(len(addresses)):
        if i > 0:
            hosts += ","
            texts += ","
        hosts += location.host
        texts += String(addresses[i])
    p.set("host", hosts)
    p.set("hostaddr", texts)


def _set_tls(
    mut p: ConnectParameters,
    location: DatabaseLocation,
    options: DatabaseOptions,
) raises:
    var tls = options.tls
    if tls == PostgresTls.AUTOMATIC:
        tls = (
            PostgresTls.DISABLED if location.is_local() else PostgresTls.VERIFIED
        )
    var trust = String(_NO_FILE)
    if tls == PostgresTls.VERIFIED:
        p.set("sslmode", "verify-full")
        var found = options.trust_file
        if not found:
            found = system_trust_store()
        if not found:
            raise Error(
                String(
                    PostgresError(
                        PostgresError.BAD_OPTIONS,
                        "the system has no file of authorities: set trust_file",
                    )
                )
            )
        trust = found.value()
    elif tls == PostgresTls.ENCRYPTED:
        p.set("sslmode", "require")
    else:
        p.set("sslmode", "disable")
    p.set("sslrootcert", trust)
    p.set("sslcert", _NO_FILE)
    p.set("sslkey", _NO_FILE)
    p.set("sslcrl", _NO_FILE)
    p.set("sslcrldir", _NO_FILE)
    p.set("sslcompression", "0")
    p.set("sslsni", "1")
    p.set("ssl_min_protocol_version", "TLSv1.2")
    p.set("ssl_max_protocol_version", "TLSv1.3")
    p.set("channel_binding", "prefer")


def _addresses_of(location: DatabaseLocation) raises -> List[IpAddr]:
    if location.is_unix():
        return List[IpAddr]()
    return resolve(location.host, timeout_ms=None)


def _finish_connecting(connection: PgConnection, has_password: Bool) raises:
    if connection.has_failed():
        # There is no socket to wait for.
        raise _connect_error(connection, has_password)
    var waits_for = PgPolling.WRITING
    while True:
        if waits_for == PgPolling.WRITING:
            wait_writable(connection.descriptor(), None)
        elif waits_for == PgPolling.READING:
            wait_readable(connection.descriptor(), None)

        # The proof of a password takes milliseconds to compute.
        def step() raises {var connection} -> Int:
            return connection.poll_connect()

        waits_for = blocking(step)
        if waits_for == PgPolling.DONE:
            break
        if waits_for == PgPolling.FAILED:
            raise _connect_error(connection, has_password)
    if not connection.begin_pipeline():
        raise _connect_error(connection, has_password)


def _connect_error(connection: PgConnection, has_password: Bool) -> Error:
    var text = connection.error_text()
    var error = PostgresError(
        PostgresError.CONNECT, String(StringSlice(text).strip())
    )
    error.sqlstate = sqlstate_in(text)
    if not has_password and connection.used_password():
        error.hint = "the server asks for a password, and the URL has none"
    return Error(String(error))


def sqlstate_in(text: StringSlice) -> String:
    """Returns the code in a verbose text of the library.

    Args:
        text: A text such as `FATAL:  28P01: password authentication failed`.

    Returns:
        The five characters of the first code; empty without one.
    """
    var octets = text.as_bytes()
    for i in range(len(octets) - 8):
        if octets[i] != 58 or octets[i + 1] != 32 or octets[i + 2] != 32:
            continue
        var is_code = octets[i + 8] == 58
        for k in range(3, 8):
            var octet = Int(octets[i + k])
            is_code = is_code and (48 <= octet <= 57 or 65 <= octet <= 90)
        if is_code:
            return String(text[byte = i + 3 : i + 8])
    return String()
