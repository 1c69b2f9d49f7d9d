/**
 * Bundles every entry in js/entries into tfvis_nb/static, and removes bundles of entries that are no more. An entry
 * with a default export becomes an ES module, which anywidget imports in a notebook; any other one a classic script,
 * which a page carries. `bundles.json` lists what was built. A line "Built with: A, B." in an entry sets the flags of build_flags.d.ts that it names.
 *
 * `--watch` builds again on every change, with source maps inside the bundles.
 */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, parse, relative } from "node:path";
import { argv, cwd } from "node:process";
import { context, transform } from "esbuild";

const ENTRIES = "js/entries";
const STATIC = "tfvis_nb/static";
const FLAGS = ["HAS_KERNEL", "HAS_PANELS", "OWNS_PAGE"];
const watch = argv.includes("--watch");

/** A script between two tags of a page ends at, or is confused by, the first of these in its text. */
const ENDS_SCRIPT = /<\/script|<!--/i;

/**
 * Returns a comment with the copyright lines of a bundle's packages and, once each, the licences they share.
 */
async function notices({ inputs }) {
  // Licences of packages ask for their notice in every copy, and a page is one.
  const folders = Object.keys(inputs).map((path) => /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]);
  const owners = new Map();
  for (const folder of new Set(folders.filter(Boolean))) {
    const parts = (await readFile(`${folder}/LICENSE`, "utf8"))
      .replaceAll("\r", "")
      .trim()
      .split(/\n\s*\n/);
    const first = parts.findIndex((part) => /^Copyright/.test(part));
    const terms = parts.slice(first + 1).map((part) => part.replaceAll(/\s+/g, " "));
    const named = `${folder.slice("node_modules/".length)}: ${parts[first]}`;
    owners.set(terms.join("\n"), [...(owners.get(terms.join("\n")) ?? []), named]);
  }
  return [...owners].map(([terms, named]) => `/*! ${named.join("\n")}\n${terms} */\n`).join("");
}

/** Writes what was built, after the notices of what it holds, unless it could not stand inside a page. */
const writeInlineable = {
  name: "write-inlineable",
  setup(build) {
    build.onEnd(async (result) => {
      const errors = [];
      for (const file of result.outputFiles ?? []) {
        const text = watch ? file.text : (await notices(result.metafile)) + file.text;
        if (ENDS_SCRIPT.test(text)) {
          errors.push({ text: `${relative(cwd(), file.path)} holds "</script" or "<!--"` });
          continue;
        }
        await mkdir(dirname(file.path), { recursive: true });
        await writeFile(file.path, text);
        console.log(`${relative(cwd(), file.path)}  ${(text.length / 1024).toFixed(1)} kB`);
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
  metafile: true,
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "info",
  write: false,
  plugins: [styleText, writeInlineable],
};

const entries = (await readdir(ENTRIES))
  .filter((file) => file.endsWith(".ts"))
  .map((file) => parse(file).name);

async function bundled(entry) {
  const path = `${ENTRIES}/${entry}.ts`;
  const source = await readFile(path, "utf8");
  const flags = /^\/\/ Built with: (.+)\.$/m.exec(source)?.[1].split(", ") ?? [];
  const unknown = flags.filter((flag) => !FLAGS.includes(flag));
  if (unknown.length) throw new Error(`${path}: no such flag: ${unknown.join(", ")}`);
  return context({
    ...shared,
    entryPoints: [path],
    outfile: `${STATIC}/${entry}.js`,
    format: /^export default /m.test(source) ? "esm" : "iife",
    define: {
      // Some notebook hosts define an AMD loader; libraries that look for one would register there and export nothing.
      "define.amd": "false",
      ...Object.fromEntries(FLAGS.map((flag) => [flag, String(flags.includes(flag))])),
    },
  });
}

await mkdir(STATIC, { recursive: true });
for (const file of await readdir(STATIC))
  if (file.endsWith(".js") && !entries.includes(parse(file).name)) await rm(`${STATIC}/${file}`);
const contexts = await Promise.all(entries.map(bundled));

if (watch) {
  await Promise.all(contexts.map((bundle) => bundle.watch()));
} else {
  try {
    await Promise.all(contexts.map((bundle) => bundle.rebuild()));
    // Written last: where it is, so are all that it lists.
    await writeFile(`${STATIC}/bundles.json`, `${JSON.stringify(entries.map((entry) => `${entry}.js`))}\n`);
  } catch {
    process.exitCode = 1; // esbuild has printed why
  }
  await Promise.all(contexts.map((bundle) => bundle.dispose()));
}
