"""Configures a reactor: its backend and limits."""

from .backend import BackendKind


struct ReactorConfig(Copyable, Movable):
    """The backend and the limits of one reactor."""

    var backend: BackendKind
    """The kernel interface; automatic by default."""
    var receive_buffers_max: Int
    """The most buffers of 4 KiB for received octets; 16,384 by default: 64
    MiB, for as many parked requests.
    """
    var large_buffers_max: Int
    """The most buffers of 64 KiB for reads of more than 4 KiB. If none is
    free, such a read uses smaller pieces. 256 by default: 16 MiB.
    """
    var fibers_max: Int
    """The most fibers that exist at once; 65,536 by default, a third of the
    number that the kernel's limit on mappings allows without guard regions.
    """
    var stack_octets: Int
    """The address space of a fiber's stack, including its guard; 256 KiB by
    default. Resident memory starts with one page and grows with use.
    """
    var guard_octets: Int
    """The part of the stack that ends the process when touched; 64 KiB by
    default, because smaller frames cannot jump over it.
    """

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
        """Creates a configuration. Omitted arguments have their defaults.

        Args:
            backend: The kernel interface.
            receive_buffers_max: The most buffers for received octets.
            large_buffers_max: The most buffers for reads of more than 4 KiB.
            fibers_max: The most fibers that exist at once.
            stack_octets: The address space of a fiber's stack.
            guard_octets: The guard at the end of the stack.
        """
        self.backend = backend
        self.receive_buffers_max = receive_buffers_max
        self.large_buffers_max = large_buffers_max
        self.fibers_max = fibers_max
        self.stack_octets = stack_octets
        self.guard_octets = guard_octets

    def first_problem(self) -> Optional[StaticString]:
        """Returns the first invalid value.

        Returns:
            The problem and its field, or `None`.
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
