"""Hands the state of an `App` to handlers."""

from flare.core import PointerTo

from .extract import Extractor
from .request import Request


struct NoState:
    """Stands for the state of a router that declares none."""

    pass


trait ExpectsState:
    """Is a handler that reads one state only; an `App` checks it."""

    comptime ExpectedState: AnyType
    """The state, or `NoState` for any."""


struct State[T: Deinitable & Movable](Extractor, ImplicitlyCopyable):
    """Refers to the state that the worker's copy of an `App` holds.

    All handlers of a worker see the same state; other workers have their own,
    so no lock is needed. A handler that waits lets others change it meanwhile.

    Parameters:
        T: The type given to the `App`.
    """

    comptime PATH_PARAMETERS: Int = 0
    """It takes no parameter of the route."""

    var _value: PointerTo[Self.T]

    def __init__(out self, *, unsafe_value: PointerTo[Self.T]):
        """Refers to a value, so that tests can call the function.

        Args:
            unsafe_value: The value.

        Safety:
            The value lives longer than the reference.
        """
        self._value = unsafe_value

    @always_inline
    def __getitem__(self) -> ref[MutUntrackedOrigin] Self.T:
        """Returns the state: `state[].hits += 1`.

        Returns:
            The state; it lives as long as the worker.
        """
        return self._value[]

    @staticmethod
    def of(req: Request) raises -> Self:
        """Finds the state from inside a plain handler.

        Args:
            req: The request being answered.

        Returns:
            A reference to the state.

        Raises:
            An error `http.no_state` if no `App` is around the handler, or if
            it holds a state of another type.
        """
        var exchange = req.unsafe_exchange()
        if not exchange[].app_state:
            raise Error(
                "http.no_state no App is around the handler that wants ",
                reflect[Self.T].name(),
            )
        comptime wanted: StaticString = reflect[Self.T].name()
        if exchange[].app_state_type != wanted:
            raise Error(
                "http.no_state the App holds ",
                exchange[].app_state_type,
                ", not ",
                wanted,
            )
        return Self(
            unsafe_value=exchange[].app_state.value().unsafe_bitcast[Self.T]()
        )

    @staticmethod
    def extract[
        RouterState: AnyType, first_parameter: Int
    ](req: Request) raises -> Self:
        """Finds the state; the build fails if the router declares another.

        Parameters:
            RouterState: The state that the router was declared with.
            first_parameter: Not used.

        Args:
            req: The request.

        Returns:
            A reference to the state.

        Raises:
            An error `http.no_state` if no `App` with that state is around.
        """
        comptime assert RouterState == Self.T, String(
            "State[",
            reflect[Self.T].name(),
            "] needs a Router of that state, not of ",
            reflect[RouterState].name(),
        )
        return Self.of(req)
