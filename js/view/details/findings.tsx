/** The findings in the panel: their titles, and on a click the text, the advice and where they are. */

import type { Actions } from "../../input/actions";
import { formatPercent } from "../../model/format/units";
import type { Finding, FindingsBlock } from "../../model/wire/overview";
import type { Store } from "../../state/store";

interface FindingsProps {
  store: Store;
  actions: Actions;
  block: FindingsBlock;
}

export function FindingList({ store, actions, block }: FindingsProps) {
  if (block.cannot_say) return null;
  return (
    <section aria-label="Findings">
      <h3>{block.items.length > 0 ? "Findings" : block.nothing}</h3>
      <ul class="finding-list">
        {block.items.map((finding) => (
          <li key={finding.title} data-level={finding.level}>
            <details>
              <summary>
                <b>{finding.title}</b> <small>{gravity(finding)}</small>
              </summary>
              <p>{finding.text}</p>
              <p class="advice">{finding.advice}</p>
              {finding.zoom && (
                <button type="button" onClick={() => show(store, actions, finding)}>
                  Show
                </button>
              )}
              {finding.selects && <small> {finding.selects}</small>}
            </details>
          </li>
        ))}
      </ul>
      {block.note && <p class="unlinked">{block.note}</p>}
    </section>
  );
}

/** How much a finding matters: its level, and its share of step time. */
function gravity({ level, share }: Finding): string {
  return share === null ? level : `${level}, ${formatPercent(share)} of step time`;
}

function show(store: Store, actions: Actions, { zoom }: Finding): void {
  if (!zoom) return;
  const { start, end } = zoom;
  if (store.step !== null || store.aligned) store.setStep(null);
  if (!zoom.events?.length) store.select({ start, end, lanes: null, step: null });
  else store.select({ events: zoom.events });
  actions.show({ start, end }, 0.05);
}
