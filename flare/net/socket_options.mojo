"""Reads and sets the options of whatever owns a socket descriptor.

An option set on a listening socket is inherited by the connections it accepts.
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
    """Says when a connection that stays silent is probed and given up."""

    var idle_seconds: Int
    """The silence before the first probe; 1 to 32,767."""
    var interval_seconds: Int
    """The time between probes; 1 to 32,767."""
    var probes_max: Int
    """The unanswered probes that end the connection; 1 to 127."""


trait SocketOptions:
    """Gives a type that owns a socket every socket option.

    Each method raises an error whose text `NetError.of` reads; on a closed
    socket that is `net.closed option`.
    """

    def descriptor(self) -> Int32:
        """Lends the descriptor.

        The number alone does not keep the socket open: Mojo destroys a value
        after its last use, so use the socket once more (`_ = socket^`) when
        the descriptor is no longer needed.

        Returns:
            The descriptor, valid until the socket is closed; -1 if it is.
        """
        ...

    def option(self, level: Int, name: Int) raises -> Int:
        """Reads an option whose value is a number.

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
        """Allows to bind while old connections of the address linger.

        Args:
            enabled: Whether it is allowed.

        Raises:
            Error: `net.closed option`.
        """
        self.set_option(SOL_SOCKET, SO_REUSEADDR, Int(enabled))

    def set_reuse_port(self, enabled: Bool) raises:
        """Allows several sockets of this user to bind to one address.

        Args:
            enabled: Whether it is allowed.

        Raises:
            Error: `net.closed option`.
        """
        self.set_option(SOL_SOCKET, SO_REUSEPORT, Int(enabled))

    def set_no_delay(self, enabled: Bool) raises:
        """Sends small segments at once instead of gathering them (RFC 896).

        `TcpStream` and `TcpListener` start with it enabled, other sockets do
        not.

        Args:
            enabled: Whether they go out at once.

        Raises:
            Error: `net.unsupported option` if the socket is not TCP.
        """
        self.set_option(IPPROTO_TCP, TCP_NODELAY, Int(enabled))

    def set_keep_alive(self, keep_alive: Optional[KeepAlive]) raises:
        """Sends probes on an idle connection, or stops doing so.

        Args:
            keep_alive: When to probe; none stops it.

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
        """Says what closing does with octets that are not yet sent.

        The kernel can also wait in `close` until they are sent. That is refused
        because it would hold the thread, and with it all that it serves; write,
        `end_sending` and read to the end to learn that all have arrived.

        Args:
            seconds: None sends them in the background, as by default; 0 drops
                them and resets the connection.

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
            octets: The size; the kernel doubles it for its own records and
                cuts it to its limit.

        Raises:
            Error: `net.closed option`.
        """
        self.set_option(SOL_SOCKET, SO_SNDBUF, octets)

    def set_receive_buffer_octets(self, octets: Int) raises:
        """Sets how many octets may wait to be read.

        Args:
            octets: The size; the kernel doubles it for its own records and
                cuts it to its limit.

        Raises:
            Error: `net.closed option`.
        """
        self.set_option(SOL_SOCKET, SO_RCVBUF, octets)

    def set_broadcast(self, enabled: Bool) raises:
        """Allows to send datagrams to a broadcast address.

        Args:
            enabled: Whether it is allowed.

        Raises:
            Error: `net.closed option`.
        """
        self.set_option(SOL_SOCKET, SO_BROADCAST, Int(enabled))

    def set_v6_only(self, enabled: Bool) raises:
        """Keeps IPv4 away from an IPv6 socket (RFC 3493 section 5.3).

        Args:
            enabled: False lets IPv4 peers in, in the mapped form.

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
