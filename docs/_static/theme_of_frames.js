// A page in a sandboxed frame cannot see the theme of this page: it asks for it, and is told of each change.
(() => {
  const tell = () => {
    const theme = `tfvis-${document.documentElement.dataset.theme === "dark" ? "dark" : "light"}`;
    for (const frame of document.querySelectorAll("iframe.live"))
      frame.contentWindow?.postMessage(theme, "*");
  };
  addEventListener("message", (event) => event.data === "tfvis-theme" && tell());
  new MutationObserver(tell).observe(document.documentElement, { attributeFilter: ["data-theme"] });
})();
