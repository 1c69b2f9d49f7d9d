/** What people have added to a trace, and whether anything but this window has it. */

import type { Options } from "./host";

export type Notes = Pick<Options, "annotations" | "views">;

/** The annotations and named views of timelines, to be compared: the kernel puts those of a file in its own form. */
export function notesOf(timelines: readonly Notes[]): string {
  return JSON.stringify(
    timelines.map(({ annotations, views }) => [
      annotations.map(({ id, name, text, start, end }) => [id, name, text, start, end]),
      views,
    ]),
  );
}

/** Have the browser ask before it leaves this page while there are notes that no file has. */
export function askToStay(areUnsaved: () => boolean): void {
  addEventListener("beforeunload", (event) => {
    // Chrome before 119 knows no other way.
    if (areUnsaved()) event.returnValue = true;
  });
}
