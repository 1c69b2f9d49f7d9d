/** What was found to be worth a look, the most time first, with where it is and what helps. */

import type { LinkMessage } from "../host/channel";
import { formatPercent } from "../model/format/units";
import { CannotSay } from "../ui/block_head";
import type { Finding, FindingsBlock } from "./blocks";

export function Findings({ block, publish }: { block: FindingsBlock; publish: (told: LinkMessage) => void }) {
  if (block.cannot_say)
    return (
      <section class="block">
        <CannotSay reason={block.cannot_say} />
      </section>
    );
  if (block.items.length === 0)
    return (
      <section class="block findings">
        <h3>No finding</h3>
        <ul class="nothing">
          {block.measured.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      </section>
    );
  return (
    <section class="block findings">
      <ol>
        {block.items.map((finding) => (
          <Item key={finding.title} finding={finding} publish={publish} />
        ))}
      </ol>
    </section>
  );
}

function Item({ finding, publish }: { finding: Finding; publish: (told: LinkMessage) => void }) {
  const { title, text, advice, share, zoom } = finding;
  return (
    <li>
      <span class="share">
        {share !== null && (
          <>
            <b>{formatPercent(share)}</b> of the time
          </>
        )}
      </span>
      <div>
        <h3>{title}</h3>
        <p>{text}</p>
        {advice && <p class="advice">{advice}</p>}
      </div>
      {zoom && (
        <button
          type="button"
          aria-label={`Show: ${title}`}
          onClick={() => publish({ kind: "select", ...zoom })}
        >
          Show
        </button>
      )}
    </li>
  );
}
