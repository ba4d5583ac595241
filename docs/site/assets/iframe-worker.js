// Browsers start no worker from a file on the disk: there the search runs in a hidden frame.  (What the package iframe-worker
// does, which mkdocs-material would load from a server.)
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inner = frame.contentWindow;
      const tell = data => this.dispatchEvent(new MessageEvent("message", { data }));
      inner.postMessage = data => setTimeout(() => tell(data));
      inner.importScripts = (...urls) => urls.forEach(each => this.load(inner, each));
      inner.onerror = error => this.dispatchEvent(new ErrorEvent("error", { error }));
      this.inner = inner;
      this.ready = this.load(inner, url);
    }
    load(inner, url) {
      return new Promise(done => {
        const script = inner.document.createElement("script");
        script.src = new URL(url, location.href);
        script.async = false;
        script.onload = done;
        inner.document.body.append(script);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {}
  };
}
