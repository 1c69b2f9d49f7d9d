/**
 * Bundles the entries of the front end into tfvis_nb/static:
 * widget.js, tabs.js, chart.js and monitor.js, ES modules that anywidget imports
 * in a notebook, page.js, dashboard.js and comparison.js, classic scripts that
 * exported pages carry inside themselves, and serve.js, that of the page that
 * `tfvis-nb serve` sends.
 *
 * `--watch` builds again on every change, with source maps inside the bundles.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, relative } from "node:path";
import { argv, cwd } from "node:process";
import { context, transform } from "esbuild";

const watch = argv.includes("--watch");

/** A script between two tags of a page ends at, or is confused by, the first of these in its text. */
const ENDS_SCRIPT = /<\/script|<!--/i;

/** Writes what was built, unless it could not stand inside a page. */
const writeInlineable = {
  name: "write-inlineable",
  setup(build) {
    build.onEnd(async (result) => {
      const errors = [];
      for (const file of result.outputFiles ?? []) {
        if (ENDS_SCRIPT.test(file.text)) {
          errors.push({ text: `${relative(cwd(), file.path)} holds "</script" or "<!--"` });
          continue;
        }
        await mkdir(dirname(file.path), { recursive: true });
        await writeFile(file.path, file.contents);
        console.log(`${relative(cwd(), file.path)}  ${(file.contents.length / 1024).toFixed(1)} kB`);
      }
      return { errors };
    });
  },
};

/** A style sheet is imported as text; esbuild's text loader would leave its comments and indents in. */
const styleText = {
  name: "style-text",
  setup(build) {
    build.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, "utf8"), { loader: "css", minify: !watch });
      return { contents: code, loader: "text" };
    });
  },
};

const shared = {
  bundle: true,
  minify: !watch,
  sourcemap: watch ? "inline" : false,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "info",
  write: false,
  plugins: [styleText, writeInlineable],
};

const bundled = (entry, format) =>
  context({
    ...shared,
    entryPoints: [`js/entries/${entry}.ts`],
    outfile: `tfvis_nb/static/${entry}.js`,
    format,
    define: {
      // Some notebook hosts define an AMD loader; libraries that look for one would register there and export nothing.
      "define.amd": "false",
      // A page holds its whole trace, as the monitor gets it, and so no code that asks a kernel for parts of one.
      HAS_KERNEL: String(entry === "widget"),
      HAS_PANELS: String(["widget", "dashboard", "comparison"].includes(entry)),
      OWNS_PAGE: String(["page", "dashboard", "comparison"].includes(entry)),
    },
  });

const contexts = await Promise.all([
  bundled("widget", "esm"),
  bundled("page", "iife"),
  bundled("monitor", "esm"),
  bundled("serve", "iife"),
  bundled("tabs", "esm"),
  bundled("chart", "esm"),
  bundled("dashboard", "iife"),
  bundled("comparison", "iife"),
]);

if (watch) {
  await Promise.all(contexts.map((bundle) => bundle.watch()));
} else {
  try {
    await Promise.all(contexts.map((bundle) => bundle.rebuild()));
  } catch {
    process.exitCode = 1; // esbuild has printed why
  }
  await Promise.all(contexts.map((bundle) => bundle.dispose()));
}
