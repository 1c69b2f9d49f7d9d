/** Findings: problems first, each with its share of step time, its events and advice. */

import type { LinkMessage } from "../host/channel";
import { formatPercent, unbroken } from "../model/format/units";
import type { Finding, FindingsBlock } from "../model/wire/overview";
import { CannotSay } from "../ui/block_head";
import { HowMeasured } from "../ui/overview_card";

export function Findings({ block, publish }: { block: FindingsBlock; publish: (told: LinkMessage) => void }) {
  if (block.cannot_say)
    return (
      <section class="block">
        <CannotSay reason={block.cannot_say} />
      </section>
    );
  const isEmpty = block.items.length === 0;
  return (
    <section class="block findings">
      {isEmpty && <h3>{block.nothing}</h3>}
      <ol>
        {block.items.map((finding, at) => (
          <Item key={finding.title} finding={finding} isOpen={at === 0} publish={publish} />
        ))}
      </ol>
      <details class="measured" open={isEmpty}>
        <summary>All measurements</summary>
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
  isOpen: boolean;
  publish: (told: LinkMessage) => void;
}

function Item({ finding, isOpen, publish }: ItemProps) {
  const { level, title, text, advice, how, share, of, zoom, selects } = finding;
  return (
    <li data-level={level}>
      <span class="share">
        {share !== null && (
          <>
            <b>{formatPercent(share)}</b> of {of}
          </>
        )}
        <span class="level">{level}</span>
      </span>
      <details open={isOpen}>
        <summary>
          <h3>{title}</h3>
        </summary>
        <p>{unbroken(text)}</p>
        {advice && <p class="advice">{unbroken(advice)}</p>}
        {zoom && (
          <button
            type="button"
            aria-label={`Show: ${title}`}
            title={selects || undefined}
            onClick={() => publish({ kind: "select", lanes: null, ...zoom })}
          >
            Show
          </button>
        )}
        <HowMeasured text={how} />
      </details>
    </li>
  );
}
