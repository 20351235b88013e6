"""Declares extractors whose problems share one answer."""

from .rejection import Rejection
from .request import Extractor, Request
from .validation import Problems


trait CollectsProblems(Extractor):
    """An extractor that finds all problems of its part of a request."""

    @staticmethod
    def collect[
        RouterState: AnyType, first_parameter: Int
    ](req: Request, mut problems: Problems) raises:
        """Adds every problem, after `extract` has refused the request, or
        another extractor of the same function.

        Parameters:
            RouterState: The state type of the router.
            first_parameter: The index of the first route parameter that no
                parameter to the left uses.

        Args:
            req: The request.
            problems: Receives the problems.

        Raises:
            A `Rejection` for another reason, or any other error.
        """
        ...


@no_inline
def refusal_of[
    E: CollectsProblems, RouterState: AnyType, first_parameter: Int
](req: Request, var e: Error) raises -> Error:
    """Returns the error by which an extractor refuses a request.

    Parameters:
        E: The extractor.
        RouterState: The state type of the router.
        first_parameter: The index of its first route parameter.

    Args:
        req: The request.
        e: The error that reading the value raised.

    Returns:
        A `Rejection` with all problems, or `e` if there are none.

    Raises:
        The errors of `collect`.
    """
    if Rejection.status_of(e):
        return e^
    var problems = Problems()
    E.collect[RouterState, first_parameter](req, problems)
    if not problems:
        return e^
    return problems.rejection()
