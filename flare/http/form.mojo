"""Passes the fields of a form to a handler function."""

from flare.message import FormFields, FromForm

from .exchange import BAD_FORM
from .rejected_text import REJECTED, rejected_field
from .rejection import Rejection
from .request import Extractor, Request
from .text_value import value_of


struct Form[T: FromForm = FormFields](Extractor):
    """The form in a request's content, as a handler's parameter.

    Parameters:
        T: `FormFields`, or a type of the program that conforms to `FromForm`
            and takes its fields with `form_value`.
    """

    comptime PATH_PARAMETERS: Int = 0
    """A `Form` uses no parameter of the route."""

    var value: Self.T
    """The form."""

    def __init__(out self, var value: Self.T):
        """Creates a parameter from a form, for tests that call the handler
        function.

        Args:
            value: The form.
        """
        self.value = value^

    @staticmethod
    def extract[
        RouterState: AnyType, first_parameter: Int
    ](req: Request) raises -> Self:
        """Waits for the content and parses the form.

        Parameters:
            RouterState: Not used.
            first_parameter: Not used.

        Args:
            req: The request.

        Returns:
            The form.

        Raises:
            A `Rejection` with status 400, 413 or 415 if the content is not
            such a form, and the errors of reading the content.
        """
        var fields: FormFields
        try:
            fields = req.form()
        except e:
            var text = String(e)
            if not text.startswith(BAD_FORM):
                raise e^
            # A blank, the status and the reason follow either code.
            raise Error(REJECTED, text[byte = BAD_FORM.byte_length() + 1 :])
        try:
            return Self(Self.T.from_form(fields))
        except e:
            if Rejection.status_of(e):
                raise e^
            raise Error(Rejection(400, "a field of the form is malformed"))


def form_value[
    T: Deinitable & Movable
](fields: FormFields, name: StringSlice) raises -> T:
    """Parses the first field of a name as a value.

    Parameters:
        T: `Int`, `UInt64`, `Float64`, `Bool`, `String`, or a type that conforms
            to `FromText`.

    Args:
        fields: The fields.
        name: The name of the field.

    Returns:
        The value.

    Raises:
        A `Rejection` with status 400 if there is no such field, or its text is
        not such a value. It states the name.
    """
    var text = fields.get(name)
    if not text:
        raise rejected_field(name, "the field is missing")
    return value_of[T](text.value().as_bytes(), name)
