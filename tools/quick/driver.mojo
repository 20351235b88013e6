"""Exports the driver of servers; `tools/quick.py` makes a shared library of it.
"""

from flare.core import Erased
from flare.http.server.exchange.respond import run_handler
from flare.http.server.process.plan import ServePlan
from flare.http.server.process.run import ErasedHandler, run_plan_here


@export
def flare_driver_run(plan: Erased, problem: Erased) abi("C"):
    """Runs all workers of a plan until the server stops.

    Args:
        plan: The `ServePlan` of a program that was compiled from the same
            sources; its handlers are `ErasedHandler`s.
        problem: An `Optional[Error]`, empty; holds what was raised at the end.

    Safety:
        Both have these types and live until the call returns.
    """
    var own = plan.unsafe_bitcast[ServePlan]()
    own[].run = run_handler[ErasedHandler]
    try:
        run_plan_here(own)
    except e:
        problem.unsafe_bitcast[Optional[Error]]()[] = e^
