"""Makes responses of what users' functions return."""

from .builders import ok
from .response import Response


trait IntoResponse(Deinitable, Movable):
    """Is a type that a handler can return in the place of a response."""

    def into_response(var self) raises -> Response:
        """Makes the response.

        Returns:
            The response.

        Raises:
            Anything: it becomes a 500 whose text the peer does not see.
        """
        ...


@always_inline
def response_of[R: Deinitable & Movable](var result: R) raises -> Response:
    """Makes a response of a handler's result.

    Parameters:
        R: `Response`, `String` or `StaticString` (200 with a text), or a type
            that conforms to `IntoResponse`.

    Args:
        result: The result.

    Returns:
        The response.

    Raises:
        What `into_response` of the user's type raises.
    """
    comptime if R == Response:
        return rebind_var[Response](result^)
    elif R == String:
        return ok(rebind_var[String](result^))
    elif R == StaticString:
        return ok(String(rebind_var[StaticString](result^)))
    else:
        comptime assert conforms_to(R, IntoResponse), String(
            reflect[R].name(), " is no response: conform to IntoResponse"
        )
        return result^.into_response()
