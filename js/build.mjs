/**
 * Bundles the two entries of the view into tfvis_nb/static:
 * widget.js, an ES module that anywidget imports in a notebook, and
 * page.js, a classic script that an exported page carries inside itself.
 *
 * `--watch` builds again on every change, with source maps inside the bundles.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, relative } from "node:path";
import { argv, cwd } from "node:process";
import { context } from "esbuild";

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

const shared = {
  bundle: true,
  minify: !watch,
  sourcemap: watch ? "inline" : false,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".css": "text" },
  // Some notebook hosts define an AMD loader; libraries that look for one would register there and export nothing.
  define: { "define.amd": "false" },
  logLevel: "info",
  write: false,
  plugins: [writeInlineable],
};

const contexts = await Promise.all([
  context({ ...shared, entryPoints: ["js/widget.ts"], outfile: "tfvis_nb/static/widget.js", format: "esm" }),
  context({ ...shared, entryPoints: ["js/page.ts"], outfile: "tfvis_nb/static/page.js", format: "iife" }),
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
