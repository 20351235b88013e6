// Search runs in a worker, and browsers start no worker for a page that was
// opened from a file. There, an iframe runs the script of the worker.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(source) {
      super();
      const url = new URL(source, location.href);
      this.onmessage = null;
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.inside = new Promise((resolve, reject) => {
        addEventListener("DOMContentLoaded", () => {
          document.body.append(frame);
          const scope = frame.contentWindow;
          scope.postMessage = (data) => {
            const event = new MessageEvent("message", { data });
            this.dispatchEvent(event);
            if (this.onmessage) this.onmessage(event);
          };
          const load = (source) =>
            new Promise((loaded, failed) => {
              const script = scope.document.createElement("script");
              script.src = new URL(source, url);
              script.onload = loaded;
              script.onerror = failed;
              scope.document.head.append(script);
            });
          scope.importScripts = async (...sources) => {
            for (const source of sources) await load(source);
          };
          load(url).then(() => resolve(scope), reject);
        });
        if (document.readyState !== "loading")
          dispatchEvent(new Event("DOMContentLoaded"));
      });
    }

    postMessage(data) {
      this.inside.then((scope) => {
        scope.dispatchEvent(new MessageEvent("message", { data }));
      });
    }

    terminate() {}
  };
}
