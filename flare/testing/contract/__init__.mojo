"""Says what every reactor must do, whatever drives it.

Each function is one claim, generic over a `ReactorWorld`: the tests call all of
them on every backend. A claim also fails if it leaves an operation, a buffer or
a timer behind.
"""

from .world import KernelWorld, ReactorWorld, SimulatedWorld
