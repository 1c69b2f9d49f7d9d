/**
 * Runs in the page before its own scripts: notes when the first picture stands, and how long the page's own work
 * takes in each frame, for whatever the page runs by requestAnimationFrame.
 */
(() => {
  const next = window.requestAnimationFrame.bind(window);
  const bench = { picture: null, own: 0 };
  window.__bench = bench;
  const timed = (work) => {
    const began = performance.now();
    try {
      work();
    } finally {
      bench.own += performance.now() - began;
    }
  };
  window.requestAnimationFrame = (callback) => next((now) => timed(() => callback(now)));

  const timeline = () => document.getElementById("tfvis-root")?.shadowRoot?.querySelector("[data-drawn]");

  // The frame after the one that drew: by then the picture is on the screen.
  const look = () => {
    if (timeline()) next(() => next(() => (bench.picture ??= performance.now())));
    else next(look);
  };
  next(look);

  /**
   * Send one wheel step a frame; returns the frames' intervals, the page's own work in each (ms), and in how many
   * the view did not move.
   */
  bench.drive = (steps) =>
    new Promise((resolve) => {
      const { store } = document.getElementById("tfvis-root").tfvis;
      const lanes = timeline().querySelector('[data-part="lanes"]');
      const box = lanes.getBoundingClientRect();
      const at = { clientX: box.left + box.width * 0.43, clientY: box.top + 20 };
      const intervals = [];
      const work = [];
      let still = 0;
      let last = null;
      let view = null;
      const frame = (now) => {
        if (last !== null) {
          intervals.push(now - last);
          work.push(bench.own);
          if (store.viewport.start === view.start && store.viewport.end === view.end) still++;
        }
        last = now;
        view = store.viewport;
        bench.own = 0;
        const step = steps.shift();
        if (!step) return resolve({ intervals, work, still });
        const event = new WheelEvent("wheel", { bubbles: true, cancelable: true, ...at, ...step });
        timed(() => lanes.dispatchEvent(event));
        next(frame);
      };
      next(frame);
    });
})();
