"""Makes reactors and sockets for the contract, of every kind in one shape."""

from flare.runtime.backend import BackendKind
from flare.runtime.backends.simulated import SimulatedBackend
from flare.runtime.backends.simulated_faults import SimulatedFaults
from flare.runtime.backends.simulated_network import (
    SimulatedNetwork,
    descriptor_of,
)
from flare.runtime.buffer_pool import BufferPool
from flare.runtime.reactor import (
    RECEIVE_BUFFER_OCTETS,
    Reactor,
    ReactorConfig,
)
from flare.runtime.start import open_reactor
from flare.sys.file import close_descriptor
from flare.sys.socket import (
    accept_socket,
    bind_socket,
    connect_socket,
    listen_socket,
    local_socket_address,
    open_socket,
    set_socket_linger,
)
from flare.sys.socket_address import AF_INET, SocketAddressStorage
from flare.sys.socket_constants import SOCK_STREAM


trait ReactorWorld(Copyable, Deinitable, Movable):
    """A reactor, and sockets that it can reach."""

    @staticmethod
    def open(config: ReactorConfig) raises -> Self:
        """Creates a reactor.

        Args:
            config: Its bounds.

        Returns:
            The world; `close` ends it.

        Raises:
            Error: If the machine cannot create such a reactor.
        """
        ...

    def reactor(self) -> Reactor:
        """Returns the reactor.

        Returns:
            The reactor.
        """
        ...

    def has_kernel(self) -> Bool:
        """Returns whether the world uses a kernel interface.

        Returns:
            False if time is virtual and there is only one thread.
        """
        ...

    def pair(self) raises -> Tuple[Int32, Int32]:
        """Creates a connection. The caller closes both ends.

        Returns:
            Its ends.

        Raises:
            Error: If the connection cannot be made.
        """
        ...

    def listen(self) raises -> Int32:
        """Opens a listener. The caller closes it.

        Returns:
            Its descriptor.

        Raises:
            Error: If the socket cannot be opened.
        """
        ...

    def socket(self) raises -> Int32:
        """Opens a socket that is not connected. The caller closes it.

        Returns:
            Its descriptor.

        Raises:
            Error: If the socket cannot be opened.
        """
        ...

    def address(self, listener: Int32) raises -> SocketAddressStorage:
        """Returns the address of a listener.

        Args:
            listener: The listener.

        Returns:
            Its address.

        Raises:
            Error: If the listener has no address.
        """
        ...

    def reset(self, descriptor: Int32):
        """Closes a descriptor so that the other end reads a reset.

        Args:
            descriptor: One end of a pair that no operation has used.
        """
        ...

    def close(self):
        """Frees the reactor."""
        ...


@fieldwise_init
struct KernelWorld[kind: BackendKind](ReactorWorld):
    """A reactor on a kernel interface, and TCP over the loopback.

    Parameters:
        kind: The kernel interface.
    """

    var _reactor: Reactor

    @staticmethod
    def open(config: ReactorConfig) raises -> Self:
        """Creates a reactor on the kernel interface.

        Args:
            config: Its bounds.

        Returns:
            The world.

        Raises:
            Error: If the kernel refuses.
        """
        var own = config.copy()
        own.backend = Self.kind
        var opened = open_reactor(own)
        if not opened[1]:
            raise Error("no reactor on ", Self.kind, ": ", opened[0])
        return Self(opened[1].value())

    def reactor(self) -> Reactor:
        """Returns the reactor.

        Returns:
            The reactor.
        """
        return self._reactor

    def has_kernel(self) -> Bool:
        """Returns whether the world uses a kernel interface.

        Returns:
            True.
        """
        return True

    def pair(self) raises -> Tuple[Int32, Int32]:
        """Connects to a listener of its own.

        Returns:
            Both ends, which block, as a server's sockets do.

        Raises:
            Error: If the kernel refuses.
        """
        var listener = self.listen()
        var one = self.socket()
        _ = _checked(connect_socket(one, self.address(listener)))
        var peer = SocketAddressStorage()
        var other = _checked(accept_socket(listener, peer, non_blocking=False))
        _ = close_descriptor(listener)
        return (one, Int32(other))

    def listen(self) raises -> Int32:
        """Opens a listener on a port that the kernel chooses.

        Returns:
            Its descriptor.

        Raises:
            Error: If the kernel refuses.
        """
        var listener = self.socket()
        var octets = Array[UInt8, 4](fill=0)
        octets[0] = 127
        octets[3] = 1
        var address = SocketAddressStorage.v4(octets, 0)
        _ = _checked(bind_socket(listener, address))
        _ = _checked(listen_socket(listener, 4096))
        return listener

    def socket(self) raises -> Int32:
        """Opens a TCP socket.

        Returns:
            Its descriptor.

        Raises:
            Error: If the kernel refuses.
        """
        return Int32(
            _checked(open_socket(AF_INET, SOCK_STREAM, non_blocking=False))
        )

    def address(self, listener: Int32) raises -> SocketAddressStorage:
        """Returns the address of a listener, from the kernel.

        Args:
            listener: The listener.

        Returns:
            Its address.

        Raises:
            Error: If the listener has no address.
        """
        var address = SocketAddressStorage()
        _ = _checked(local_socket_address(listener, address))
        return address^

    def reset(self, descriptor: Int32):
        """Closes a descriptor without an orderly end.

        Args:
            descriptor: One end of a pair.
        """
        _ = set_socket_linger(descriptor, 0)
        _ = close_descriptor(descriptor)

    def close(self):
        """Frees the reactor."""
        self._reactor.destroy()


@fieldwise_init
struct SimulatedWorld[seed: Int](ReactorWorld):
    """A reactor on a network in memory.

    Parameters:
        seed: Decides all random events; 0 for a network without faults, others
            for one that shortens, delays, reorders, cancels late and answers
            twice.
    """

    var network: SimulatedNetwork
    """The network."""
    var _reactor: Reactor

    @staticmethod
    def open(config: ReactorConfig) raises -> Self:
        """Creates a reactor on a new network.

        Args:
            config: Its bounds.

        Returns:
            The world.

        Raises:
            Error: Never.
        """
        var faults = SimulatedFaults()
        comptime if Self.seed != 0:
            faults = SimulatedFaults.frequent()
            # Faults that occur by themselves are outside the contract.
            faults.accept_errors = 0
            faults.missing_buffers = 0
            faults.droughts = 0
        var network = SimulatedNetwork.create(Self.seed, faults)
        var buffers = BufferPool.create(
            RECEIVE_BUFFER_OCTETS, config.receive_buffers_max
        )
        return Self(
            network,
            Reactor.over(
                SimulatedBackend(network, buffers),
                BackendKind.SIMULATED,
                config,
                buffers,
            ),
        )

    def reactor(self) -> Reactor:
        """Returns the reactor.

        Returns:
            The reactor.
        """
        return self._reactor

    def has_kernel(self) -> Bool:
        """Returns whether the world uses a kernel interface.

        Returns:
            False.
        """
        return False

    def pair(self) raises -> Tuple[Int32, Int32]:
        """Links two sockets.

        Returns:
            Both.

        Raises:
            Error: Never.
        """
        var one = self.network.open()
        var other = self.network.open()
        self.network.link(one, other)
        return (descriptor_of(one), descriptor_of(other))

    def listen(self) raises -> Int32:
        """Opens a listener.

        Returns:
            Its descriptor.

        Raises:
            Error: Never.
        """
        return self.network.listen()

    def socket(self) raises -> Int32:
        """Opens a socket.

        Returns:
            Its descriptor.

        Raises:
            Error: Never.
        """
        return self.network.open_socket()

    def address(self, listener: Int32) raises -> SocketAddressStorage:
        """Returns the address of a listener.

        Args:
            listener: The listener.

        Returns:
            Its address.

        Raises:
            Error: Never.
        """
        return self.network.address(listener)

    def reset(self, descriptor: Int32):
        """Breaks a connection and closes one end.

        Args:
            descriptor: One end of a pair.
        """
        var index = self.network.find(descriptor)
        self.network.reset(index)
        self.network.close(index)

    def close(self):
        """Frees the reactor and the network."""
        self._reactor.destroy()
        self.network.destroy()


def _checked(result: Int) raises -> Int:
    if result < 0:
        raise Error("a system call failed: ", result)
    return result
