"""Bounds what a reactor may hold."""

from .backend import BackendKind


struct ReactorConfig(Copyable, Movable):
    """Bounds what one reactor may hold."""

    var backend: BackendKind
    """The kernel interface; automatic by default."""
    var receive_buffers_max: Int
    """Buffers of 4 KiB that received octets may occupy. 16,384 by default:
    64 MiB, room for as many parked requests."""
    var large_buffers_max: Int
    """Buffers of 64 KiB for reads of more than 4 KiB; without one such a read
    is served in smaller pieces. 256 by default: 16 MiB."""
    var fibers_max: Int
    """Fibers that may exist at once; 65,536 by default, a third of what the
    kernel's limit on mappings allows without guard regions."""
    var stack_octets: Int
    """The address space of a fiber's stack, its guard included. 256 KiB by
    default; resident memory grows by use, one page at first."""
    var guard_octets: Int
    """The part of the stack that ends the process when touched; 64 KiB by
    default, because frames smaller than it cannot jump over it."""

    def __init__(
        out self,
        *,
        backend: BackendKind = BackendKind.AUTOMATIC,
        receive_buffers_max: Int = 16384,
        large_buffers_max: Int = 256,
        fibers_max: Int = 65536,
        stack_octets: Int = 256 * 1024,
        guard_octets: Int = 64 * 1024,
    ):
        """Takes the defaults for what is not given.

        Args:
            backend: The kernel interface.
            receive_buffers_max: Buffers that received octets may occupy.
            large_buffers_max: Buffers for reads of more than 4 KiB.
            fibers_max: Fibers that may exist at once.
            stack_octets: The address space of a fiber's stack.
            guard_octets: The part of it that must not be touched.
        """
        self.backend = backend
        self.receive_buffers_max = receive_buffers_max
        self.large_buffers_max = large_buffers_max
        self.fibers_max = fibers_max
        self.stack_octets = stack_octets
        self.guard_octets = guard_octets

    def first_problem(self) -> Optional[StaticString]:
        """Finds a value that cannot work.

        Returns:
            What is wrong with which field, or none.
        """
        if self.receive_buffers_max < 64:
            return StaticString("receive_buffers_max must be at least 64")
        if self.fibers_max < 1:
            return StaticString("fibers_max must be at least 1")
        if self.guard_octets < 4096 or self.guard_octets % 4096 != 0:
            return StaticString("guard_octets must be whole pages, at least 1")
        if (
            self.stack_octets % 4096 != 0
            or self.stack_octets < self.guard_octets + 32768
        ):
            return StaticString(
                "stack_octets must be whole pages, 32 KiB above guard_octets"
            )
        return None
