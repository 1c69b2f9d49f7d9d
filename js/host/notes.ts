/** What people have added to a trace, and whether anything but this window has it. */

import type { Host } from "./host";

/** The annotations and named views of timelines, to be compared: the kernel puts those of a file in its own form. */
export function notesOf(hosts: readonly Pick<Host, "get">[]): string {
  return JSON.stringify(
    hosts.map((host) => [
      host.get("annotations").map(({ id, name, text, start, end }) => [id, name, text, start, end]),
      host.get("views"),
    ]),
  );
}
