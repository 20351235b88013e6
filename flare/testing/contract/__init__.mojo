"""States the requirements of every reactor, on any backend.

Each function is one claim, generic over a `ReactorWorld`; the tests call all
of them on every backend. A claim also fails if an operation, a buffer or a
timer remains.
"""

from .world import KernelWorld, ReactorWorld, SimulatedWorld
