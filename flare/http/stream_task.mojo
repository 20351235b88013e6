"""Calls the function that writes a response, or speaks another protocol."""

from flare.core import PointerTo

from .exchange import Exchange
from .request import Request
from .stream_function import ExchangeTask


trait TaskStream(TrivialRegisterPassable):
    """The stream that the function of a response gets."""

    @staticmethod
    def begin(exchange: Exchange) raises -> Self:
        """Returns the stream of an exchange whose function is about to run.

        Args:
            exchange: The exchange.

        Returns:
            The stream.

        Raises:
            An error `http.bad_…` if the status of the response does not allow
            the stream.
        """
        ...


struct StreamTask[S: TaskStream, F: def(Request, S) raises -> None](
    ExchangeTask
):
    """Owns the function of a response until the response is over.

    Parameters:
        S: The type of the stream.
        F: The type of the function.
    """

    var function: Self.F
    """The function."""

    def __init__(out self, var function: Self.F):
        """Takes ownership of a function.

        Args:
            function: The function.
        """
        self.function = function^

    @staticmethod
    def run(task: PointerTo[Self], exchange: Exchange) raises capturing:
        """Calls the function.

        Args:
            task: The function.
            exchange: The exchange.

        Raises:
            The error of the function, or that of `TaskStream.begin`.
        """
        task[].function(
            Request(unsafe_exchange=exchange), Self.S.begin(exchange)
        )
