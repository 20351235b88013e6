"""Traces requests, and reports their spans (W3C Trace Context, OpenTelemetry).
"""

from .otlp_exporter import ExporterStatistics, OtlpExporter
from .tracing import Tracing
