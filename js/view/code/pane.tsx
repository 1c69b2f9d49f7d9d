/** The pane below the lanes with the user's code and the time of each line. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Actions } from "../../input/actions";
import { isolated, withoutControls } from "../../model/format/bidi";
import { formatDuration } from "../../model/format/units";
import { activityColour } from "../../model/paint/palette";
import type { Code, Place } from "../../model/wire/code";
import type { SourceFile, Totals } from "../../model/wire/schema";
import { type Line, topLines, totalsOf } from "../../state/code";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { isShortcut } from "../../ui/own_keys";
import { LowerPane } from "../parts/lower_pane";
import { placeLabel, shareText, shortName, totalsText } from "./line_text";

const MOST_TOP_LINES = 30;

interface PaneProps {
  store: Store;
  actions: Actions;
}

export function CodePane({ store, actions }: PaneProps) {
  useTopics(store, ["selection", "details", "panel", "paint", "layout"]);
  const { codeOpen, code } = store;
  return codeOpen && code ? <Pane {...{ store, actions, code }} /> : null;
}

function Pane({ store, actions, code }: PaneProps & { code: Code }) {
  const [phase, setPhase] = useState("");
  const lines = useMemo(() => topLines(code, phase), [code, phase]);
  const phases = code.phases.filter((each) => code.lines.some((line) => line.phase === each));
  const isOne = store.selection && "events" in store.selection && store.selection.events.length === 1;
  const event = isOne ? store.selected : null;
  const seen = useRef(store.codePlace && event);
  const look = (codePlace: Place) => store.setPanel({ codePlace });
  // An event that is selected elsewhere is looked for in the code.
  useEffect(() => {
    const frame = event === null || event === seen.current ? null : store.details?.ownFrame(event);
    if (!frame) return;
    seen.current = event;
    look({ file: frame.file.name, line: frame.line });
  }, [event, store.details]);
  useEffect(() => () => store.highlight(null), []);
  const place = store.codePlace ?? lines[0] ?? { file: code.files[0].name, line: 0 };
  const file = code.files.find(({ name }) => name === place.file) ?? code.files[0];
  const texts = useMemo(() => code.text(file), [code, file]);
  const timed = new Map(lines.filter((line) => line.file === file.name).map((line) => [line.line, line]));
  const longest = Math.max(lines[0]?.device ?? 1, ...lines.map(({ host }) => host), 1);
  const close = () => {
    store.setPanel({ codeOpen: false });
    actions.focusLanes();
  };
  const choose = (chosen: Place) => actions.selectLine(chosen, phase);
  const { theme } = store.painting;
  const colours = `--device: ${activityColour("device_compute", theme)}; --host: ${activityColour("host_compute", theme)}`;
  const tabs = code.files.filter((each) => each.own || each === file);
  return (
    <LowerPane
      title="Code"
      name="code"
      close={close}
      header={
        <>
          <Files {...{ tabs, file, lines, look }} />
          <span class="space" />
          {(store.step !== null || store.range) && <span role="status">Times of the whole run</span>}
          <span class="code-key" style={colours} aria-hidden="true">
            <i data-side="device" /> device <i data-side="host" /> host
          </span>
          {phases.length > 0 && <Phases {...{ phases, phase, setPhase }} />}
        </>
      }
    >
      {() => (
        <>
          {file.note && (
            <p class="code-note" role="note">
              {file.note}
            </p>
          )}
          <div class="code-body" style={colours}>
            <Source
              key={file.name}
              file={file.name}
              current={place.line}
              {...{ texts, timed, longest, look, choose, close }}
            />
            <TopLines {...{ lines, code, place, choose, phase }} />
          </div>
        </>
      )}
    </LowerPane>
  );
}

function Files(props: {
  tabs: readonly SourceFile[];
  file: SourceFile;
  lines: readonly Line[];
  look: (place: Place) => void;
}) {
  const { tabs, file, lines, look } = props;
  return (
    <div class="code-files" role="tablist" aria-label="Files">
      {tabs.map((each) => (
        <button
          key={each.name}
          type="button"
          role="tab"
          aria-selected={each === file}
          title={each.note ?? each.name}
          data-mark={each.mark}
          onClick={() => look(lines.find((line) => line.file === each.name) ?? { file: each.name, line: 0 })}
        >
          {withoutControls(shortName(each.name))}
        </button>
      ))}
    </div>
  );
}

function Phases(props: { phases: readonly string[]; phase: string; setPhase: (phase: string) => void }) {
  return (
    <div class="segmented" role="group" aria-label="Phase">
      {["", ...props.phases].map((each) => (
        <button
          key={each}
          type="button"
          aria-pressed={each === props.phase}
          onClick={() => props.setPhase(each)}
        >
          {each || "all"}
        </button>
      ))}
    </div>
  );
}

function TopLines(props: {
  lines: readonly Line[];
  code: Code;
  place: Place;
  choose: (place: Place) => void;
  phase: string;
}) {
  const { lines, code, place, choose, phase } = props;
  const textOf = ({ file, line }: Place) => {
    const found = code.files.find(({ name }) => name === file);
    return (found && code.text(found).get(line)) ?? "";
  };
  // Waits cover the time of events on other threads.
  const rest = totalsOf(phase ? [] : code.unattributed.filter(({ reason }) => reason !== "waiting"));
  const hasRest = rest.device + rest.host > 0;
  if (lines.length === 0 && !hasRest) return null;
  return (
    <nav class="top-lines" aria-label="Top lines">
      <ol>
        {lines.slice(0, MOST_TOP_LINES).map((line) => (
          <li key={`${line.file}:${line.line}`}>
            <button
              type="button"
              aria-current={line.file === place.file && line.line === place.line}
              title={totalsText(line)}
              onClick={() => choose(line)}
            >
              <b>{placeLabel(line)}</b>
              <span>{formatDuration(line.device || line.host)}</span>
              <code>{withoutControls(textOf(line).trim())}</code>
            </button>
          </li>
        ))}
      </ol>
      {hasRest && <NotAttributed {...{ code, rest }} />}
    </nav>
  );
}

/** Time without a line: the total and by reason. */
function NotAttributed({ code, rest }: { code: Code; rest: Totals }) {
  const { lines, unattributed } = code;
  const whole = totalsOf([...lines, rest]);
  const timed = unattributed.filter(({ device, host }) => device + host > 0);
  return (
    <details class="not-attributed">
      <summary title={totalsText(rest)}>
        <div>
          Not attributed <span>{shareText(rest, whole)}</span>
        </div>
      </summary>
      <ul>
        {timed.map(({ reason, ...totals }) => (
          <li key={reason} title={totalsText(totals)}>
            {reason[0].toUpperCase() + reason.slice(1)}{" "}
            <span>{reason === "waiting" ? formatDuration(totals.host) : shareText(totals, whole)}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}

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
