/** The line of code that an event comes from, and the calls that led there. */

import { useState } from "preact/hooks";
import { isolated, withoutControls } from "../../model/format/bidi";
import type { Frame } from "../../model/wire/code";
import { placeLabel } from "../code/line_text";
import type { EventProps } from "./types";

/** With more frames, the user's own come first until all are requested. */
const FIRST = 8;

export function Source({ store, actions, id }: EventProps) {
  const [all, setAll] = useState(false);
  const stack = store.details?.stack(id) ?? [];
  if (stack.length === 0) return null;
  const own = stack.filter(({ file }) => file.own);
  const shown = all || own.length === 0 ? stack : own;
  const frames = all ? shown : shown.slice(0, FIRST);
  const open = ({ file, line }: Frame) => actions.toggleCode({ file: file.name, line });
  return (
    <section class="source">
      <h3>Source</h3>
      {own.length > 0 && <Snippet {...{ store, actions, id }} />}
      <ol class="links" aria-label="Stack">
        {frames.map((frame, at) => (
          <li key={at}>
            <button type="button" class="link" title={frame.file.name} onClick={() => open(frame)}>
              <b>{placeLabel({ file: frame.file.name, line: frame.line })}</b>{" "}
              {frame.function && <small>in {isolated(frame.function)}</small>}
            </button>
          </li>
        ))}
      </ol>
      {stack.length > frames.length && (
        <button type="button" class="link" onClick={() => setAll(true)}>
          <b>All {stack.length} calls</b>
        </button>
      )}
    </section>
  );
}

/** The line with the one before and the one after. */
function Snippet({ store, id }: EventProps) {
  const { line, file, text } = store.details!.ownFrame(id)!;
  const known = store.code?.files.find(({ name }) => name === file.name);
  const texts = known && store.code?.text(known);
  const around = [line - 1, line, line + 1].flatMap((number) => {
    const found = texts?.get(number) ?? (number === line ? text : undefined);
    return found === undefined ? [] : [{ number, text: withoutControls(found) }];
  });
  const indents = around.flatMap((each) => (each.text.trim() ? [each.text.search(/\S/)] : []));
  const indent = Math.min(...indents);
  return (
    <pre class="snippet">
      {around.map((each) => (
        <div key={each.number} aria-current={each.number === line}>
          <i>{each.number}</i>
          <code>{each.text.slice(indent) || " "}</code>
        </div>
      ))}
    </pre>
  );
}
