"""Declares the function of downloads in the driver library: `requests` has it.
"""

from flare.core import PointerTo
from flare.sys.driver import present_driver_tables

from .call.client_state import ClientState
from .client_functions import RequestParts
from .download.file_download import Download, DownloadTarget


@fieldwise_init
struct DownloadFunctions(Movable):
    """The function of downloads in the driver library."""

    var download: def(
        PointerTo[ClientState], RequestParts, DownloadTarget
    ) raises thin -> Download
    """Downloads a file, or continues a download."""


def download_functions() -> PointerTo[DownloadFunctions]:
    """Finds the functions for a client that exists.

    Returns:
        The functions: the library has made the client.
    """
    return present_driver_tables()[].download.unsafe_bitcast[
        DownloadFunctions
    ]()
