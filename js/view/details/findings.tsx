/** The findings in the panel: their titles; of the first, and on a click, the text, the advice and where they are. */

import type { Actions } from "../../input/actions";
import { formatPercent, unbroken } from "../../model/format/units";
import type { Finding, FindingsBlock } from "../../model/wire/overview";
import type { Store } from "../../state/store";

interface FindingsProps {
  store: Store;
  actions: Actions;
  block: FindingsBlock;
  /** Scope of the findings, if wider than the part shown. */
  scope?: string;
}

export function FindingList({ store, actions, block, scope = "" }: FindingsProps) {
  if (block.cannot_say) return null;
  return (
    <section aria-label="Findings">
      <h3>{block.items.length > 0 ? `Findings${scope}` : block.nothing}</h3>
      {block.items.length > 0 && (
        <ul class="finding-list">
          {block.items.map((finding, at) => (
            <li key={finding.title} data-level={finding.level}>
              <details open={at === 0}>
                <summary>
                  <b>{finding.title}</b> <small>{unbroken(gravity(finding))}</small>
                </summary>
                <p>{unbroken(finding.text)}</p>
                <p class="advice">{unbroken(finding.advice)}</p>
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
      )}
      {block.note && <p class="unlinked">{block.note}</p>}
    </section>
  );
}

/** How much a finding matters: its level and share. */
function gravity({ level, share, of }: Finding): string {
  return share === null ? level : `${level}, ${formatPercent(share)} of ${of}`;
}

function show(store: Store, actions: Actions, { zoom }: Finding): void {
  if (!zoom) return;
  const { start, end } = zoom;
  if (store.step !== null || store.aligned) store.setStep(null);
  store.setPanel({ panelOpen: true });
  store.selectInRun(zoom.events?.length ? { events: zoom.events } : { start, end, lanes: null, step: null });
  actions.keepSelectedInSight();
  actions.show({ start, end }, 0.05);
}
