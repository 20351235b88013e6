"""Lets code that does not wait learn that its fiber was cancelled."""

from flare.net import NetError

from .fiber import Fiber
from .operation import CANCELLED
from .wait import waiting_fiber


@fieldwise_init
struct Cancel(TrivialRegisterPassable):
    """Tells whether one run of a fiber was asked to end.

    A long computation asks it now and then, also inside `blocking`, on the
    helper thread. It is valid until its reactor is destroyed.
    """

    var _fiber: Fiber
    var _generation: UInt32

    @staticmethod
    def current() raises -> Self:
        """Names the present run of the calling fiber.

        Returns:
            The token.

        Raises:
            NetError: If the thread runs a loop and the caller is not a fiber.
        """
        var fiber = waiting_fiber("cancel")
        return Self(fiber, fiber.state[].generation)

    def is_cancelled(self) -> Bool:
        """Returns whether the fiber was asked to end; from any thread.

        Returns:
            True from the moment of asking, and after the fiber has ended and
            its block runs something else.
        """
        # Volatile: another thread writes it, and the caller may be a loop.
        var state = self._fiber.state
        return (
            Pointer(to=state[].generation).unsafe_load[volatile=True]()
            != self._generation
            or Pointer(to=state[].cancelled)
            .unsafe_bitcast[UInt8]()
            .unsafe_load[volatile=True]()
            != 0
        )

    def raise_if_cancelled(self) raises:
        """Ends the caller if the fiber was asked to end.

        Raises:
            NetError: If `is_cancelled`.
        """
        if self.is_cancelled():
            raise Error(NetError.from_errno("cancel", CANCELLED))
