"""Defines the socket types, levels, options and flags of Linux.

The values are those of x86-64 and aarch64 (socket(7), tcp(7), ip(7), ipv6(7)).
"""

comptime SOCK_STREAM = 1
"""The type of a connected stream of octets."""
comptime SOCK_DGRAM = 2
"""The type that carries datagrams."""

comptime IPPROTO_IP = 0
"""The level of IPv4 options; as a protocol, the family's own for the type."""
comptime IPPROTO_TCP = 6
"""The TCP protocol, and the level of its options."""
comptime IPPROTO_UDP = 17
"""The UDP protocol, and the level of its options."""
comptime IPPROTO_IPV6 = 41
"""The level of IPv6 options."""
comptime SOL_SOCKET = 1
"""The level of options that every socket has."""

comptime SO_REUSEADDR = 2
"""Binds although old connections of the address linger."""
comptime SO_TYPE = 3
"""Reads the socket type."""
comptime SO_ERROR = 4
"""Reads and clears the pending error, the result of a connect."""
comptime SO_BROADCAST = 6
"""Allows datagrams to a broadcast address."""
comptime SO_SNDBUF = 7
"""The octets that wait to be sent; the kernel doubles what is set."""
comptime SO_RCVBUF = 8
"""The octets that wait to be read; the kernel doubles what is set."""
comptime SO_KEEPALIVE = 9
"""Sends probes on an idle connection."""
comptime SO_LINGER = 13
"""How closing treats unsent octets."""
comptime SO_REUSEPORT = 15
"""Binds several sockets to one address; the kernel spreads the work."""
comptime SO_PEERCRED = 17
"""Reads who made the other end of a Unix socket."""
comptime SO_ATTACH_FILTER = 26
"""Attaches a filter program, which decides in the kernel which packets reach
the socket.
"""
comptime SO_DETACH_FILTER = 27
"""Takes that program away."""
comptime SO_ACCEPTCONN = 30
"""Whether a socket listens."""
comptime SO_DOMAIN = 39
"""Reads the address family."""
comptime SO_INCOMING_CPU = 49
"""The processor that handles the packets of the socket."""

comptime TCP_NODELAY = 1
"""Sends small segments at once (RFC 896 describes what it turns off)."""
comptime TCP_CORK = 3
"""Holds partial segments back until it is cleared."""
comptime TCP_KEEPIDLE = 4
"""The idle seconds before the first keep-alive probe."""
comptime TCP_KEEPINTVL = 5
"""The seconds between keep-alive probes."""
comptime TCP_KEEPCNT = 6
"""The unanswered keep-alive probes that end a connection."""
comptime TCP_DEFER_ACCEPT = 9
"""The seconds a connection may wait for its first octets before accept."""
comptime TCP_QUICKACK = 12
"""Acknowledges at once."""
comptime TCP_USER_TIMEOUT = 18
"""The milliseconds that sent octets may stay unacknowledged (RFC 5482)."""
comptime TCP_NOTSENT_LOWAT = 25
"""The most octets that the kernel holds and has not sent."""
comptime TCP_FASTOPEN = 23
"""The queue length of fast open (RFC 7413)."""

comptime IP_TOS = 1
"""The type of service of IPv4 (RFC 2474)."""
comptime IP_MULTICAST_IF = 32
"""The interface from which datagrams to IPv4 groups go out."""
comptime IP_MULTICAST_TTL = 33
"""The hops that datagrams to IPv4 groups may take."""
comptime IP_MULTICAST_LOOP = 34
"""Delivers datagrams to IPv4 groups on this machine too."""
comptime MCAST_JOIN_GROUP = 42
"""Joins a group of either version (RFC 3678)."""
comptime MCAST_LEAVE_GROUP = 45
"""Leaves it."""
comptime IPV6_MULTICAST_IF = 17
"""The interface from which datagrams to IPv6 groups go out."""
comptime IPV6_MULTICAST_HOPS = 18
"""The hops that datagrams to IPv6 groups may take."""
comptime IPV6_MULTICAST_LOOP = 19
"""Delivers datagrams to IPv6 groups on this machine too."""
comptime IPV6_V6ONLY = 26
"""Keeps IPv4 away from an IPv6 socket (RFC 3493 section 5.3)."""
comptime IPV6_TCLASS = 67
"""The traffic class of IPv6 (RFC 2474)."""

comptime MSG_OOB = 0x1
"""Sends or receives urgent octets."""
comptime MSG_PEEK = 0x2
"""Receives octets and leaves them in the socket."""
comptime MSG_DONTWAIT = 0x40
"""Fails with `EAGAIN` where the call would wait."""
comptime MSG_TRUNC = 0x20
"""Reports the whole length of a datagram that was cut."""

comptime SHUT_RD = 0
"""Ends receiving."""
comptime SHUT_WR = 1
"""Ends sending: the peer reads the end of the stream."""
comptime SHUT_RDWR = 2
"""Ends both directions."""
