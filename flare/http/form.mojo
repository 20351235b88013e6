"""Passes the fields of a form to a handler function."""

from flare.message import (
    FormFields,
    FormLimits,
    FromForm,
    QueryParameters,
)

from .collects_problems import CollectsProblems
from .exchange import BAD_FORM
from .extract import collect_fields, fields_of, validate_fields
from .form_content import form_octets
from .from_fields import FromFields
from .multipart_reader import form_error
from .rejected_text import REJECTED
from .rejection import Rejection
from .request import Request
from .text_value import refused_field, value_of
from .validation import FoundProblem, Problems, Validated


struct Form[T: Deinitable & Movable = FormFields](CollectsProblems):
    """The form in a request's content, as a handler's parameter.

    Parameters:
        T: A struct that conforms to `FromFields`. Or `FormFields`, or a type of
            the program that conforms to `FromForm` and takes its fields with
            `form_value`. It may conform to `Validated`.
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
            A `Rejection` with status 400, 413, 415 or 422 if the content is not
            such a form, and the errors of reading the content. Of a struct
            that conforms to `FromFields`, the answer lists all problems.
        """
        comptime if conforms_to(Self.T, FromFields):
            return Self(
                fields_of[Self.T](
                    QueryParameters(_octets_of(req)), FoundProblem.BODY
                )
            )
        else:
            comptime assert conforms_to(Self.T, FromForm), String(
                reflect[Self.T].name(),
                " is not read from a form: conform to FromFields",
            )
            var value = _own_form[Self.T](req)
            var problems = Problems()
            validate_fields(value, FoundProblem.BODY, problems)
            if problems:
                var rejection = problems.rejection()
                raise rejection^
            return Self(value^)

    @staticmethod
    def collect[
        RouterState: AnyType, first_parameter: Int
    ](req: Request, mut problems: Problems) raises:
        """Waits for the content, and adds all problems in it.

        Parameters:
            RouterState: Not used.
            first_parameter: Not used.

        Args:
            req: The request.
            problems: Receives the problems. The errors of `from_form` are
                raised instead.

        Raises:
            The errors of `extract` but the problems.
        """
        comptime if conforms_to(Self.T, FromFields):
            collect_fields[Self.T](
                QueryParameters(_octets_of(req)), FoundProblem.BODY, problems
            )
        elif conforms_to(Self.T, FromForm):
            comptime if conforms_to(Self.T, Validated):
                validate_fields(
                    _own_form[Self.T](req), FoundProblem.BODY, problems
                )


def _octets_of(req: Request) raises -> Span[UInt8, origin_of(req)]:
    var limits = FormLimits()
    try:
        var octets = form_octets(
            req.unsafe_exchange(),
            req.body,
            req.headers.get("Content-Type"),
            limits,
        )
        var count = 0
        for _ in QueryParameters(octets):
            count += 1
        if len(octets) > limits.octets_max or count > limits.fields_max:
            raise form_error(
                req.unsafe_exchange(), 413, "the form is too large"
            )
        return octets
    except e:
        raise _rejection_of(e^)


def _own_form[T: FromForm](req: Request) raises -> T:
    var fields: FormFields
    try:
        fields = req.form()
    except e:
        raise _rejection_of(e^)
    try:
        return T.from_form(fields)
    except e:
        if Rejection.status_of(e):
            raise e^
        raise Error(Rejection(400, "a field of the form is malformed"))


def _rejection_of(var e: Error) -> Error:
    var text = String(e)
    if not text.startswith(BAD_FORM):
        return e^
    # A blank, the status and the reason follow either code.
    return Error(REJECTED, text[byte = BAD_FORM.byte_length() + 1 :])


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
        var refusal = refused_field(name, "the field is missing")
        raise refusal^
    return value_of[T](text.value().as_bytes(), name)
