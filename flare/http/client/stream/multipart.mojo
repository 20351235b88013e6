"""Sends forms with files, which are read while they are sent."""

from flare.message import FieldName
from flare.proto.h1 import BodyLength

from ...multipart_form import MultipartForm
from ...response import Response
from ..call.client_state import CallOwner
from .client_stream import ClientStream
from .open import opened, sent_from


def send_form(var owner: CallOwner, form: MultipartForm) raises -> Response:
    """Sends a form, and receives the response.

    Args:
        owner: The call; its target is set.
        form: The form.

    Returns:
        The response.

    Raises:
        ClientError: The failure of the call; and the error of reading a file.
    """
    ref headers = owner.call[].headers
    headers.set("Content-Type", form.content_type())
    var expects_continue = headers.has_known(FieldName.EXPECT)
    var length = BodyLength.known(form.content_length())
    var stream = ClientStream(
        unsafe_state=opened(owner^, length, expects_continue)
    )
    return sent_from(stream, form.reader())
