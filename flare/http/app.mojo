"""Provides handlers with a state that lives as long as the worker.

Each worker has a copy of the `App` and of its state. So handlers change their
worker's state without a lock.
"""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.runtime.wait import sleep

from .exchange import Exchange
from .handler import Handler
from .request import Request
from .response import Response
from .state import ExpectsState, NoState

comptime _BUILD_WAIT_MS = 1


struct _Maker[S: Deinitable & Movable](Copyable):
    # Only the functions know the type of the argument.
    var argument: Erased
    var make: def(Erased, Int) raises thin -> Self.S
    var copy_argument: def(Erased) thin -> Erased
    var free_argument: def(Erased) thin -> None

    def __init__(
        out self,
        argument: Erased,
        make: def(Erased, Int) raises thin -> Self.S,
        copy_argument: def(Erased) thin -> Erased,
        free_argument: def(Erased) thin -> None,
    ):
        self.argument = argument
        self.make = make
        self.copy_argument = copy_argument
        self.free_argument = free_argument

    def __init__(out self, *, copy: Self):
        self.argument = copy.copy_argument(copy.argument)
        self.make = copy.make
        self.copy_argument = copy.copy_argument
        self.free_argument = copy.free_argument

    def __deinit__(deinit self):
        self.free_argument(self.argument)


struct _AppState[S: Deinitable & Movable](Movable):
    # None until the first request, where `make` builds it.
    var value: Optional[Self.S]
    var make: Optional[def(Int) raises thin -> Self.S]
    # In place of `make`, if it takes an argument.
    var maker: Optional[_Maker[Self.S]]
    var is_building: Bool

    def __init__(
        out self,
        var value: Optional[Self.S],
        make: Optional[def(Int) raises thin -> Self.S],
        var maker: Optional[_Maker[Self.S]] = None,
    ):
        self.value = value^
        self.make = make
        self.maker = maker^
        self.is_building = False


struct App[S: Deinitable & Movable, H: Handler](Handler):
    """A handler together with the state that it uses through `State[S]`.

    `App(state=Counters(), handler=router^)` gives each worker a copy of the
    state. `App.per_worker[make](router^)` lets each worker create its own, and
    `App.per_worker[make](argument, router^)` out of an argument.

    Parameters:
        S: The type of the state.
        H: The type of the handler.
    """

    var _state: PointerTo[_AppState[Self.S]]
    var _handler: Self.H

    def __init__(
        out self, *, var state: Self.S, var handler: Self.H
    ) where conforms_to(Self.S, Copyable):
        """Creates an app whose state is copied for each worker.

        Args:
            state: The state.
            handler: The handler.
        """
        _check_expected_state[Self.S, Self.H]()
        self._state = heap_create(_AppState[Self.S](state^, None))
        self._handler = handler^

    def __init__(
        out self,
        *,
        make: def(Int) raises thin -> Self.S,
        var handler: Self.H,
    ):
        """Creates an app whose state each worker creates for itself.

        Args:
            make: Creates the state. It is called on the worker's thread with
                the worker's index, at the first request. If it raises, that
                request is answered 500 and the next request calls it again.
            handler: The handler.
        """
        _check_expected_state[Self.S, Self.H]()
        self._state = heap_create(_AppState[Self.S](None, make))
        self._handler = handler^

    def __init__(
        out self,
        *,
        unsafe_state: PointerTo[_AppState[Self.S]],
        var handler: Self.H,
    ):
        """Creates an app with a state on the heap.

        Args:
            unsafe_state: The state.
            handler: The handler.

        Safety:
            No other app has the state.
        """
        _check_expected_state[Self.S, Self.H]()
        self._state = unsafe_state
        self._handler = handler^

    @unavailable(
        "each worker gets a copy of the state: let its type conform to"
        " Copyable, or write App.per_worker[make](router^)"
    )
    def __init__(
        out self, *, var state: Self.S, var handler: Self.H
    ) where not conforms_to(Self.S, Copyable):
        """Fails the build for a state that cannot be copied.

        Args:
            state: The state.
            handler: The handler.
        """
        ...

    @unavailable("write App(state=…, handler=…)")
    def __init__(out self, var state: Self.S, var handler: Self.H, /):
        """Fails the build for arguments without names.

        Args:
            state: The state.
            handler: The handler.
        """
        ...

    def __init__(out self, *, copy: Self):
        """Copies the app for another worker, with its state if there is one.

        Args:
            copy: The app to copy.
        """
        var value = Optional[Self.S](None)
        comptime if conforms_to(Self.S, Copyable):
            var is_made = copy._state[].make or copy._state[].maker
            if not is_made and copy._state[].value:
                value = copy._state[].value.value().copy()
        self._state = heap_create(
            _AppState[Self.S](
                value^, copy._state[].make, copy._state[].maker.copy()
            )
        )
        self._handler = copy._handler.copy()

    def __init__(out self, *, deinit move: Self):
        """Moves an app.

        Args:
            move: The app to move.
        """
        self._state = move._state
        self._handler = move._handler^

    def __deinit__(deinit self):
        """Frees the state."""
        heap_destroy(self._state)

    @staticmethod
    def per_worker[
        make: def(Int) raises thin -> Self.S
    ](var handler: Self.H) -> Self:
        """Creates an app whose state each worker creates for itself.

        The state need not be copyable: it may be a connection or a file.

        Parameters:
            make: Creates the state. It is called on the worker's thread with
                the worker's index, at the first request.

        Args:
            handler: The handler.

        Returns:
            The app.
        """
        return Self(make=make, handler=handler^)

    @staticmethod
    def per_worker[
        A: Copyable & Deinitable,
        //,
        make: def(Int, A) raises thin -> Self.S,
    ](var argument: A, var handler: Self.H) -> Self:
        """Creates an app whose state each worker creates out of an argument,
        such as the place of a database that the command line names.

        Parameters:
            A: The type of the argument.
            make: Creates the state. It is called on the worker's thread with
                the worker's index and its copy of the argument, at the first
                request.

        Args:
            argument: The argument; each worker gets a copy.
            handler: The handler.

        Returns:
            The app.
        """
        var maker = _Maker[Self.S](
            heap_create(argument^).unsafe_bitcast[NoneType](),
            _make_with[Self.S, A, make],
            _copy_argument[A],
            _free_argument[A],
        )
        return Self(
            unsafe_state=heap_create(_AppState[Self.S](None, None, maker^)),
            handler=handler^,
        )

    def serve(self, req: Request) raises -> Response:
        """Answers a request through the handler, which can use the state.

        Args:
            req: The request.

        Returns:
            The handler's response.

        Raises:
            The error of the handler or of `make`.
        """
        var exchange = req.unsafe_exchange()
        if not self._state[].value:
            _build(self._state, exchange[].host.worker)
        if exchange[].app.state:
            return self._serve_within(req)
        self._enter(exchange)
        # The state stays until the request is over: to put nothing back makes
        # the response of the handler this one's, in its place.
        return self._handler.serve(req)

    @no_inline
    def _serve_within(self, req: Request) raises -> Response:
        var exchange = req.unsafe_exchange()
        var outer = exchange[].app.state
        var outer_type = exchange[].app.type_name
        self._enter(exchange)
        try:
            return self._handler.serve(req)
        finally:
            exchange[].app.state = outer
            exchange[].app.type_name = outer_type

    @always_inline
    def _enter(self, exchange: Exchange):
        exchange[].app.state = (
            Pointer(to=self._state[].value.unsafe_value())
            .unsafe_origin_cast[MutUntrackedOrigin]()
            .unsafe_bitcast[NoneType]()
        )
        exchange[].app.type_name = reflect[Self.S].name()

    def state(self) -> ref[MutUntrackedOrigin] Self.S:
        """Returns this copy's own state, for tests.

        Returns:
            The state, after the first request has created it.
        """
        return self._state[].value.value()


@no_inline
def _build[
    S: Deinitable & Movable
](state: PointerTo[_AppState[S]], worker: Int) raises:
    # Creating the state may wait; further requests then wait too.
    while state[].is_building:
        sleep(_BUILD_WAIT_MS)
    if state[].value:
        return
    state[].is_building = True
    try:
        if state[].maker:
            ref maker = state[].maker.value()
            state[].value = maker.make(maker.argument, worker)
        else:
            state[].value = state[].make.value()(worker)
    finally:
        state[].is_building = False


def _make_with[
    S: Deinitable & Movable,
    A: Copyable & Deinitable,
    make: def(Int, A) raises thin -> S,
](argument: Erased, worker: Int) raises -> S:
    return make(worker, argument.unsafe_bitcast[A]()[])


def _copy_argument[A: Copyable & Deinitable](argument: Erased) -> Erased:
    return heap_create(argument.unsafe_bitcast[A]()[].copy()).unsafe_bitcast[
        NoneType
    ]()


def _free_argument[A: Copyable & Deinitable](argument: Erased):
    heap_destroy(argument.unsafe_bitcast[A]())


def _check_expected_state[S: AnyType, H: Handler]():
    comptime if conforms_to(H, ExpectsState):
        comptime assert (
            H.ExpectedState == S or H.ExpectedState == NoState
        ), String(
            "the router expects the state ",
            reflect[H.ExpectedState].name(),
            ", but the App holds ",
            reflect[S].name(),
        )


def check_state_is_given[H: Handler]():
    """Fails the build for a router without the `App` that it needs.

    Parameters:
        H: The type of the outermost handler.
    """
    comptime if conforms_to(H, ExpectsState):
        comptime assert H.ExpectedState == NoState, String(
            "the router expects the state ",
            reflect[H.ExpectedState].name(),
            ": write serve(App(state=…, handler=router^))",
        )
