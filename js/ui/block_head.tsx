/** The head of a block in a tab: title, definition, and the reason if there is no data. */

import { useId } from "preact/hooks";

export function BlockHead({ title, definition }: { title: string; definition: string }) {
  const id = useId();
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
    </header>
  );
}

export function CannotSay({ reason }: { reason: string }) {
  return <p class="cannot-say">Not available: {reason}.</p>;
}
