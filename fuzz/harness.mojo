"""Runs a fuzz harness: command line, outcome histogram, report of a finding.

The runs happen on a stack as small as that of a fiber: what parses input may
not need the main thread's 8 MiB. They happen in a child process that records the number of the current run,
so that an abort (a bad index ends a Mojo process) or an endless loop is a finding
with a number like any other. Options: `--runs N`, `--seed S`, `--only-run K`,
`--run-seconds-max T`.
"""

from std.ffi import external_call, get_errno
from std.sys import argv, exit
from std.tempfile import NamedTemporaryFile

from flare.core import PointerTo, heap_create, heap_destroy, write_escaped
from flare.runtime.reactor_config import ReactorConfig
from flare.sys.fiber_switch import (
    StackContext,
    arrive_on_stack,
    emit_switch,
    prepare_stack,
    resume_stack,
    suspend_stack,
)
from flare.sys.memory import map_stack, unmap
from flare.sys.stack import set_running_stack
from flare.sys.thread_cell import thread_word

from .random import Random

comptime WHOLE_PERCENT_MIN = 30
"""How many of the runs must have an outcome of `count_whole`: harnesses whose
inputs are refused at the first octet test nothing behind it."""
comptime _RUNS_JUDGED_MIN = 1000
comptime _TOO_FEW_WHOLE = 3

comptime Fuzz = def(mut Random, mut Histogram) raises thin -> None
"""Does one run: builds an input, feeds it, counts the outcome.

It raises if the invariant does not hold.
"""


struct Histogram(Movable):
    """Counts how often each outcome occurred and holds the current input."""

    var _names: List[String]
    var _counts: List[Int]
    var _run_is_whole: Bool
    var _whole_runs: Int
    var _input: List[UInt8]
    var _is_shown: Bool

    def __init__(out self):
        """Makes an empty histogram."""
        self._names = []
        self._counts = []
        self._run_is_whole = False
        self._whole_runs = 0
        self._input = []
        self._is_shown = False

    def count(mut self, outcome: StringSlice, times: Int = 1):
        """Counts the occurrences of an outcome.

        Args:
            outcome: Its name, such as `complete` or the reason of an error.
            times: How often it occurred.
        """
        for i in range(len(self._names)):
            if self._names[i] == outcome:
                self._counts[i] += times
                return
        self._names.append(String(outcome))
        self._counts.append(times)

    def count_whole(mut self, outcome: StringSlice):
        """Counts an outcome of an input that was read to its end.

        Args:
            outcome: Its name, such as `complete`.
        """
        if not self._run_is_whole:
            self._run_is_whole = True
            self._whole_runs += 1
        self.count(outcome)

    def begin_run(mut self):
        """Ends one run and begins the next."""
        self._run_is_whole = False

    def whole_runs(self) -> Int:
        """Tells how many runs had an input that was read to its end.

        Returns:
            The count.
        """
        return self._whole_runs

    def input(mut self, octets: Span[UInt8, _]):
        """Remembers the input of the current run for the report of a finding.

        Args:
            octets: What the harness is about to feed.
        """
        self._input.clear()
        self._input.extend(octets)
        if self._is_shown:
            print(self._input_text())

    def is_shown(self) -> Bool:
        """Tells whether one run is repeated, to be looked at.

        Returns:
            False where many runs are counted.
        """
        return self._is_shown

    def occurrences(self, outcome: StringSlice) -> Int:
        """Tells how often an outcome occurred.

        Args:
            outcome: Its name.

        Returns:
            The count.
        """
        for i in range(len(self._names)):
            if self._names[i] == outcome:
                return self._counts[i]
        return 0

    def table(self) -> String:
        """Lists the outcomes, the most frequent first.

        Returns:
            One line per outcome: count, share of all, name.
        """
        var total = 0
        for count in self._counts:
            total += count
        var left = self._counts.copy()
        var text = String()
        for _ in range(len(left)):
            var best = 0
            for i in range(len(left)):
                if left[i] > left[best]:
                    best = i
            var tenths = (left[best] * 1000 + total // 2) // total
            text += _right(String(left[best]), 10)
            text += _right(String(tenths // 10, ".", tenths % 10), 7)
            text += " %  " + self._names[best] + "\n"
            left[best] = -1
        return text^

    def _input_text(self) -> String:
        var text = String("input (", len(self._input), " octets): ")
        write_escaped(Span(self._input), text)
        return text^


@fieldwise_init
struct Options(Copyable, Movable):
    """Holds the command line of a harness."""

    var runs: Int
    """How many runs; 100,000 by default."""
    var seed: UInt64
    """Selects the streams; 1 by default."""
    var only_run: Int
    """The one run to repeat, or -1 for all."""
    var run_seconds_max: Int
    """When a run counts as an endless loop; 20 by default."""


def parse_options(arguments: List[String]) raises -> Options:
    """Reads the command line of a harness.

    Args:
        arguments: The command line without the name of the program.

    Returns:
        The options.

    Raises:
        Error: If an option is unknown, lacks its value or is out of range.
    """
    var options = Options(100_000, 1, -1, 20)
    var i = 0
    while i < len(arguments):
        var name = arguments[i]
        if i + 1 == len(arguments):
            raise Error(name, " is unknown or lacks its value")
        var value = arguments[i + 1]
        if name == "--runs":
            options.runs = Int(value)
        elif name == "--seed":
            options.seed = UInt64(Int(value))
        elif name == "--only-run":
            options.only_run = Int(value)
            if options.only_run < 0:
                raise Error("--only-run is negative")
        elif name == "--run-seconds-max":
            options.run_seconds_max = Int(value)
        else:
            raise Error(name, " is unknown")
        i += 2
    return options^


def run(fuzz: Fuzz, *, has_whole_inputs: Bool = True) raises:
    """Runs a harness as its command line says and exits.

    The exit code is 0 if the invariant held in every run, 1 for a finding, 3
    if fewer than `WHOLE_PERCENT_MIN` of at least 1,000 runs were whole.

    Args:
        fuzz: Does one run.
        has_whole_inputs: False where nothing is ever refused or cut short.

    Raises:
        Error: If the command line is wrong or no child can be started.
    """
    var arguments = List[String]()
    for i in range(1, len(argv())):
        arguments.append(String(argv()[i]))
    var options = parse_options(arguments)
    var program = String(argv()[0])
    var code: Int
    if options.only_run >= 0:
        code = _on_fiber_stack(
            _Work(fuzz, options.copy(), program, repeated=options.only_run)
        )
    else:
        code = _supervise(fuzz, options, program, has_whole_inputs)
    if code != 0:
        exit(code)


struct _Work(Movable):
    # What is to be done on a stack of its own, and what came of it.
    var fuzz: Fuzz
    var options: Options
    var program: String
    # The one run to repeat, or -1 for all.
    var repeated: Int
    var has_whole_inputs: Bool
    var record_path: String
    var context: StackContext
    var code: Int

    def __init__(
        out self,
        fuzz: Fuzz,
        var options: Options,
        var program: String,
        *,
        repeated: Int = -1,
        has_whole_inputs: Bool = True,
        var record_path: String = "",
    ):
        self.fuzz = fuzz
        self.options = options^
        self.program = program^
        self.repeated = repeated
        self.has_whole_inputs = has_whole_inputs
        self.record_path = record_path^
        self.context = StackContext(0, 0, 0)
        self.code = 2


def _on_fiber_stack(var work: _Work) raises -> Int:
    emit_switch()
    var config = ReactorConfig()
    var base = map_stack(config.stack_octets, config.guard_octets)
    if base < 0:
        raise Error("no memory for a stack, errno ", -base)
    var state = heap_create(work^)
    state[].context = StackContext(
        base, config.stack_octets, config.guard_octets
    )
    var context = _context_of(state)
    prepare_stack(context, _work_on_stack, Int(state))
    var before = set_running_stack(thread_word(), Int(context))
    resume_stack(context)
    _ = set_running_stack(thread_word(), before)
    var code = state[].code
    _ = unmap(base, config.stack_octets)
    heap_destroy(state)
    return code


def _context_of(state: PointerTo[_Work]) -> PointerTo[StackContext]:
    return PointerTo[StackContext](
        unsafe_from_address=Int(Pointer(to=state[].context))
    )


def _work_on_stack(stack: Int) abi("C"):
    var context = PointerTo[StackContext](unsafe_from_address=stack)
    var state = PointerTo[_Work](unsafe_from_address=context[].argument)
    arrive_on_stack(context)
    try:
        state[].code = _work(state)
    except e:
        print(e)
    suspend_stack(context)


@no_inline
def _work(state: PointerTo[_Work]) raises -> Int:
    ref work = state[]
    if work.repeated >= 0:
        return _repeat(work.fuzz, work.options, work.repeated, work.program)
    return _run_all(
        work.fuzz,
        work.options,
        work.program,
        work.has_whole_inputs,
        work.record_path,
    )


def _repeat(fuzz: Fuzz, options: Options, number: Int, program: String) -> Int:
    var histogram = Histogram()
    histogram._is_shown = True
    var random = Random(options.seed, number)
    _set_alarm(options)
    try:
        fuzz(random, histogram)
    except e:
        _report(e, options, number, program)
        return 1
    print(histogram.table(), end="")
    return 0


def _run_all(
    fuzz: Fuzz,
    options: Options,
    program: String,
    has_whole_inputs: Bool,
    record_path: String,
) raises -> Int:
    var histogram = Histogram()
    var record = open(record_path, "w")
    for number in range(options.runs):
        _ = record.seek(0)
        record.write(number, "\n")
        var random = Random(options.seed, number)
        _set_alarm(options)
        histogram.begin_run()
        try:
            fuzz(random, histogram)
        except e:
            print(histogram._input_text())
            _report(e, options, number, program)
            return 1
    print(histogram.table(), end="")
    print(options.runs, "runs, seed", options.seed, "no finding")
    if has_whole_inputs and options.runs >= _RUNS_JUDGED_MIN:
        var percent = histogram.whole_runs() * 100 // options.runs
        if percent < WHOLE_PERCENT_MIN:
            print(t"only {percent} % of the runs were whole")
            return _TOO_FEW_WHOLE
    return 0


def _supervise(
    fuzz: Fuzz, options: Options, program: String, has_whole_inputs: Bool
) raises -> Int:
    var record = NamedTemporaryFile(prefix="flare_fuzz_")
    var child = external_call["fork", Int32]()
    if child < 0:
        raise Error("fork failed, errno ", get_errno())
    if child == 0:
        var code: Int32 = 2
        try:
            code = Int32(
                _on_fiber_stack(
                    _Work(
                        fuzz,
                        options.copy(),
                        program,
                        has_whole_inputs=has_whole_inputs,
                        record_path=record.name,
                    )
                )
            )
        except e:
            print(e)
        external_call["_exit", NoneType](code)
    var status = _wait(child)
    if status & 0x7F == 0:
        return Int(status >> 8) & 0xFF
    var stopped = _recorded_run(record.name)
    # The input is not in this process: the child took it along.
    var again = external_call["fork", Int32]()
    if again == 0:
        _ = _on_fiber_stack(
            _Work(fuzz, options.copy(), program, repeated=stopped)
        )
        external_call["_exit", NoneType](Int32(0))
    if again > 0:
        _ = _wait(again)
    _report(
        Error("the process died of signal ", status & 0x7F),
        options,
        stopped,
        program,
    )
    return 1


def _set_alarm(options: Options):
    # SIGALRM ends the process: nobody handles it.
    _ = external_call["alarm", UInt32](UInt32(options.run_seconds_max))


def _recorded_run(path: String) raises -> Int:
    with open(path, "r") as file:
        return Int(file.read().split("\n")[0])


def _wait(child: Int32) raises -> Int32:
    var status: Int32 = 0
    if external_call["waitpid", Int32](child, Pointer(to=status), Int32(0)) < 0:
        raise Error("waitpid failed, errno ", get_errno())
    return status


def _report(e: Error, options: Options, number: Int, program: String):
    print("finding: ", e, sep="")
    print(
        t"run {number}, seed {options.seed}; repeat: {program} --seed"
        t" {options.seed} --only-run {number}"
    )


def _right(text: String, width: Int) -> String:
    var padded = String()
    for _ in range(width - text.byte_length()):
        padded += " "
    return padded + text
