"""Drives a headless browser, and notes what goes wrong on its page."""

import base64
import time

from site_browser import Browser

# Before each page: the latest source of events, and what its policy forbids.
WATCHED = """
window.EventSource = class extends EventSource {
  constructor(...given) { super(...given); window.source = this; }
};
violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  violations.push(event.violatedDirective + " " + event.blockedURI);
});
"""


class PageBrowser(Browser):
    """Is a browser that notes errors, and pretends to be another device."""

    def __init__(self, *options):
        self.complaints = []
        super().__init__(*options)
        for domain in ("Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.addScriptToEvaluateOnNewDocument", source=WATCHED)

    def call(self, method, **parameters):
        """Calls a method of the browser's protocol, and gives its result."""
        return self._call(method, **parameters)

    def value(self, expression):
        """Gives the value of an expression of JavaScript, also a false one."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True,
            awaitPromise=True,
        )
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def resize(self, width, height, scale=1):
        """Makes the page as wide and high as a device."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height,
            deviceScaleFactor=scale, mobile=width < 600,
        )

    def prefer(self, scheme):
        """Prefers `light` or `dark` pages."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def picture(self):
        """Gives the whole page as PNG."""
        answer = self.call(
            "Page.captureScreenshot", format="png", captureBeyondViewport=True
        )
        return base64.b64decode(answer["data"])

    def press(self, key, code):
        """Presses a key that is no letter, such as Tab."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key,
                windowsVirtualKeyCode=code,
            )

    def frames(self, seconds):
        """Watches the main thread of the page for some time. Gives for each
        frame the milliseconds of its CPU that the page's script took, and those
        of the whole task, with style, layout and painting."""
        self._traced, self._has_trace = [], False
        self._of_browser(
            "Tracing.start", categories="toplevel,devtools.timeline",
            transferMode="ReportEvents",
        )
        time.sleep(seconds)
        self._of_browser("Tracing.end")
        self._until(lambda: self._has_trace)
        mains = {
            (x["pid"], x["tid"]) for x in self._traced
            if x["name"] == "thread_name"
            and x["args"]["name"] == "CrRendererMain"
        }
        events = [
            x for x in self._traced
            if x.get("ph") == "X" and (x["pid"], x["tid"]) in mains
        ]
        found = []
        for frame in (x for x in events if x["name"] == "FireAnimationFrame"):
            tasks = [
                x for x in events
                if x["name"].endswith("RunTask") and x["pid"] == frame["pid"]
                and x["ts"] <= frame["ts"] <= x["ts"] + x["dur"]
            ]
            # One that had begun before is not traced.
            if tasks:
                found.append((frame["tdur"] / 1000, tasks[0]["tdur"] / 1000))
        return found

    def _of_browser(self, method, **parameters):
        number = self._send(method, None, parameters)
        self._until(lambda: number in self._answers)
        del self._answers[number]

    def _take(self, message):
        method = message.get("method")
        parameters = message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(parameters["exceptionDetails"])
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(parameters)
        elif method == "Log.entryAdded":
            self.complaints.append(parameters["entry"])
        elif method == "Tracing.dataCollected":
            self._traced += parameters["value"]
        elif method == "Tracing.tracingComplete":
            self._has_trace = True
        super()._take(message)
