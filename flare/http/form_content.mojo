"""Reads the fields of a form out of the content of a request."""

from flare.core import equals_lower
from flare.message import FORM_CONTENT_TYPE, FormFields, FormLimits
from flare.message.parameters import FieldParameters

from .exchange import Exchange
from .multipart_reader import form_error
from .rejected_text import expected_type
from .request_body import RequestBody


def form_of[
    origin: ImmOrigin
](
    exchange: Exchange,
    body: RequestBody[origin],
    content_type: Optional[StringSlice[origin]],
    limits: FormLimits,
) raises -> FormFields:
    """Waits for the whole content and parses it as the fields of a form.

    Parameters:
        origin: The origin of the request.

    Args:
        exchange: The request.
        body: Its content.
        content_type: The value of its Content-Type, if it has one.
        limits: Bounds on the form.

    Returns:
        The fields.

    Raises:
        The errors of `body.octets`, and an error `http.bad_form …`.
    """
    var octets = form_octets(exchange, body, content_type, limits)
    try:
        return FormFields.parse(octets, limits)
    except e:
        if not String(e).startswith("message.bad_form"):
            raise e^
        raise form_error(exchange, 413, "the form is too large")


@always_inline
def form_octets[
    origin: ImmOrigin
](
    exchange: Exchange,
    body: RequestBody[origin],
    content_type: Optional[StringSlice[origin]],
    limits: FormLimits,
) raises -> Span[UInt8, origin]:
    """Waits for the whole content and returns it, if it is a form.

    Parameters:
        origin: The origin of the request.

    Args:
        exchange: The request.
        body: Its content.
        content_type: The value of its Content-Type, if it has one.
        limits: Bounds on the form.

    Returns:
        The encoded form.

    Raises:
        The errors of `body.octets`, and an error `http.bad_form …`.
    """
    if not content_type or not equals_lower(
        FieldParameters(content_type.value().as_bytes()).first(),
        FORM_CONTENT_TYPE.as_bytes(),
    ):
        raise form_error(
            exchange, 415, expected_type(FORM_CONTENT_TYPE, content_type)
        )
    if body.declared_octets().or_else(0) > limits.octets_max:
        raise form_error(exchange, 413, "the form is too large")
    return body.octets()
