"""Hands the fields of a form to a user's function."""

from flare.message import FormFields, FromForm

from .exchange import BAD_FORM
from .extract import Extractor
from .rejected_text import REJECTED, rejected_field
from .rejection import Rejection
from .request import Request
from .text_value import value_of


struct Form[T: FromForm = FormFields](Extractor):
    """Is the form that a request carries, as a handler's parameter.

    Parameters:
        T: What the form is read as: `FormFields`, or a type of the user's that
            conforms to `FromForm` and takes its fields with `form_value`.
    """

    comptime PATH_PARAMETERS: Int = 0
    """It takes no parameter of the route."""

    var value: Self.T
    """The form."""

    def __init__(out self, var value: Self.T):
        """Holds a form, so that tests can call the function.

        Args:
            value: The form.
        """
        self.value = value^

    @staticmethod
    def extract[
        RouterState: AnyType, first_parameter: Int
    ](req: Request) raises -> Self:
        """Reads the form.

        Parameters:
            RouterState: Not used.
            first_parameter: Not used.

        Args:
            req: The request.

        Returns:
            The form.

        Raises:
            A `Rejection` with status 400, 413 or 415 if it is none, and what
            reading the content raises.
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
    """Reads the first field of a name as a value.

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
        no such value; it says the name.
    """
    var text = fields.get(name)
    if not text:
        raise rejected_field(name, "the field is missing")
    return value_of[T](text.value().as_bytes(), name)
