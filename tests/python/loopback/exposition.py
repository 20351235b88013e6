"""Reads the text formats of metrics, and refuses what their grammars do.

Prometheus text format 0.0.4, and OpenMetrics 1.0.0. Stricter than both: the
samples of a family stand together, in the order of their bounds.
"""

import math
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(
    rf"({NAME})(?:\{{((?:{LABEL})(?:,{LABEL})*)\}})? (-?[0-9]+(?:\.[0-9]+)?)"
)
META = re.compile(rf"# (TYPE|UNIT|HELP) ({NAME}) (.*)")
PAIR = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
ENDS = {
    "counter": ("_total",),
    "gauge": ("",),
    "histogram": ("_bucket", "_sum", "_count"),
}


class Exposition:
    """Holds the samples of a text: a name and its labels lead to a number."""

    def __init__(self, text, is_open):
        self.samples = {}
        self.types = {}
        self._is_open = is_open
        assert text.endswith("\n"), "the last line does not end"
        lines = text[:-1].split("\n")
        if is_open:
            assert lines.pop() == "# EOF", "the end is missing"
        self._family = None
        for line in lines:
            if line.startswith("#"):
                self._read_meta(line)
            else:
                self._read_sample(line)
        self._check_histograms()

    def _read_meta(self, line):
        match = META.fullmatch(line)
        assert match, line
        kind, name, rest = match.groups()
        if kind == "TYPE":
            assert rest in ENDS, line
            assert name not in self.types, f"{name} stands twice"
            self.types[name] = rest
            self._family = name
        else:
            assert name == self._family, line
        if kind == "UNIT":
            assert self._is_open, line
            assert name.endswith("_" + rest), line
        if kind == "HELP":
            plain = rest.replace("\\\\", "").replace("\\n", "")
            if self._is_open:
                plain = plain.replace('\\"', "")
                assert '"' not in plain, line
            assert "\\" not in plain, line

    def _read_sample(self, line):
        match = SAMPLE.fullmatch(line)
        assert match or line.split(" ")[0].endswith('le="+Inf"}'), line
        if not match:
            match = SAMPLE.fullmatch(line.replace("+Inf", "Inf"))
        name, labels, value = match.groups()
        pairs = PAIR.findall(labels or "")
        assert len(dict(pairs)) == len(pairs), f"a label stands twice: {line}"
        kind = self.types[self._family]
        base = self._family
        if kind == "counter" and not self._is_open:
            base = base.removesuffix("_total")
        assert name in [base + end for end in ENDS[kind]], line
        key = (name, tuple(sorted((n, self._plain(v)) for n, v in pairs)))
        assert key not in self.samples, f"a sample stands twice: {line}"
        self.samples[key] = float(value)

    @staticmethod
    def _plain(value):
        return re.sub(
            r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], value
        )

    def _check_histograms(self):
        for name, kind in self.types.items():
            if kind != "histogram":
                continue
            for labels in self.series(name + "_count"):
                buckets = self.buckets(name, labels)
                bounds = [bound for bound, _ in buckets]
                counts = [count for _, count in buckets]
                assert bounds == sorted(set(bounds)), bounds
                assert counts == sorted(counts), counts
                assert bounds[-1] == math.inf
                assert counts[-1] == self.samples[(name + "_count", labels)]
                assert (name + "_sum", labels) in self.samples

    def series(self, name):
        """Gives the label sets of a name."""
        return [labels for each, labels in self.samples if each == name]

    def buckets(self, name, labels):
        """Gives bounds and counts of a histogram, as they stand."""
        found = []
        for (each, all_labels), count in self.samples.items():
            rest = tuple(p for p in all_labels if p[0] != "le")
            if each == name + "_bucket" and rest == labels:
                bound = dict(all_labels)["le"]
                found.append(
                    (math.inf if bound == "Inf" else float(bound), count)
                )
        return found

    def value(self, name, **labels):
        """Gives the number of a sample, or None."""
        return self.samples.get((name, tuple(sorted(labels.items()))))

    def requests(self):
        """Gives how often each method, route and status was answered; an empty
        route stands for none."""
        found = {}
        name = "http_server_request_duration_seconds_count"
        for (each, labels), count in self.samples.items():
            if each == name:
                by = dict(labels)
                key = (
                    by["http_request_method"],
                    by.get("http_route", ""),
                    int(by["http_response_status_code"]),
                )
                found[key] = found.get(key, 0) + int(count)
        return found
