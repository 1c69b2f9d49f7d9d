/** Findings: problems first, each with its share of step time, its events and advice. */

import type { LinkMessage } from "../host/channel";
import { formatPercent, unbroken } from "../model/format/units";
import type { Finding, FindingsBlock, OverviewLine } from "../model/wire/schema";
import { CannotSay } from "../ui/block_head";
import { FindingBody, OverviewLines } from "../ui/overview_card";

interface FindingsProps {
  block: FindingsBlock;
  /** Figures of the overview. */
  lines: readonly OverviewLine[];
  publish: (message: LinkMessage) => void;
}

export function Findings({ block, lines, publish }: FindingsProps) {
  const isEmpty = block.items.length === 0;
  const others = block.items.slice(1);
  const list = (items: readonly Finding[]) => (
    <ol>
      {items.map((finding) => (
        <Item key={finding.title} finding={finding} publish={publish} />
      ))}
    </ol>
  );
  return (
    <section class="block findings">
      {block.cannot_say ? <CannotSay reason={block.cannot_say} /> : isEmpty && <h3>{block.nothing}</h3>}
      {list(block.items.slice(0, 1))}
      <details class="measured" open={isEmpty}>
        <summary>{others.length > 0 ? "More findings and figures" : "More figures"}</summary>
        {list(others)}
        <OverviewLines lines={lines} />
        {block.measured.length > 0 && <h3>How this was measured</h3>}
        {block.items.map(({ title, how }) => how && <p key={title}>{unbroken(`${title}: ${how}`)}</p>)}
        <ul class="nothing">
          {block.measured.map((text) => (
            <li key={text}>{unbroken(text)}</li>
          ))}
        </ul>
      </details>
    </section>
  );
}

interface ItemProps {
  finding: Finding;
  publish: (message: LinkMessage) => void;
}

function Item({ finding, publish }: ItemProps) {
  const { level, title, share, of } = finding;
  return (
    <li data-level={level}>
      <span class="share">
        {share !== null && (
          <>
            <b title={`of ${of}`}>{formatPercent(share)}</b>
            <span class="visually-hidden">{` of ${of}`}</span>
          </>
        )}
        <span class="level">{level}</span>
      </span>
      <div>
        <h3>{title}</h3>
        <FindingBody finding={finding} onShow={(zoom) => publish({ kind: "select", lanes: null, ...zoom })} />
      </div>
    </li>
  );
}
