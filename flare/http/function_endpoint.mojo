"""Calls handler functions, whose parameters are extractors.

There is one overload for each number of parameters: Mojo has no list of types
in the type of a function.
"""

from flare.core import Erased

from .collects_problems import CollectsProblems
from .endpoint import Endpoint
from .exchange import Exchange
from .into_response import response_of
from .never_refuses import NeverRefuses
from .rejection import Rejection, is_problem
from .request import Extractor, Request
from .response import Response
from .validation import Problems

comptime _Type = Deinitable & Movable


def endpoint_of[
    S: AnyType, R: _Type
](function: def() raises thin -> R) -> Endpoint:
    """Returns the endpoint of a function with no parameters.

    Parameters:
        S: The state type of the router.
        R: The type of the result; see `response_of`.

    Args:
        function: The function.

    Returns:
        The endpoint.
    """
    var address = function
    return Endpoint(
        object=Pointer(to=address).unsafe_bitcast[Erased]()[],
        serve=_serve0[S, R],
    )


def endpoint_of[
    S: AnyType, A: Extractor, R: _Type
](function: def(A) raises thin -> R) -> Endpoint:
    """Returns the endpoint of a function with 1 parameter.

    Parameters:
        S: The state type of the router.
        A: The type of the first parameter.
        R: The type of the result; see `response_of`.

    Args:
        function: The function.

    Returns:
        The endpoint.
    """
    var address = function
    return Endpoint(
        object=Pointer(to=address).unsafe_bitcast[Erased]()[],
        serve=_serve1[S, A, R],
    )


def endpoint_of[
    S: AnyType, A: Extractor, B: Extractor, R: _Type
](function: def(A, B) raises thin -> R) -> Endpoint:
    """Returns the endpoint of a function with 2 parameters.

    Parameters:
        S: The state type of the router.
        A: The type of the first parameter.
        B: The type of the second parameter.
        R: The type of the result; see `response_of`.

    Args:
        function: The function.

    Returns:
        The endpoint.
    """
    var address = function
    return Endpoint(
        object=Pointer(to=address).unsafe_bitcast[Erased]()[],
        serve=_serve2[S, A, B, R],
    )


def endpoint_of[
    S: AnyType, A: Extractor, B: Extractor, C: Extractor, R: _Type
](function: def(A, B, C) raises thin -> R) -> Endpoint:
    """Returns the endpoint of a function with 3 parameters.

    Parameters:
        S: The state type of the router.
        A: The type of the first parameter.
        B: The type of the second parameter.
        C: The type of the third parameter.
        R: The type of the result; see `response_of`.

    Args:
        function: The function.

    Returns:
        The endpoint.
    """
    var address = function
    return Endpoint(
        object=Pointer(to=address).unsafe_bitcast[Erased]()[],
        serve=_serve3[S, A, B, C, R],
    )


def endpoint_of[
    S: AnyType, A: Extractor, B: Extractor, C: Extractor, D: Extractor, R: _Type
](function: def(A, B, C, D) raises thin -> R) -> Endpoint:
    """Returns the endpoint of a function with 4 parameters.

    Parameters:
        S: The state type of the router.
        A: The type of the first parameter.
        B: The type of the second parameter.
        C: The type of the third parameter.
        D: The type of the fourth parameter.
        R: The type of the result; see `response_of`.

    Args:
        function: The function.

    Returns:
        The endpoint.
    """
    var address = function
    return Endpoint(
        object=Pointer(to=address).unsafe_bitcast[Erased]()[],
        serve=_serve4[S, A, B, C, D, R],
    )


def endpoint_of[
    S: AnyType,
    A: Extractor,
    B: Extractor,
    C: Extractor,
    D: Extractor,
    E: Extractor,
    R: _Type,
](function: def(A, B, C, D, E) raises thin -> R) -> Endpoint:
    """Returns the endpoint of a function with 5 parameters.

    Parameters:
        S: The state type of the router.
        A: The type of the first parameter.
        B: The type of the second parameter.
        C: The type of the third parameter.
        D: The type of the fourth parameter.
        E: The type of the fifth parameter.
        R: The type of the result; see `response_of`.

    Args:
        function: The function.

    Returns:
        The endpoint.
    """
    var address = function
    return Endpoint(
        object=Pointer(to=address).unsafe_bitcast[Erased]()[],
        serve=_serve5[S, A, B, C, D, E, R],
    )


def _serve0[
    S: AnyType, R: _Type
](object: Erased, exchange: Exchange) raises -> Response:
    var address = object
    var function = Pointer(to=address).unsafe_bitcast[
        def() raises thin -> R
    ]()[]
    comptime if R == Response:
        return _as_is[def() raises thin -> Response](object)()
    return response_of(function())


def _serve1[
    S: AnyType, A: Extractor, R: _Type
](object: Erased, exchange: Exchange) raises -> Response:
    var address = object
    var function = Pointer(to=address).unsafe_bitcast[
        def(A) raises thin -> R
    ]()[]
    var req = Request(unsafe_exchange=exchange)
    var a: A
    try:
        a = A.extract[S, 0](req)
    except e:
        return _refused[S, A](req, 0, e^)
    comptime if R == Response:
        return _as_is[def(A) raises thin -> Response](object)(a)
    return response_of(function(a))


def _serve2[
    S: AnyType, A: Extractor, B: Extractor, R: _Type
](object: Erased, exchange: Exchange) raises -> Response:
    var address = object
    var function = Pointer(to=address).unsafe_bitcast[
        def(A, B) raises thin -> R
    ]()[]
    var req = Request(unsafe_exchange=exchange)
    var a: A
    var b: B
    var step = 0
    try:
        a = A.extract[S, 0](req)
        step = 1
        b = B.extract[S, A.PATH_PARAMETERS](req)
    except e:
        return _refused[S, A, B](req, step, e^)
    comptime if R == Response:
        return _as_is[def(A, B) raises thin -> Response](object)(a, b)
    return response_of(function(a, b))


def _serve3[
    S: AnyType, A: Extractor, B: Extractor, C: Extractor, R: _Type
](object: Erased, exchange: Exchange) raises -> Response:
    var address = object
    var function = Pointer(to=address).unsafe_bitcast[
        def(A, B, C) raises thin -> R
    ]()[]
    var req = Request(unsafe_exchange=exchange)
    var a: A
    var b: B
    var c: C
    var step = 0
    try:
        a = A.extract[S, 0](req)
        step = 1
        b = B.extract[S, A.PATH_PARAMETERS](req)
        step = 2
        c = C.extract[S, A.PATH_PARAMETERS + B.PATH_PARAMETERS](req)
    except e:
        return _refused[S, A, B, C](req, step, e^)
    comptime if R == Response:
        return _as_is[def(A, B, C) raises thin -> Response](object)(a, b, c)
    return response_of(function(a, b, c))


def _serve4[
    S: AnyType, A: Extractor, B: Extractor, C: Extractor, D: Extractor, R: _Type
](object: Erased, exchange: Exchange) raises -> Response:
    var address = object
    var function = Pointer(to=address).unsafe_bitcast[
        def(A, B, C, D) raises thin -> R
    ]()[]
    var req = Request(unsafe_exchange=exchange)
    var a: A
    var b: B
    var c: C
    var d: D
    var step = 0
    try:
        a = A.extract[S, 0](req)
        step = 1
        b = B.extract[S, A.PATH_PARAMETERS](req)
        step = 2
        c = C.extract[S, A.PATH_PARAMETERS + B.PATH_PARAMETERS](req)
        step = 3
        d = D.extract[
            S, A.PATH_PARAMETERS + B.PATH_PARAMETERS + C.PATH_PARAMETERS
        ](req)
    except e:
        return _refused[S, A, B, C, D](req, step, e^)
    comptime if R == Response:
        return _as_is[def(A, B, C, D) raises thin -> Response](object)(
            a, b, c, d
        )
    return response_of(function(a, b, c, d))


def _serve5[
    S: AnyType,
    A: Extractor,
    B: Extractor,
    C: Extractor,
    D: Extractor,
    E: Extractor,
    R: _Type,
](object: Erased, exchange: Exchange) raises -> Response:
    var address = object
    var function = Pointer(to=address).unsafe_bitcast[
        def(A, B, C, D, E) raises thin -> R
    ]()[]
    var req = Request(unsafe_exchange=exchange)
    var a: A
    var b: B
    var c: C
    var d: D
    var e: E
    var step = 0
    try:
        a = A.extract[S, 0](req)
        step = 1
        b = B.extract[S, A.PATH_PARAMETERS](req)
        step = 2
        c = C.extract[S, A.PATH_PARAMETERS + B.PATH_PARAMETERS](req)
        step = 3
        d = D.extract[
            S, A.PATH_PARAMETERS + B.PATH_PARAMETERS + C.PATH_PARAMETERS
        ](req)
        step = 4
        e = E.extract[
            S,
            A.PATH_PARAMETERS
            + B.PATH_PARAMETERS
            + C.PATH_PARAMETERS
            + D.PATH_PARAMETERS,
        ](req)
    except e:
        return _refused[S, A, B, C, D, E](req, step, e^)
    comptime if R == Response:
        return _as_is[def(A, B, C, D, E) raises thin -> Response](object)(
            a, b, c, d, e
        )
    return response_of(function(a, b, c, d, e))


@always_inline
def _as_is[F: TrivialRegisterPassable](object: Erased) -> F:
    # A function whose result is the response writes it to its place itself;
    # taken for one of any result, it would be copied there.
    var address = object
    return Pointer(to=address).unsafe_bitcast[F]()[]


@always_inline
def _refused[
    S: AnyType, *Es: Extractor
](req: Request, step: Int, var error: Error) raises -> Response:
    # Programs whose functions take one extractor have no code for more.
    comptime if _collectors[*Es]() > 1:
        return _refused_by_all[S, *Es](req, step, error^)
    else:
        return _rejected(error^)


def _collectors[*Es: Extractor]() -> Int:
    var count = 0
    comptime for i in range(Es.length):
        comptime if conforms_to(Es[i], CollectsProblems):
            count += 1
    return count


@no_inline
def _refused_by_all[
    S: AnyType, *Es: Extractor
](req: Request, step: Int, var error: Error) raises -> Response:
    # Each extractor to the left has its value. The first extractor of another
    # kind ends the search: it may have a reason of its own to refuse the
    # request.
    var problems = Problems()
    var is_over = False
    comptime for i in range(Es.length):
        if i >= step and not is_over:
            comptime if conforms_to(Es[i], CollectsProblems):
                if i > step or is_problem(error):
                    try:
                        Es[i].collect[S, _parameters_before[i, *Es]()](
                            req, problems
                        )
                    except e:
                        return _rejected(e^)
            elif not conforms_to(Es[i], NeverRefuses):
                is_over = True
            if i == step and not problems:
                is_over = True
    if problems:
        var rejection = problems.rejection()
        return _rejected(rejection^)
    return _rejected(error^)


def _parameters_before[index: Int, *Es: Extractor]() -> Int:
    var count = 0
    comptime for i in range(index):
        count += Es[i].PATH_PARAMETERS
    return count


@no_inline
def _rejected(var error: Error) raises -> Response:
    var response = Rejection.response_of(error)
    if not response:
        raise error^
    return response.take()
