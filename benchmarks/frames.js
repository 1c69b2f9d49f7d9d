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

  /** Send one wheel step a frame; returns the frames' intervals and the page's own work in each (ms). */
  bench.drive = (steps) =>
    new Promise((resolve) => {
      const target = timeline().querySelector("canvas").parentElement;
      const lanes = [...timeline().querySelectorAll("canvas")].sort((a, b) => b.height - a.height)[0];
      const box = (lanes ?? target).getBoundingClientRect();
      const at = { clientX: box.left + box.width * 0.43, clientY: box.top + 20 };
      const intervals = [];
      const work = [];
      let last = null;
      const frame = (now) => {
        if (last !== null) {
          intervals.push(now - last);
          work.push(bench.own);
        }
        last = now;
        bench.own = 0;
        const step = steps.shift();
        if (!step) return resolve({ intervals, work });
        timed(() =>
          lanes.dispatchEvent(
            new WheelEvent("wheel", { bubbles: true, composed: true, cancelable: true, ...at, ...step }),
          ),
        );
        next(frame);
      };
      next(frame);
    });
})();
