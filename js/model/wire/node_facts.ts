/** What the graph says of the ops that are drawn, as display/wire/node_facts.py sends it. */
import { type Container, oneOf, type Strings } from "./container";

/** Terms and texts: where a node can run, and what it is. */
export interface NodeFacts {
  placement: [string, string][];
  node: [string, string][];
}

const PLACEMENT = { requested_device: "Requested device", gpu_kernel: "GPU kernel" };
const NODE = { attributes: "Attributes", colocation: "Colocated with", original_names: "Original nodes" };

/** The facts of a row of the table of nodes; null for none. */
export function nodeFacts(container: Container, strings: Strings, row: number | null): NodeFacts {
  const facts = (terms: Record<string, string>): [string, string][] =>
    Object.entries(row === null ? {} : terms).flatMap(([name, term]) => {
      const text = strings.get(oneOf(container, `node_${name}`, null, [Uint32Array])[row ?? 0]);
      return text === "" ? [] : [[term, text]];
    });
  return { placement: facts(PLACEMENT), node: facts(NODE) };
}
