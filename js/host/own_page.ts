/** The page itself as a file, with its current options, including annotations. */

import type { Annotation } from "../model/annotations";
import { arrived, embedded, textOf } from "./embedded";
import type { Options } from "./host";
import { askToStay, type Notes, notesOf } from "./notes";
import { StaticHost } from "./static_host";

const OPTIONS = "tfvis-options";
/** What template.py has put into a page: extensions of a browser add more. */
const HEAD = "meta, title, style";
const BODY = "noscript, script";

/** The options of this page's timelines, and their notes as a file has them: the page's own, or the one exported last. */
const timelines: Options[] = [];
let kept = "";

/** The options that the page came with. */
export function ownOptions<T>(): T {
  return JSON.parse(textOf(OPTIONS)) as T;
}

/**
 * A timeline whose data lies in the page, its parts named with `suffix`. It exports the page, with the options that
 * `all` gives: those of its only timeline, or of several.
 */
export function embeddedHost(
  options: Partial<Options>,
  suffix = "",
  all?: () => { options: object; annotations: readonly Annotation[] },
): StaticHost {
  const own = () => ({ options: host.options, annotations: host.options.annotations });
  const host: StaticHost = new StaticHost(
    {
      drawn: () => embedded(`tfvis-drawn${suffix}`),
      details: () => arrived().then(() => embedded(`tfvis-details${suffix}`)),
      makes: ["html"],
      make: async () => {
        await arrived();
        const now = (all ?? own)();
        kept = notesOf(timelines);
        const stem = document.title.replace(/[^\p{L}\p{N}_.-]+/gu, "-").slice(0, 80);
        return { name: `${stem || "timeline"}.html`, bytes: ownPage(now.options, now.annotations) };
      },
    },
    options,
  );
  timelines.push(host.options);
  kept = notesOf(timelines);
  // The page around a frame is not ours, and browsers let no sandboxed frame ask.
  if (parent === window) askToStay(() => notesOf(timelines) !== kept);
  return host;
}

/** The text of the page with other options, and with `annotations` where no scripts run. */
function ownPage(options: object, annotations: readonly Annotation[]): Uint8Array {
  const page = document.documentElement.cloneNode(true) as HTMLElement;
  const main = page.querySelector("main")!;
  const root = document.createElement("div");
  const loading = document.createElement("p");
  root.id = "tfvis-root";
  loading.className = "tfvis-loading";
  loading.textContent = `Loading ${document.title}…`;
  root.append(loading);
  const [head, body] = ["head", "body"].map((name) => page.querySelector(name)!);
  head.replaceChildren(...[...head.children].filter((part) => part.matches(HEAD)));
  main.replaceChildren(main.querySelector("h1")!, root);
  body.replaceChildren(main, ...[...body.children].filter((part) => part.matches(BODY)));
  page.removeAttribute("data-theme");
  page.querySelector(`#${OPTIONS}`)!.textContent = jsonText(options);
  page.querySelector("#tfvis-annotations")!.textContent = listOf(annotations);
  return new TextEncoder().encode(`<!doctype html>\n${page.outerHTML}\n`);
}

/** As display/pages/static_html.py writes it. */
function listOf(annotations: readonly Annotation[]): string {
  const list = document.createElement("ul");
  for (const { name, text } of annotations) {
    const item = document.createElement("li");
    item.textContent = text ? `${name}: ${text}` : name;
    list.append(item);
  }
  return annotations.length ? list.outerHTML : "";
}

/** Another exported page with these notes. */
export function withNotes(page: Uint8Array, { annotations, views }: Notes): Uint8Array {
  const text = new TextDecoder().decode(page);
  const start = text.indexOf(`id="${OPTIONS}">`) + `id="${OPTIONS}">`.length;
  const end = text.indexOf("</script>", start);
  const options = JSON.parse(text.slice(start, end)) as object;
  return new TextEncoder().encode(
    text.slice(0, start) + jsonText({ ...options, annotations, views }) + text.slice(end),
  );
}

/** Inside a script element only "<" could end the text. */
function jsonText(value: object): string {
  return JSON.stringify(value).replaceAll("<", "\\u003c");
}
