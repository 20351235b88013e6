"""Joins multicast groups, and sets how datagrams to groups are sent."""

from flare.net import IpAddr, NetError, SocketAddr, SocketOptions
from flare.net.error import checked
from flare.sys.multicast import change_membership, set_multicast_interface_v4
from flare.sys.socket_address import AF_INET6
from flare.sys.socket_constants import (
    IPPROTO_IP,
    IPPROTO_IPV6,
    IPV6_MULTICAST_HOPS,
    IPV6_MULTICAST_IF,
    IPV6_MULTICAST_LOOP,
    IP_MULTICAST_LOOP,
    IP_MULTICAST_TTL,
    MCAST_JOIN_GROUP,
    MCAST_LEAVE_GROUP,
    SOL_SOCKET,
    SO_DOMAIN,
)


trait MulticastOptions(SocketOptions):
    """A datagram socket that can join multicast groups.

    To receive a group's datagrams, bind the socket to the group's address or
    to the unspecified address, and to the group's port. Sockets can share the
    port: `bind(…, reuse_address=True)`.
    """

    def join_group(self, group: IpAddr, *, interface_index: Int = 0) raises:
        """Joins a group (RFC 3678). Closing the socket leaves it.

        Args:
            group: The group's address; on an IPv6 socket an IPv6 one.
            interface_index: The interface's index
                (`flare.net.interface_index`); 0 lets the kernel choose by its
                routes.

        Raises:
            Error: `net.address_in_use option` if the group is joined already;
                `net.unsupported option` if the address is not that of a group,
                or of the other version; `net.other option errno=19` (ENODEV).
        """
        _change_membership(
            self.descriptor(), MCAST_JOIN_GROUP, group, interface_index
        )

    def leave_group(self, group: IpAddr, *, interface_index: Int = 0) raises:
        """Leaves a group.

        Args:
            group: The group's address.
            interface_index: The index with which it was joined.

        Raises:
            Error: `net.address_not_available option` if the group is not
                joined.
        """
        _change_membership(
            self.descriptor(), MCAST_LEAVE_GROUP, group, interface_index
        )

    def set_multicast_interface(self, interface_index: Int) raises:
        """Sets the interface that sends datagrams to groups.

        Args:
            interface_index: The interface's index; 0 lets the kernel choose.

        Raises:
            Error: `net.closed option`; `net.address_not_available option` or
                `net.other option errno=19` if there is no such interface.
        """
        if self.option(SOL_SOCKET, SO_DOMAIN) == AF_INET6:
            self.set_option(IPPROTO_IPV6, IPV6_MULTICAST_IF, interface_index)
        else:
            _ = checked(
                "option",
                set_multicast_interface_v4(self.descriptor(), interface_index),
            )

    def set_multicast_loop(self, enabled: Bool) raises:
        """Sets whether sockets of this machine receive datagrams sent to
        groups.

        Args:
            enabled: Whether sockets of this machine receive them; on by
                default.

        Raises:
            Error: `net.closed option`.
        """
        if self.option(SOL_SOCKET, SO_DOMAIN) == AF_INET6:
            self.set_option(IPPROTO_IPV6, IPV6_MULTICAST_LOOP, Int(enabled))
        else:
            self.set_option(IPPROTO_IP, IP_MULTICAST_LOOP, Int(enabled))

    def set_multicast_hops(self, hops: UInt8) raises:
        """Sets how many hops datagrams to groups may take.

        Args:
            hops: The number of routers plus one; 1, the default, stays in the
                local network.

        Raises:
            Error: `net.closed option`.
        """
        if self.option(SOL_SOCKET, SO_DOMAIN) == AF_INET6:
            self.set_option(IPPROTO_IPV6, IPV6_MULTICAST_HOPS, Int(hops))
        else:
            self.set_option(IPPROTO_IP, IP_MULTICAST_TTL, Int(hops))


def _change_membership(
    descriptor: Int32, option: Int, group: IpAddr, interface_index: Int
) raises:
    if not group.is_multicast():
        raise NetError(
            NetError.UNSUPPORTED, "option", address=SocketAddr(group, 0)
        )
    _ = checked(
        "option",
        change_membership(
            descriptor,
            IPPROTO_IP if group.is_v4() else IPPROTO_IPV6,
            option,
            interface_index,
            SocketAddr(group, 0).to_storage(),
        ),
        SocketAddr(group, 0),
    )
