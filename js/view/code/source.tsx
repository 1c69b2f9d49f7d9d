/** The lines of one file, and the keys that walk through them. */

import { useEffect, useRef } from "preact/hooks";
import { isolated, withoutControls } from "../../model/format/bidi";
import { formatDuration } from "../../model/format/units";
import type { Place } from "../../model/wire/code";
import type { Line } from "../../state/code";
import { isShortcut } from "../../ui/own_keys";
import { shortName, totalsText } from "./line_text";

interface SourceProps {
  file: string;
  /** The lines of the file that are known, by number. */
  texts: ReadonlyMap<number, string>;
  /** The lines that took time. */
  timed: ReadonlyMap<number, Line>;
  longest: number;
  /** The current line. */
  current: number;
  look: (place: Place) => void;
  choose: (place: Place) => void;
  close: () => void;
}

export function Source({ file, texts, timed, longest, current, look, choose, close }: SourceProps) {
  const list = useRef<HTMLDivElement>(null);
  const numbers = [...texts.keys()];
  const at = texts.has(current) ? current : numbers[0];
  const option = (line: number) => list.current?.querySelector<HTMLElement>(`[data-line="${line}"]`);
  useEffect(() => {
    const element = option(at);
    const box = list.current?.parentElement;
    if (!element || !box) return;
    const top = element.offsetTop - box.offsetTop;
    // Lines out of sight are scrolled to the middle.
    if (top < box.scrollTop || top + element.offsetHeight > box.scrollTop + box.clientHeight)
      box.scrollTop = top - box.clientHeight / 2;
  }, [file, at]);
  // Keys act on the newly opened pane.
  useEffect(() => option(at)?.focus({ preventScroll: true }), []);
  const go = (line: number | undefined) => {
    if (line === undefined) return;
    look({ file, line });
    option(line)?.focus({ preventScroll: true });
  };
  const click = (event: MouseEvent) => {
    const line = Number((event.target as Element).closest<HTMLElement>("[data-line]")?.dataset.line);
    if (line) (timed.has(line) ? choose : look)({ file, line });
  };
  const press = (event: KeyboardEvent) => {
    if (isShortcut(event)) return;
    const index = numbers.indexOf(at);
    if (event.key === "ArrowDown") go(numbers[index + 1]);
    else if (event.key === "ArrowUp") go(numbers[index - 1]);
    else if (event.key === "Home") go(numbers[0]);
    else if (event.key === "End") go(numbers[numbers.length - 1]);
    else if (event.key === "Enter" || event.key === " ") choose({ file, line: at });
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="code-scroll">
      <div
        class="code-lines"
        role="listbox"
        aria-label={`Lines of ${isolated(shortName(file))}`}
        tabIndex={-1}
        ref={list}
        onKeyDown={press}
        onClick={click}
      >
        {numbers.map((line, index) => {
          const totals = timed.get(line);
          const text = withoutControls(texts.get(line)!);
          const said = totals && totalsText(totals);
          return (
            <div
              key={line}
              class="code-line"
              role="option"
              data-line={line}
              data-gap={index > 0 && numbers[index - 1] !== line - 1 ? "" : undefined}
              aria-selected={line === at}
              aria-disabled={!totals}
              title={said}
              tabIndex={line === at ? 0 : -1}
            >
              <span class="visually-hidden">{`Line ${line}: ${text.trim()}${said ? `; ${said}` : ""}`}</span>
              <Bars line={totals} longest={longest} />
              <span class="line-time" aria-hidden="true">
                {totals && formatDuration(totals.device || totals.host)}
              </span>
              <span class="line-number" aria-hidden="true">
                {line}
              </span>
              <code aria-hidden="true">{text}</code>
            </div>
          );
        })}
      </div>
    </div>
  );
}

function Bars({ line, longest }: { line: Line | undefined; longest: number }) {
  return (
    <span class="line-bars" aria-hidden="true">
      {(["device", "host"] as const).map((side) => (
        <i key={side} data-side={side} style={{ width: `${((line?.[side] ?? 0) / longest) * 100}%` }} />
      ))}
    </span>
  );
}
