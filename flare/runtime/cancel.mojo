"""Informs code that does not wait of the cancellation of its fiber."""

from flare.net import NetError

from .fiber import Fiber
from .operation import CANCELLED
from .wait import waiting_fiber


@fieldwise_init
struct Cancel(TrivialRegisterPassable):
    """A token that shows whether a fiber was cancelled.

    A long computation checks it from time to time, also in `blocking` on the
    helper thread. It is valid until its reactor is destroyed.
    """

    var _fiber: Fiber
    var _generation: UInt32

    @staticmethod
    def current() raises -> Self:
        """Returns the token for the calling fiber.

        Returns:
            The token.

        Raises:
            NetError: If the thread runs a loop and the caller is not a fiber.
        """
        var fiber = waiting_fiber("cancel")
        return Self(fiber, fiber.state[].generation)

    def is_cancelled(self) -> Bool:
        """Returns whether the fiber was cancelled. Callable on any thread.

        Returns:
            True from the cancellation on, even after the fiber has ended and
            its block runs another one.
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
        """Raises an error if the fiber was cancelled.

        Raises:
            NetError: If the fiber was cancelled.
        """
        if self.is_cancelled():
            raise Error(NetError.from_errno("cancel", CANCELLED))
