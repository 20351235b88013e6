"""Downloads files: the type of `client.download`."""

from flare.core import heap_create, heap_destroy
from flare.message import FormFields, HeaderMap

from . import requests
from .call.client_state import ClientState
from .client_functions import RequestParts
from .download.file_download import Download, DownloadTarget
from .download.progress import HeldProgress, Progress, progress_of

comptime DOWNLOAD_OCTETS_MAX = 64 << 30
"""The default limit of a download: 64 GiB. Files that people publish are
shorter; content without an end stops before it fills most disks.
"""


@fieldwise_init
struct DownloadMethod[origin: ImmOrigin](TrivialRegisterPassable):
    """Writes content to files: the type of `client.download`.

    The content goes to `PATH.part`. When it is whole and on the disk, one
    rename puts it at `PATH`, in place of a file or a symbolic link there. So
    the file is never incomplete. Its permissions are those of any new file,
    as the umask has them.

    If a download fails or its process ends, `PATH.part` stays, and so does
    `PATH.part.tag`, with the URL and the validator of the content. The next
    download of the same URL asks for the rest (Range, RFC 9110 section 14.2).
    The condition is that the content is the same (If-Range, section 13.1.5).
    It checks that a 206 continues the part (sections 14.4 and 15.3.7). A 416
    says that the part is complete (section 15.5.17). If the content has
    changed, or if the server cannot continue, the file begins anew. Content
    without a strong ETag or a strong Last-Modified (section 8.8.2.2) leaves no
    part.

    Content is requested without coding. To write it as the server codes it,
    set Accept-Encoding. Redirects are followed. A worker continues to serve
    while the disk is slow.

    Parameters:
        origin: The client, which must outlive this.
    """

    var _state: Pointer[ClientState, Self.origin]

    def __call__(
        self,
        url: StringSlice,
        path: StringSlice,
        *,
        headers: HeaderMap = HeaderMap(),
        octets_max: Int = DOWNLOAD_OCTETS_MAX,
    ) raises -> Download:
        """Downloads a file.

        Args:
            url: An absolute URL, or a reference that is joined to the base
                URL.
            path: The path of the file; its folder must exist.
            headers: Fields of the request; they replace those of the client.
            octets_max: The maximum length of the file.

        Returns:
            The download; the file is complete.

        Raises:
            Error: `client.file prepare` if the part cannot be opened, or if
                another download is writing it. `client.file content` if the
                disk is full, for example (`FileError.of`). `client.status
                answer` if the status is not a success. `client.too_large
                content`, `client.encoding head`, and the errors of
                `HttpClient.stream`. After `client.closed content` and others,
                call it again to continue.
        """
        return self._download(url, path, None, headers, octets_max)

    def __call__[
        F: def(Int, Optional[Int]) raises -> None
    ](
        self,
        url: StringSlice,
        path: StringSlice,
        var progress: F,
        *,
        headers: HeaderMap = HeaderMap(),
        octets_max: Int = DOWNLOAD_OCTETS_MAX,
    ) raises -> Download:
        """Downloads a file, and reports the progress.

        Parameters:
            F: The type of the closure.

        Args:
            url: As without progress.
            path: As without progress.
            progress: Called before the first octet and after each write. It
                gets the length of the part, and that of the file, if known.
                Its error ends the download, which can be continued.
            headers: As without progress.
            octets_max: As without progress.

        Returns:
            The download; the file is complete.

        Raises:
            Error: As without progress; and the error of `progress`.
        """
        var held = heap_create(HeldProgress(progress^))
        try:
            return self._download(
                url, path, progress_of(held), headers, octets_max
            )
        finally:
            heap_destroy(held)

    def _download(
        self,
        url: StringSlice,
        path: StringSlice,
        progress: Optional[Progress],
        headers: HeaderMap,
        octets_max: Int,
    ) raises -> Download:
        var query = FormFields()
        return requests.download(
            self._state.unsafe_mut_cast[True]().unsafe_origin_cast[
                MutUntrackedOrigin
            ](),
            RequestParts("GET", url, headers, query, None),
            DownloadTarget(String(path), octets_max, progress),
        )
