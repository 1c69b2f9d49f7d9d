/** A widget's part of the notebook file, and whether it has the latest changes: see display/stored_output.py. */

import type { AnyModel } from "@anywidget/types";
import { requestKernel } from "./kernel_messages";

/** How the user can keep changes that the file does not have. */
export type Remedy = "" | "rerun" | "export" | "no";

interface Outputs {
  readonly length: number;
  get(index: number): { data: Record<string, unknown> };
  set(index: number, output: object): void;
}

/** The part of the widget managers of JupyterLab and Notebook 7 that is used here; others do not have it. */
interface Manager {
  context?: { model?: { cells?: { readonly length: number; get(index: number): { outputs?: Outputs } } } };
}

interface Place {
  outputs: Outputs;
  index: number;
  html: string;
}

/** Front ends draw outputs a little after they receive them (ms). */
const DRAWN_WITHIN = 1000;

/**
 * Keeps the notebook's file up to date, and calls `report` with a remedy if that is impossible.
 *
 * The kernel updates the output by its id, which notebooks forget when their page is loaded again.
 */
export function followStored(model: AnyModel, report: (remedy: Remedy) => void, signal: AbortSignal): void {
  const check = async () => {
    const version: number = model.get("_stored_version");
    const remedy: Remedy = model.get("_unsaved");
    const isKept = !version || (await keep(model, `data-version="${version}"`, signal));
    if (!signal.aborted && version === model.get("_stored_version"))
      report(remedy || (isKept ? "" : "rerun"));
  };
  const events = ["change:_stored_version", "change:_unsaved"];
  for (const event of events) model.on(event, check);
  signal.addEventListener("abort", () => {
    for (const event of events) model.off(event, check);
  });
  check();
}

/** Writes the latest version into the notebook where that has another; false if the notebook cannot be reached. */
async function keep(model: AnyModel, mark: string, signal: AbortSignal): Promise<boolean> {
  const name = `tfvis-stored-${model.get("_stored")}`;
  const places = placesOf(model, name);
  if (!places.length) {
    await new Promise((resolve) => setTimeout(resolve, DRAWN_WITHIN));
    return document.querySelector(`.${name}[${mark}]`) !== null;
  }
  const isOld = ({ html }: Place) => !html.includes(mark);
  if (!places.some(isOld)) return true;
  try {
    const text = await requestKernel(model, { kind: "stored" }, signal, (_, [bytes]) =>
      new TextDecoder().decode(bytes),
    );
    // A cell may have been copied, moved or removed in the meantime.
    for (const { outputs, index } of placesOf(model, name).filter(isOld))
      outputs.set(index, {
        output_type: "display_data",
        data: { ...outputs.get(index).data, "text/html": text },
        metadata: {},
      });
    return true;
  } catch {
    return false;
  }
}

/** The outputs of the notebook that hold the stored part of this name. */
function placesOf(model: AnyModel, name: string): Place[] {
  const { cells } = (model.widget_manager as Manager | undefined)?.context?.model ?? {};
  const places: Place[] = [];
  for (let at = 0; at < (cells?.length ?? 0); at++) {
    const { outputs } = cells!.get(at);
    for (let index = 0; outputs && index < outputs.length; index++) {
      const html = `${outputs.get(index).data["text/html"] ?? ""}`;
      if (html.includes(name)) places.push({ outputs, index, html });
    }
  }
  return places;
}
