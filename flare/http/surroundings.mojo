"""Holds the values that a handler gets from the handlers around it."""

from flare.core import Erased, PointerTo

from .request_values import RequestValues


@fieldwise_init
struct Surroundings(ImplicitlyCopyable, Movable):
    """The state of the innermost `App`, and the values of middleware."""

    var state: Optional[Erased]
    """The address of the state; `None` without an `App`."""
    var type_name: StaticString
    """The name of its type, which `State[T]` compares."""
    var values: Optional[PointerTo[RequestValues]]
    """The values that middleware has set; `None` without one."""

    @always_inline
    def free_values(mut self):
        """Destroys the values, after the response was sent."""
        if self.values:
            var values = self.values.unsafe_value()
            self.values = None
            values[].free(values.unsafe_bitcast[NoneType]())
