"""Passes the state of an `App` to handlers."""

from flare.core import PointerTo

from .never_refuses import NeverRefuses
from .request import Extractor, Request


struct NoState:
    """The state type of a router that declares none."""

    pass


trait ExpectsState:
    """A handler that expects a certain state type; an `App` checks it."""

    comptime ExpectedState: AnyType
    """The state type, or `NoState` for any."""


struct State[T: Deinitable & Movable](
    Extractor, ImplicitlyCopyable, NeverRefuses
):
    """A reference to the state in the worker's copy of an `App`.

    All handlers of a worker share the state. Each worker has its own, so no
    lock is needed. While a handler waits, others may change the state.

    Parameters:
        T: The state type of the `App`.
    """

    comptime PATH_PARAMETERS: Int = 0
    """A `State` parameter uses no parameter of the route."""

    var _value: PointerTo[Self.T]

    def __init__(out self, *, unsafe_value: PointerTo[Self.T]):
        """Creates a reference to a value, for tests that call the handler
        function.

        Args:
            unsafe_value: The value.

        Safety:
            The value outlives the reference.
        """
        self._value = unsafe_value

    @always_inline
    def __getitem__(self) -> ref[MutUntrackedOrigin] Self.T:
        """Returns the state: `state[].hits += 1`.

        Returns:
            The state, which lives as long as the worker.
        """
        return self._value[]

    @staticmethod
    def of(req: Request) raises -> Self:
        """Returns the state, in a plain handler.

        Args:
            req: The request being answered.

        Returns:
            A reference to the state.

        Raises:
            An error `http.no_state` if no `App` encloses the handler, or if
            its state has another type.
        """
        var exchange = req.unsafe_exchange()
        if not exchange[].app.state:
            raise Error(
                "http.no_state no App is around the handler that wants ",
                reflect[Self.T].name(),
            )
        comptime wanted: StaticString = reflect[Self.T].name()
        if exchange[].app.type_name != wanted:
            raise Error(
                "http.no_state the App holds ",
                exchange[].app.type_name,
                ", not ",
                wanted,
            )
        return Self(
            unsafe_value=exchange[].app.state.value().unsafe_bitcast[Self.T]()
        )

    @staticmethod
    def extract[
        RouterState: AnyType, first_parameter: Int
    ](req: Request) raises -> Self:
        """Returns the state. The build fails if the router declares another
        state type.

        Parameters:
            RouterState: The state type of the router.
            first_parameter: Not used.

        Args:
            req: The request.

        Returns:
            A reference to the state.

        Raises:
            An error `http.no_state` if no `App` with that state encloses the
            handler.
        """
        comptime assert RouterState == Self.T, String(
            "State[",
            reflect[Self.T].name(),
            "] needs a router of that state: write Router[",
            reflect[Self.T].name(),
            "](), not Router[",
            reflect[RouterState].name(),
            "]()",
        )
        return Self.of(req)
