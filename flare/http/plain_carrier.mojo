"""The functions of carriers that lack an ability of a server's connection."""

from flare.core import Erased
from flare.runtime.operation import FileRange


def takes_no_file(exchange: Erased, file: FileRange) raises -> Int:
    """Returns 0, as `write_file` of a carrier that takes only octets.

    Args:
        exchange: The exchange.
        file: The octets of a file.

    Returns:
        0.

    Raises:
        Never.
    """
    return 0


def hides_no_client(exchange: Erased) -> Bool:
    """Returns False, for a carrier that reads no header of a proxy.

    Args:
        exchange: The exchange.

    Returns:
        False.
    """
    return False


def never_held_back(exchange: Erased) -> Bool:
    """Returns False, for a carrier that receives on demand.

    Args:
        exchange: The exchange.

    Returns:
        False.
    """
    return False


def aborts_nothing(exchange: Erased):
    """Ignores the call, for a carrier without a loop.

    Args:
        exchange: The exchange.
    """
    pass
