/** The findings in the panel: the first one's text, advice and events; the others' on request. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Actions } from "../../input/actions";
import { formatPercent, unbroken } from "../../model/format/units";
import type { Finding, FindingsBlock } from "../../model/wire/schema";
import type { Store } from "../../state/store";
import { FindingBody, HowMeasured } from "../../ui/overview_card";
import { hasTabs } from "../sizes";

interface FindingsProps {
  store: Store;
  actions: Actions;
  block: FindingsBlock;
  /** Scope of the findings, if wider than the part shown. */
  scope?: string;
  /** Renders further text, once it is requested. */
  more?: () => ComponentChildren;
}

export function FindingList({ store, actions, block, scope = "", more }: FindingsProps) {
  const [isRequested, setRequested] = useState(false);
  // The tabs under a timeline have the texts.
  const isFirstOpen = !hasTabs(store.host);
  const others = block.items.slice(1);
  const list = (items: Finding[]) => (
    <ul class="finding-list">
      {items.map((finding) => (
        <Item
          key={finding.title}
          {...{ store, actions, finding }}
          isOpen={isFirstOpen && finding === block.items[0]}
        />
      ))}
    </ul>
  );
  return (
    <section aria-label="Findings">
      {!block.cannot_say && (
        <h3 class={block.items.length > 0 && !scope ? "visually-hidden" : undefined}>
          {block.items.length > 0 ? `Findings${scope}` : block.nothing}
        </h3>
      )}
      {list(block.items.slice(0, 1))}
      {(others.length > 0 || more) && (
        <details class="more-figures" onToggle={() => setRequested(true)}>
          <summary>{others.length > 0 ? "More findings" : "More figures"}</summary>
          {list(others)}
          {isRequested && more?.()}
        </details>
      )}
    </section>
  );
}

interface ItemProps {
  store: Store;
  actions: Actions;
  finding: Finding;
  isOpen: boolean;
}

function Item({ store, actions, finding, isOpen }: ItemProps) {
  return (
    <li data-level={finding.level}>
      <details open={isOpen}>
        <summary>
          <b>{finding.title}</b> <Gravity finding={finding} />
        </summary>
        <FindingBody finding={finding} onShow={() => showFinding(store, actions, finding)} />
        <HowMeasured text={finding.how} />
      </details>
    </li>
  );
}

/** How much a finding matters: its share, and on hover of what. */
function Gravity({ finding: { level, share, of } }: { finding: Finding }) {
  if (share === null) return <small class="visually-hidden">{level}</small>;
  const percent = unbroken(formatPercent(share));
  return (
    <small title={`${level}, ${percent} of ${of}`}>
      {percent}
      <span class="visually-hidden">{` of ${of}, ${level}`}</span>
    </small>
  );
}

export function showFinding(store: Store, actions: Actions, { zoom }: Finding): void {
  const { start, end, events, of } = zoom;
  if (store.step !== null || store.aligned) store.setStep(null);
  store.setPanel({ panelOpen: true });
  store.selectInRun(events?.length ? { events } : { start, end, lanes: null, step: null }, of);
  actions.keepSelectedInSight();
  actions.show({ start, end }, 0.05);
}
