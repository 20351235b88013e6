"""Converts the results of handler functions into responses."""

from .builders import ok
from .response import Response


trait IntoResponse(Deinitable, Movable):
    """A type that a handler function can return in place of a `Response`."""

    def into_response(var self) raises -> Response:
        """Converts the value into a response.

        Returns:
            The response.

        Raises:
            Any error; the answer is then a 500, without the error's text.
        """
        ...


comptime CanAnswer[R: Deinitable & Movable]: Bool = (
    R == Response
    or R == String
    or R == StaticString
    or conforms_to(R, IntoResponse)
)
"""Whether a handler may return an `R`.

Parameters:
    R: The type of the result.
"""


@always_inline
def response_of[R: Deinitable & Movable](var result: R) raises -> Response:
    """Converts the result of a handler function into a response.

    Parameters:
        R: `Response`, `String` or `StaticString` (200 with a text), or a type
            that conforms to `IntoResponse`.

    Args:
        result: The result.

    Returns:
        The response.

    Raises:
        The error of the type's `into_response`.
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
