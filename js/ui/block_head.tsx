/** The head of a block in a tab: title, definition, and the reason if there is no data. */

import type { ComponentChildren } from "preact";
import { useUniqueId } from "./unique_id";

interface BlockHeadProps {
  title: string;
  definition: string;
  children?: ComponentChildren;
}

export function BlockHead({ title, definition, children }: BlockHeadProps) {
  const id = useUniqueId();
  return (
    <header>
      <h3>{title}</h3>
      {definition && (
        <>
          <button type="button" class="about" aria-label={`About: ${title}`} aria-describedby={id}>
            ?
          </button>
          <span id={id} hidden>
            {definition}
          </span>
        </>
      )}
      {children}
    </header>
  );
}

export function CannotSay({ reason }: { reason: string }) {
  return <p class="cannot-say">Not available: {reason}.</p>;
}
