/** The exported page's entry: the same timeline over data that lies in the page itself. */

import type { Host, Options } from "./host";
import { mount } from "./view/mount";

const DEFAULTS: Options = {
  height: 560,
  group_by: "device",
  color_by: "kind",
  lane_filter: "",
  selection: null,
};

class StaticHost implements Host {
  readonly exports = [] as const;
  readonly #options: Options;

  constructor(options: Partial<Options>) {
    this.#options = { ...DEFAULTS, ...options };
  }

  drawn(): Promise<Uint8Array> {
    return embedded("tfvis-drawn");
  }

  async details(): Promise<Uint8Array> {
    // The first picture goes before what only a click needs.
    await new Promise((resolve) => setTimeout(resolve, 50));
    return embedded("tfvis-details");
  }

  /** The page holds the whole trace, and so is never asked for more. */
  async rest(): Promise<never> {
    throw new Error("this page is whole");
  }

  async ask(): Promise<never> {
    throw new Error("this page has nobody to ask");
  }

  get<K extends keyof Options>(key: K): Options[K] {
    return this.#options[key];
  }

  set<K extends keyof Options>(key: K, value: Options[K]): void {
    this.#options[key] = value;
  }

  /** Nobody but the view changes an option here, and the view knows. */
  watch(): void {}

  async export(): Promise<never> {
    throw new Error("this page is an export already");
  }
}

function text(id: string): string {
  const element = document.getElementById(id);
  if (!element) throw new Error(`This page is not whole: its part ${id} is missing. Export it again.`);
  return element.textContent ?? "";
}

interface Base64Constructor {
  fromBase64?: (text: string) => Uint8Array;
}

async function embedded(id: string): Promise<Uint8Array> {
  const base64 = text(id).trim();
  const native = (Uint8Array as unknown as Base64Constructor).fromBase64;
  if (native) return native(base64);
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

const root = document.getElementById("tfvis-root");
if (root) {
  root.replaceChildren();
  const options = JSON.parse(text("tfvis-options")) as Partial<Options>;
  mount(root, new StaticHost(options), new AbortController().signal, { ownsPage: true }).then((mounted) => {
    Object.assign(root, { tfvis: mounted });
    root.querySelector(".tfv");
  });
}
