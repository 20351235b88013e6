"""Defines the error numbers of Linux that occur in networking.

Every function of `flare.sys` that can fail returns its result, or the negated
error number: `-ECONNREFUSED` is -111.
"""

comptime EPERM = 1
"""The operation needs a privilege that the process lacks."""
comptime ENOENT = 2
"""No file or directory has this path."""
comptime EINTR = 4
"""A signal handler ran before the call could finish."""
comptime EIO = 5
"""A device failed."""
comptime EBADF = 9
"""The number is not an open descriptor of the right kind."""
comptime EAGAIN = 11
"""The call would have to wait, or a limit is reached."""
comptime ENOMEM = 12
"""The kernel has no memory for the request."""
comptime EACCES = 13
"""Permission is denied, as for a port below 1024."""
comptime EFAULT = 14
"""A pointer leads outside the address space."""
comptime EBUSY = 16
"""The resource is in use."""
comptime EEXIST = 17
"""The thing to be made exists already."""
comptime ENODEV = 19
"""No such device exists."""
comptime ENOTDIR = 20
"""A part of the path is not a directory."""
comptime EISDIR = 21
"""The path names a directory."""
comptime EINVAL = 22
"""An argument is not valid."""
comptime ENFILE = 23
"""The whole system has no descriptor left."""
comptime EMFILE = 24
"""The process has no descriptor left."""
comptime EFBIG = 27
"""The file would grow over its limit."""
comptime ENOSPC = 28
"""The device is full."""
comptime ESPIPE = 29
"""The descriptor cannot be positioned."""
comptime EPIPE = 32
"""The other end is closed."""
comptime ERANGE = 34
"""The result does not fit."""
comptime ENAMETOOLONG = 36
"""A path or a name is too long."""
comptime ENOSYS = 38
"""The kernel does not know the call."""
comptime ELOOP = 40
"""A path has too many symbolic links."""
comptime ETIME = 62
"""A timer ran out, also that of an io_uring timeout."""
comptime EPROTO = 71
"""The other side broke the transport's protocol."""
comptime EOVERFLOW = 75
"""A value does not fit its type."""
comptime EBADFD = 77
"""The descriptor is in the wrong state."""
comptime ENOTSOCK = 88
"""The descriptor is not a socket."""
comptime EDESTADDRREQ = 89
"""The socket has no peer and none was named."""
comptime EMSGSIZE = 90
"""The datagram is larger than the transport carries."""
comptime EPROTOTYPE = 91
"""The protocol does not fit the socket's type."""
comptime ENOPROTOOPT = 92
"""The protocol does not know the option."""
comptime EPROTONOSUPPORT = 93
"""The kernel does not have the protocol."""
comptime ESOCKTNOSUPPORT = 94
"""The kernel does not have the socket type."""
comptime EOPNOTSUPP = 95
"""The descriptor does not offer the operation."""
comptime EAFNOSUPPORT = 97
"""The kernel does not have the address family."""
comptime EADDRINUSE = 98
"""Another socket holds the address."""
comptime EADDRNOTAVAIL = 99
"""The machine does not have the address, or no port is left."""
comptime ENETDOWN = 100
"""The network interface is down."""
comptime ENETUNREACH = 101
"""No route leads to the network."""
comptime ENETRESET = 102
"""Keep-alive probes found the peer gone."""
comptime ECONNABORTED = 103
"""The connection was given up before it was accepted."""
comptime ECONNRESET = 104
"""The peer reset the connection."""
comptime ENOBUFS = 105
"""No buffer is left."""
comptime EISCONN = 106
"""The socket is connected already."""
comptime ENOTCONN = 107
"""The socket is not connected."""
comptime ESHUTDOWN = 108
"""This side ended its sending."""
comptime ETIMEDOUT = 110
"""The peer did not answer in time."""
comptime ECONNREFUSED = 111
"""No socket listens at the address."""
comptime EHOSTDOWN = 112
"""The host is down."""
comptime EHOSTUNREACH = 113
"""No route leads to the host."""
comptime EALREADY = 114
"""An earlier connect is still under way."""
comptime EINPROGRESS = 115
"""The connect has started and continues in the background."""
comptime ECANCELED = 125
"""The operation was cancelled."""


def errno_name(errno: Int) -> StaticString:
    """Returns the name of an error number, as in the C headers.

    Args:
        errno: The number, not negated.

    Returns:
        `"ECONNREFUSED"` for 111, and so on; `"unknown"` for a number that has
        no constant here.
    """
    comptime for i in range(len(_NAMES)):
        if errno == comptime (_NAMES[i].number):
            return comptime (_NAMES[i].name)
    return "unknown"


@fieldwise_init
struct _Name(TrivialRegisterPassable):
    var number: Int
    var name: StaticString


comptime _NAMES: List[_Name] = [
    _Name(EPERM, "EPERM"),
    _Name(ENOENT, "ENOENT"),
    _Name(EINTR, "EINTR"),
    _Name(EIO, "EIO"),
    _Name(EBADF, "EBADF"),
    _Name(EAGAIN, "EAGAIN"),
    _Name(ENOMEM, "ENOMEM"),
    _Name(EACCES, "EACCES"),
    _Name(EFAULT, "EFAULT"),
    _Name(EBUSY, "EBUSY"),
    _Name(EEXIST, "EEXIST"),
    _Name(ENODEV, "ENODEV"),
    _Name(ENOTDIR, "ENOTDIR"),
    _Name(EISDIR, "EISDIR"),
    _Name(EINVAL, "EINVAL"),
    _Name(ENFILE, "ENFILE"),
    _Name(EMFILE, "EMFILE"),
    _Name(EFBIG, "EFBIG"),
    _Name(ENOSPC, "ENOSPC"),
    _Name(ESPIPE, "ESPIPE"),
    _Name(EPIPE, "EPIPE"),
    _Name(ERANGE, "ERANGE"),
    _Name(ENAMETOOLONG, "ENAMETOOLONG"),
    _Name(ENOSYS, "ENOSYS"),
    _Name(ELOOP, "ELOOP"),
    _Name(ETIME, "ETIME"),
    _Name(EPROTO, "EPROTO"),
    _Name(EOVERFLOW, "EOVERFLOW"),
    _Name(EBADFD, "EBADFD"),
    _Name(ENOTSOCK, "ENOTSOCK"),
    _Name(EDESTADDRREQ, "EDESTADDRREQ"),
    _Name(EMSGSIZE, "EMSGSIZE"),
    _Name(EPROTOTYPE, "EPROTOTYPE"),
    _Name(ENOPROTOOPT, "ENOPROTOOPT"),
    _Name(EPROTONOSUPPORT, "EPROTONOSUPPORT"),
    _Name(ESOCKTNOSUPPORT, "ESOCKTNOSUPPORT"),
    _Name(EOPNOTSUPP, "EOPNOTSUPP"),
    _Name(EAFNOSUPPORT, "EAFNOSUPPORT"),
    _Name(EADDRINUSE, "EADDRINUSE"),
    _Name(EADDRNOTAVAIL, "EADDRNOTAVAIL"),
    _Name(ENETDOWN, "ENETDOWN"),
    _Name(ENETUNREACH, "ENETUNREACH"),
    _Name(ENETRESET, "ENETRESET"),
    _Name(ECONNABORTED, "ECONNABORTED"),
    _Name(ECONNRESET, "ECONNRESET"),
    _Name(ENOBUFS, "ENOBUFS"),
    _Name(EISCONN, "EISCONN"),
    _Name(ENOTCONN, "ENOTCONN"),
    _Name(ESHUTDOWN, "ESHUTDOWN"),
    _Name(ETIMEDOUT, "ETIMEDOUT"),
    _Name(ECONNREFUSED, "ECONNREFUSED"),
    _Name(EHOSTDOWN, "EHOSTDOWN"),
    _Name(EHOSTUNREACH, "EHOSTUNREACH"),
    _Name(EALREADY, "EALREADY"),
    _Name(EINPROGRESS, "EINPROGRESS"),
    _Name(ECANCELED, "ECANCELED"),
]
