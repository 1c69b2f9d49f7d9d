/** Facts of graphs and compiled programs about the ops that are drawn, as display/wire/node_facts.py sends
 * it. */
import { type Container, oneOf, type Strings } from "./container";

/** Terms and texts: a node's possible devices, its description, and the instruction of a program that ran. */
export interface NodeFacts {
  placement: [string, string][];
  node: [string, string][];
  program: [string, string][];
  fused: FusedInstruction[];
}

/** An instruction within a fusion, with the op and the line of code that it was made of, where known. */
export interface FusedInstruction {
  name: string;
  op: string;
  source: string;
}

const PLACEMENT = { requested_device: "Requested device", gpu_kernel: "GPU kernel" };
const NODE = {
  attributes: "Attributes",
  colocation: "Colocated with",
  original_names: "Original nodes",
  cost: "Cost model",
};
const PROGRAM = {
  program: "Program",
  instruction: "Instruction",
  hlo_category: "Category",
  operations: "Operations",
  accessed: "Bytes accessed",
  expression: "HLO",
};

/** The facts of a row of the table of nodes; null for none. */
export function nodeFacts(container: Container, strings: Strings, row: number | null): NodeFacts {
  const text = (name: string): string =>
    row === null ? "" : strings.get(oneOf(container, `node_${name}`, null, [Uint32Array])[row]);
  const facts = (terms: Record<string, string>): [string, string][] =>
    Object.entries(terms).flatMap(([name, term]) => (text(name) === "" ? [] : [[term, text(name)]]));
  const fused = text("fused") === "" ? [] : text("fused").split("\n");
  return {
    placement: facts(PLACEMENT),
    node: facts(NODE),
    program: facts(PROGRAM),
    fused: fused.map((line) => {
      const [name, op = "", source = ""] = line.split("\t");
      return { name, op, source };
    }),
  };
}
