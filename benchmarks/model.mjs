/**
 * What the view's model costs on a made-up million events: `node benchmarks/model.mjs [events] [rows]`.
 *
 * Prints the median and the worst of repeated calls in ms. "frame" rasters all
 * rows at 1500 device pixels; the levels of detail are built in the first call,
 * which is shown apart.
 */
import { dirname, join } from "node:path";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const [count = 1_000_000, lanes = 60] = argv.slice(2).map(Number);
const WIDTH = 1500;
const MODULES = [
  "paint/activity",
  "lod/levels",
  "paint/palette",
  "paint/raster",
  "lod/rows",
  "search/search",
  "search/range_statistics",
  "wire/testing/synthetic",
];

const model = join(dirname(fileURLToPath(import.meta.url)), "..", "js", "model");
const bundle = await build({
  stdin: { contents: MODULES.map((name) => `export * from "./${name}";`).join("\n"), resolveDir: model },
  bundle: true,
  format: "esm",
  write: false,
});
const { makeBursts, packLanes, RowLevels, paints, rasterRow, hitRow, search, activity, rangeStatistics } =
  await import(
    `data:text/javascript;base64,${Buffer.from(bundle.outputFiles[0].contents).toString("base64")}`
  );

function measure(name, calls, work) {
  const times = [];
  for (let i = 0; i < calls; i++) {
    const began = performance.now();
    work(i);
    times.push(performance.now() - began);
  }
  const first = times[0];
  times.sort((a, b) => a - b);
  const [median, worst] = [times[times.length >> 1], times[times.length - 1]];
  console.log(
    `${name.padEnd(34)} first ${first.toFixed(2).padStart(8)}  median ${median.toFixed(2).padStart(8)}  worst ${worst.toFixed(2).padStart(8)}`,
  );
}

const drawn = makeBursts(count, lanes, 1);
let rows = [];
measure("pack", 5, () => {
  rows = packLanes(drawn, null);
});
const all = rows.flat();
let painted;
measure("paints", 5, () => {
  painted = paints(drawn, "kind", "light");
});
const line = new Uint16Array(WIDTH);
let levels = [];
measure("levels: count", 1, () => {
  levels = all.map((row) => new RowLevels(row));
});

function frame(from, nsPerPixel) {
  for (let i = 0; i < all.length; i++) {
    line.fill(0);
    rasterRow(line, 0, WIDTH, all[i], levels[i], from, nsPerPixel, painted.colour);
  }
}
const full = drawn.span / WIDTH;
for (const zoom of [1, 2, 4, 8, 10, 100, 1000, 100_000]) {
  const span = drawn.span / zoom;
  measure(`frame at ${zoom}x, panning`, 101, (i) =>
    frame(((i * 7919) % 101) * 0.01 * (drawn.span - span), full / zoom),
  );
}
measure("frame while zooming 1x to 1000x", 201, (i) => frame(drawn.span * 0.4, full / 1000 ** (i / 200)));
measure("1000 hits at 1x", 21, () => {
  for (let i = 0; i < 1000; i++)
    hitRow(all[i % all.length], levels[i % all.length], (i / 1000) * drawn.span, full, 3);
});
measure("activity, 1000 bins", 21, () => activity(drawn, rows, null, 0, drawn.span, 1000));
measure("search for a word", 11, (i) => search(drawn, null, `layer_${i}`, null));
measure("search for three terms", 11, () => search(drawn, null, "matmul op:op1 >5us", null));
const everything = { start: 0, end: drawn.span, lanes: null, step: null };
measure("statistics of everything", 11, () => rangeStatistics(drawn, everything, "op"));
console.log(`rows ${all.length}, memory ${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MiB`);
