"""Passes values from middleware to handlers."""

from flare.core import PointerTo

from .never_refuses import NeverRefuses
from .request import Extractor, Request
from .request_values import find_value


struct RequestValue[T: Deinitable & Movable](
    Extractor, ImplicitlyCopyable, NeverRefuses
):
    """A reference to a value that middleware has set with `req.set`.

    It lives until the response is sent. The value is then destroyed on the
    worker's loop, so its destructor must not wait.

    Parameters:
        T: The type of the value.
    """

    comptime PATH_PARAMETERS: Int = 0
    """A `RequestValue` parameter uses no parameter of the route."""

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
        """Returns the value: `user[].name`.

        Returns:
            The value, which lives until the response is sent.
        """
        return self._value[]

    @staticmethod
    def find(req: Request) -> Optional[Self]:
        """Returns the value, if there is one.

        Args:
            req: The request being answered.

        Returns:
            A reference to the value; `None` if no middleware has set one.
        """
        var found = find_value[Self.T](req.unsafe_exchange()[].app.values)
        if not found:
            return None
        return Self(unsafe_value=found.unsafe_value())

    @staticmethod
    def of(req: Request) raises -> Self:
        """Returns the value, in a plain handler.

        Args:
            req: The request being answered.

        Returns:
            A reference to the value.

        Raises:
            An error `http.no_value` with the type if no middleware has set one:
            it is not around the handler. The answer is then a 500.
        """
        var found = Self.find(req)
        if not found:
            raise Error(
                "http.no_value no middleware around the handler has set ",
                reflect[Self.T].name(),
            )
        return found.unsafe_value()

    @staticmethod
    def extract[
        RouterState: AnyType, first_parameter: Int
    ](req: Request) raises -> Self:
        """Returns the value.

        Parameters:
            RouterState: Not used.
            first_parameter: Not used.

        Args:
            req: The request.

        Returns:
            A reference to the value.

        Raises:
            An error `http.no_value`, as `of` does.
        """
        return Self.of(req)
