/** Explanations, shown while the pointer or the focus is on their subject. */

/** A pointer needs so long to get from a word to what explains it. */
const PATIENCE_MS = 150;
const WIDTH = 340;

/**
 * Whatever in `root` has an aria-describedby is explained by the (hidden) text that it names; screen readers read that
 * text themselves.
 */
export function bindTips(root: HTMLElement, signal: AbortSignal): void {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.popover = "manual";
  tip.setAttribute("aria-hidden", "true");
  root.append(tip);
  let about: Element | null = null;
  /** Whether a click keeps it until the next one. */
  let isKept = false;
  let timer = 0;
  const hide = () => {
    about = null;
    isKept = false;
    tip.hidePopover();
  };
  const hideSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (!isKept && !about?.matches(":hover, :focus-visible")) hide();
    }, PATIENCE_MS) as unknown as number;
  };
  const show = (element: Element) => {
    clearTimeout(timer);
    if (element === about) return;
    isKept = false;
    const description = root.querySelector(`#${CSS.escape(element.getAttribute("aria-describedby") ?? "")}`);
    if (!description?.textContent) return;
    about = element;
    tip.textContent = description.textContent;
    tip.showPopover();
    place(tip, element.getBoundingClientRect());
  };
  const entered = (event: Event) => {
    const target = event.target as Element;
    const element = target.closest("[aria-describedby]");
    if (element && !(isKept && element !== about)) show(element);
    else if (tip.contains(target)) clearTimeout(timer);
  };
  const focused = (event: Event) => {
    // A click also focuses; the user knows the clicked element.
    if ((event.target as Element).matches(":focus-visible")) entered(event);
  };
  const clicked = (event: Event) => {
    const button = (event.target as Element).closest("button[aria-describedby]");
    // Whatever a click sorts or opens has already explained itself.
    const isHelp = button !== null && (button.matches(".about") || button.matches(".hinted"));
    if (!isHelp) {
      if (isKept && !tip.contains(event.target as Element)) hide();
    } else if (isKept && button === about) hide();
    else {
      show(button);
      isKept = about === button;
    }
  };
  root.addEventListener("click", clicked, { signal });
  root.addEventListener("pointerover", entered, { signal });
  root.addEventListener("focusin", focused, { signal });
  root.addEventListener("pointerout", hideSoon, { signal });
  root.addEventListener("focusout", hideSoon, { signal });
  root.addEventListener("scroll", hide, { capture: true, signal });
  root.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Escape" || !about) return;
      hide();
      event.stopPropagation();
    },
    { capture: true, signal },
  );
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    tip.remove();
  });
}

/** Below its element, or above it if there is no room. */
function place(tip: HTMLElement, anchor: DOMRect): void {
  const width = Math.min(WIDTH, innerWidth - 16);
  const left = Math.min(Math.max(anchor.left, 8), innerWidth - width - 8);
  tip.style.maxWidth = `${width}px`;
  tip.style.left = `${left}px`;
  const below = anchor.bottom + 6;
  const isBelow = below + tip.offsetHeight < innerHeight || anchor.top < tip.offsetHeight + 6;
  tip.style.top = `${isBelow ? below : anchor.top - tip.offsetHeight - 6}px`;
}
