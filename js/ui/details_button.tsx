/** The button of the toolbar that shows the details or hides them. */

export function DetailsButton({ isOpen, toggle }: { isOpen: boolean; toggle: () => void }) {
  return (
    <button type="button" aria-pressed={isOpen} title="Show or hide the details" onClick={toggle}>
      Details
    </button>
  );
}
