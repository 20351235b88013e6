"""Sends forms with files, which are read while they are sent."""

from flare.core import PointerTo
from flare.message import FieldName, FormFields, HeaderMap
from flare.proto.h1 import BodyLength

from ..multipart_form import MultipartForm
from ..response import Response
from .client_state import ClientState
from .open import opened, sent_from


def send_form(
    state: PointerTo[ClientState],
    method: StringSlice,
    url: StringSlice,
    form: MultipartForm,
    headers: HeaderMap,
    query: FormFields,
) raises -> Response:
    """Sends a form, and receives the response.

    Args:
        state: The client.
        method: The method.
        url: What is asked for.
        form: The form.
        headers: Fields of the request.
        query: Parameters of the URL.

    Returns:
        The response.

    Raises:
        ClientError: Whatever this fails with; and what reading a file raises.
    """
    var fields = headers.copy()
    fields.set("Content-Type", form.content_type())
    var stream = opened(
        state,
        method,
        url,
        fields,
        query,
        BodyLength.known(form.content_length()),
        fields.has_known(FieldName.EXPECT),
    )
    return sent_from(state, stream, form.reader())
