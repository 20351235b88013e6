"""Reads the text of metrics for the tests of this package."""

from flare.metrics import Metrics, MetricsFormat


def value_of(
    metrics: Metrics,
    sample: StringSlice,
    format: MetricsFormat = MetricsFormat.PROMETHEUS,
) raises -> String:
    """Returns the number of a sample.

    Args:
        metrics: The registry.
        sample: Its name with its labels, as they are written.
        format: The format of the text.

    Returns:
        The number as text.

    Raises:
        If the text has no such sample.
    """
    var text = metrics.text(format)
    for line in text.split("\n"):
        var end = line.rfind(" ")
        if end > 0 and line[byte=:end] == sample:
            return String(line[byte = end + 1 : line.byte_length()])
    raise Error("there is no ", sample, " in ", text)
