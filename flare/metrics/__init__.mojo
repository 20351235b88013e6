"""Counters, gauges and histograms of all workers, and their text for Prometheus."""

from .family import HistogramUnit
from .instruments import (
    Counter,
    CounterFamily,
    Gauge,
    GaugeFamily,
    Histogram,
    HistogramFamily,
)
from .metrics_text import MetricsFormat
from .registry import Metrics, all_bounds
