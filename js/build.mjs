/**
 * Bundles every entry in js/entries into tfvis_nb/static, and removes bundles of entries that are no more. An entry
 * with a default export becomes an ES module, which anywidget imports in a notebook; any other one a classic script,
 * which a page carries. `bundles.json` lists the built files. The two bundles of js/labextension go to tfvis_nb/labextension,
 * with names that change with their contents: browsers keep them. A line "Built with: A, B." in an entry sets the flags of build_flags.d.ts that it names.
 *
 * `--watch` builds again on every change, with source maps inside the bundles.
 */
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, parse, relative } from "node:path";
import { argv, cwd } from "node:process";
import { context, transform } from "esbuild";

const ENTRIES = "js/entries";
const STATIC = "tfvis_nb/static";
const LABEXTENSION = "tfvis_nb/labextension";
const LABEXTENSION_BUNDLES = ["remote_entry", "view"];
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

/** Writes a bundle after the notices of its packages, unless a page could not contain it. */
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

async function bundled(path, outfile) {
  const source = await readFile(path, "utf8");
  const flags = /^\/\/ Built with: (.+)\.$/m.exec(source)?.[1].split(", ") ?? [];
  const unknown = flags.filter((flag) => !FLAGS.includes(flag));
  if (unknown.length) throw new Error(`${path}: no such flag: ${unknown.join(", ")}`);
  return context({
    ...shared,
    entryPoints: [path],
    outfile,
    format: /^export default /m.test(source) ? "esm" : "iife",
    define: {
      // Some notebook hosts define an AMD loader; libraries that look for one would register there and export nothing.
      "define.amd": "false",
      ...Object.fromEntries(FLAGS.map((flag) => [flag, String(flags.includes(flag))])),
    },
  });
}

function labextensionFile(name, version = "") {
  return `${LABEXTENSION}/static/${name}${version}.js`;
}

/** Gives the extension's bundles names for their contents, and writes what JupyterLab reads of it. */
async function finishLabextension(version) {
  for (const name of version ? LABEXTENSION_BUNDLES : [])
    await rename(labextensionFile(name), labextensionFile(name, version));
  const { name, version: release, description, license } = JSON.parse(await readFile("package.json", "utf8"));
  const load = relative(LABEXTENSION, labextensionFile("remote_entry", version));
  const jupyterlab = { extension: true, _build: { load, extension: "./extension" } };
  const about = { name, version: release, description, license, jupyterlab };
  await writeFile(`${LABEXTENSION}/package.json`, `${JSON.stringify(about, null, 2)}\n`);
}

async function labextensionVersion() {
  const hash = createHash("sha256");
  for (const name of LABEXTENSION_BUNDLES) hash.update(await readFile(labextensionFile(name)));
  return `.${hash.digest("hex").slice(0, 16)}`;
}

await mkdir(STATIC, { recursive: true });
for (const file of await readdir(STATIC))
  if (file.endsWith(".js") && !entries.includes(parse(file).name)) await rm(`${STATIC}/${file}`);
await rm(LABEXTENSION, { recursive: true, force: true });
const contexts = await Promise.all([
  ...entries.map((entry) => bundled(`${ENTRIES}/${entry}.ts`, `${STATIC}/${entry}.js`)),
  ...LABEXTENSION_BUNDLES.map((name) => bundled(`js/labextension/${name}.ts`, labextensionFile(name))),
]);

if (watch) {
  await Promise.all(contexts.map((bundle) => bundle.watch()));
  await mkdir(LABEXTENSION, { recursive: true });
  await finishLabextension("");
} else {
  try {
    await Promise.all(contexts.map((bundle) => bundle.rebuild()));
    await finishLabextension(await labextensionVersion());
    // Written last: if it exists, so do all listed files.
    await writeFile(`${STATIC}/bundles.json`, `${JSON.stringify(entries.map((entry) => `${entry}.js`))}\n`);
  } catch {
    process.exitCode = 1; // esbuild has printed why
  }
  await Promise.all(contexts.map((bundle) => bundle.dispose()));
}
