/** The code behind the events: files, the time of each line, stacks. */
import { type Container, oneOf, type Strings, stringsIn } from "./container";
import { optional } from "./row_order";
import type { CodeHeader, DetailsHeader, SourceFile, Totals, Unattributed } from "./schema";

/** One call on a stack. */
export interface Frame {
  file: SourceFile;
  /** One-based; 0 if unknown. */
  line: number;
  function: string;
  text: string;
}

/** A line of a file, by the file's name. */
export interface Place {
  file: string;
  line: number;
}

/** Totals of one line's events in one phase. */
export interface LineTotals extends Totals {
  file: number;
  line: number;
  phase: string;
}

/** Deeper stacks are cut. */
const MOST_FRAMES = 200;
const NUMBERS = [Uint16Array, Uint32Array];

/** The code in a container of details, or of its own; null where no stacks were recorded. */
export function readCode(container: Container, strings: Strings = stringsIn(container)): Code | null {
  const { code } = container.header as Partial<DetailsHeader>;
  return code ? new Code(container, strings, code) : null;
}

export class Code {
  readonly files: readonly SourceFile[];
  readonly phases: readonly string[];
  /** By file and line; empty where only a part of the events is here. */
  readonly lines: readonly LineTotals[];
  readonly unattributed: readonly Unattributed[];
  readonly #callers: Uint32Array;
  readonly #frameOf: Uint16Array | Uint32Array;
  readonly #file: Uint16Array | Uint32Array;
  readonly #line: Uint32Array;
  readonly #stack: Uint32Array;
  readonly #container: Container;
  readonly #strings: Strings;
  readonly #frames = new Map<number, Frame>();
  readonly #texts = new Map<SourceFile, ReadonlyMap<number, string>>();
  /** For each stack, the number of its innermost frame of the user's own; -1 without one. */
  readonly #own: Int32Array;

  constructor(
    container: Container,
    strings: Strings,
    { files, phases, lines = [], unattributed = [] }: CodeHeader,
  ) {
    this.#container = container;
    this.#strings = strings;
    this.files = files;
    this.phases = phases;
    this.unattributed = unattributed;
    this.lines = lines.map(([file, line, phase, device, host, copied, events, sampled]) => ({
      file,
      line,
      phase: phases[phase - 1] ?? "",
      device,
      host,
      copied,
      events,
      sampled,
    }));
    this.#callers = oneOf(container, "code_caller", null, [Uint32Array]);
    this.#frameOf = oneOf(container, "code_frame", this.#callers.length, NUMBERS);
    this.#file = oneOf(container, "code_file", null, NUMBERS);
    this.#line = oneOf(container, "code_line", this.#file.length, [Uint32Array]);
    this.#stack = oneOf(container, "code_stack", null, [Uint32Array]);
    this.#own = new Int32Array(this.#callers.length);
    for (let stack = 0; stack < this.#own.length; stack++) {
      const frame = this.#frameOf[stack];
      const isOwn = files[this.#file[frame]].own;
      this.#own[stack] = isOwn ? frame : (this.#own[stack - this.#callers[stack]] ?? -1);
    }
  }

  /** The stack of a row of the events' columns, the innermost frame first. */
  stack(row: number): Frame[] {
    const frames: Frame[] = [];
    for (let at = this.#stackOf(row); at >= 0 && frames.length < MOST_FRAMES; at -= this.#callers[at]) {
      frames.push(this.#frame(this.#frameOf[at]));
    }
    return frames;
  }

  /** The innermost frame of the user's own code. */
  ownFrame(row: number): Frame | null {
    const frame = this.#own[this.#stackOf(row)] ?? -1;
    return frame < 0 ? null : this.#frame(frame);
  }

  /** "" if unknown. */
  phase(row: number): string {
    return this.phases[oneOf(this.#container, "code_phase", null, [Uint8Array])[row] - 1] ?? "";
  }

  /** The lines of a file that are known, by number; the function where only that is. */
  text(file: SourceFile): ReadonlyMap<number, string> {
    let lines = this.#texts.get(file);
    if (!lines) {
      lines = file.text === null ? this.#linesOnStacks(file) : split(file.text);
      this.#texts.set(file, lines);
    }
    return lines;
  }

  #linesOnStacks(file: SourceFile): ReadonlyMap<number, string> {
    const frames = Array.from(this.#line, (_, number) => this.#frame(number));
    const known = frames.filter((frame) => frame.file === file && frame.line > 0);
    known.sort((a, b) => a.line - b.line);
    return new Map(
      known.map((frame) => [frame.line, frame.text || (frame.function && `… in ${frame.function}`)]),
    );
  }

  #stackOf(row: number): number {
    return optional(this.#stack, row) ?? -1;
  }

  #frame(number: number): Frame {
    let frame = this.#frames.get(number);
    if (!frame) {
      const text = (name: string) =>
        this.#strings.get(oneOf(this.#container, name, null, [Uint32Array])[number]);
      const file = this.files[this.#file[number]];
      const line = this.#line[number];
      const known = file.text === null ? undefined : this.text(file).get(line);
      frame = { file, line, function: text("code_function"), text: known ?? text("code_text") };
      this.#frames.set(number, frame);
    }
    return frame;
  }
}

function split(text: string): ReadonlyMap<number, string> {
  const lines = text.split(/\r\n|\n|\r/);
  if (lines.length > 1 && lines[lines.length - 1] === "") lines.pop();
  return new Map(lines.map((line, at) => [at + 1, line]));
}
