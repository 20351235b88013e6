"""Reads and sets the options of sockets.

Connections inherit the options of the listening socket that accepted them.
"""

from flare.sys.socket import (
    set_socket_linger,
    set_socket_option,
    socket_option,
)
from flare.sys.socket_address import AF_INET6
from flare.sys.socket_constants import (
    IPPROTO_IP,
    IPPROTO_IPV6,
    IPPROTO_TCP,
    IPV6_TCLASS,
    IPV6_V6ONLY,
    IP_TOS,
    SOL_SOCKET,
    SO_BROADCAST,
    SO_DOMAIN,
    SO_KEEPALIVE,
    SO_RCVBUF,
    SO_REUSEADDR,
    SO_REUSEPORT,
    SO_SNDBUF,
    TCP_KEEPCNT,
    TCP_KEEPIDLE,
    TCP_KEEPINTVL,
    TCP_NODELAY,
)

from .error import NetError, checked


@fieldwise_init
struct KeepAlive(ImplicitlyCopyable):
    """When a silent connection is probed, and after how long it is closed."""

    var idle_seconds: Int
    """The silence before the first probe; 1 to 32,767."""
    var interval_seconds: Int
    """The time between probes; 1 to 32,767."""
    var probes_max: Int
    """The number of unanswered probes that end the connection; 1 to 127."""


trait SocketOptions:
    """A type that owns a socket, and so has every socket option.

    Each method raises an error whose text `NetError.of` reads. On a closed
    socket that is `net.closed option`.
    """

    def descriptor(self) -> Int32:
        """Returns the descriptor, which the socket still owns.

        The number alone does not keep the socket open: Mojo destroys a value
        after its last use. Use the socket again (`_ = socket^`) after the last
        use of the number.

        Returns:
            The descriptor, valid until the socket is closed; -1 if it is
            closed.
        """
        ...

    def option(self, level: Int, name: Int) raises -> Int:
        """Returns an option whose value is a number.

        Args:
            level: `SOL_SOCKET`, or a protocol.
            name: The option, a constant of `flare.sys.socket_constants`.

        Returns:
            The value.

        Raises:
            Error: `net.unsupported option` and the like.
        """
        var value = 0
        _ = checked(
            "option", socket_option(self.descriptor(), level, name, value)
        )
        return value

    def set_option(self, level: Int, name: Int, value: Int) raises:
        """Sets an option whose value is a number.

        Args:
            level: `SOL_SOCKET`, or a protocol.
            name: The option, a constant of `flare.sys.socket_constants`.
            value: The value, within 32 bits.

        Raises:
            Error: `net.unsupported option` and the like.
        """
        _ = checked(
            "option", set_socket_option(self.descriptor(), level, name, value)
        )

    def set_reuse_address(self, enabled: Bool) raises:
        """Allows binding while old connections of the address linger.

        Args:
            enabled: Whether to allow it.

        Raises:
            Error: `net.closed option`.
        """
        self.set_option(SOL_SOCKET, SO_REUSEADDR, Int(enabled))

    def set_reuse_port(self, enabled: Bool) raises:
        """Allows several sockets of this user to bind to one address.

        Args:
            enabled: Whether to allow it.

        Raises:
            Error: `net.closed option`.
        """
        self.set_option(SOL_SOCKET, SO_REUSEPORT, Int(enabled))

    def set_no_delay(self, enabled: Bool) raises:
        """Sends small segments at once instead of gathering them (RFC 896).

        It is on by default for `TcpStream` and `TcpListener`, and off for
        other sockets.

        Args:
            enabled: Whether to send them at once.

        Raises:
            Error: `net.unsupported option` if the socket is not TCP.
        """
        self.set_option(IPPROTO_TCP, TCP_NODELAY, Int(enabled))

    def set_keep_alive(self, keep_alive: Optional[KeepAlive]) raises:
        """Probes an idle connection with keep-alive segments, or stops doing
        so.

        Args:
            keep_alive: The times and the number of probes; `None` stops them.

        Raises:
            Error: `net.other option` if a number is out of the kernel's range.
        """
        if keep_alive:
            ref times = keep_alive.value()
            self.set_option(IPPROTO_TCP, TCP_KEEPIDLE, times.idle_seconds)
            self.set_option(IPPROTO_TCP, TCP_KEEPINTVL, times.interval_seconds)
            self.set_option(IPPROTO_TCP, TCP_KEEPCNT, times.probes_max)
        self.set_option(SOL_SOCKET, SO_KEEPALIVE, Int(Bool(keep_alive)))

    def set_linger(self, seconds: Optional[Int]) raises:
        """Sets whether `close` drops unsent octets and resets the connection.

        The kernel could also wait in `close` until all octets are sent. That
        would block the thread and all its connections, so it is refused. To
        learn that all octets arrived, call `end_sending` and read to the end
        of the stream.

        Args:
            seconds: `None` sends unsent octets in the background, the default;
                0 drops them and resets the connection.

        Raises:
            Error: `net.closed option`; `net.unsupported option` for any other
                number.
        """
        if seconds and seconds.value() != 0:
            raise NetError(NetError.UNSUPPORTED, "option")
        _ = checked("option", set_socket_linger(self.descriptor(), seconds))

    def set_send_buffer_octets(self, octets: Int) raises:
        """Sets how many octets may wait to be sent.

        Args:
            octets: The size. The kernel doubles it for its own records, up to
                its limit.

        Raises:
            Error: `net.closed option`.
        """
        self.set_option(SOL_SOCKET, SO_SNDBUF, octets)

    def set_receive_buffer_octets(self, octets: Int) raises:
        """Sets how many octets may wait to be read.

        Args:
            octets: The size. The kernel doubles it for its own records, up to
                its limit.

        Raises:
            Error: `net.closed option`.
        """
        self.set_option(SOL_SOCKET, SO_RCVBUF, octets)

    def set_broadcast(self, enabled: Bool) raises:
        """Allows sending datagrams to broadcast addresses.

        Args:
            enabled: Whether to allow it.

        Raises:
            Error: `net.closed option`.
        """
        self.set_option(SOL_SOCKET, SO_BROADCAST, Int(enabled))

    def set_v6_only(self, enabled: Bool) raises:
        """Excludes IPv4 from an IPv6 socket (RFC 3493 section 5.3).

        Args:
            enabled: Whether to exclude it; False accepts IPv4 peers in the
                mapped form.

        Raises:
            Error: `net.unsupported option` if the socket is not IPv6.
        """
        self.set_option(IPPROTO_IPV6, IPV6_V6ONLY, Int(enabled))

    def set_type_of_service(self, octet: UInt8) raises:
        """Sets the differentiated services field (RFC 2474).

        Args:
            octet: The type of service of IPv4, the traffic class of IPv6.

        Raises:
            Error: `net.unsupported option` if the socket is not IP.
        """
        if self.option(SOL_SOCKET, SO_DOMAIN) == AF_INET6:
            self.set_option(IPPROTO_IPV6, IPV6_TCLASS, Int(octet))
        else:
            self.set_option(IPPROTO_IP, IP_TOS, Int(octet))
