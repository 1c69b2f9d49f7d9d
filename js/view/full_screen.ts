/** Fills the screen with a timeline, which the browser allows after a click or a key alone, and not in every frame. */

/** `root` in its shadow root; the element around it fills the screen because its width decides the layout.
 * */
export async function toggleFullScreen(root: HTMLElement): Promise<void> {
  const shadow = root.getRootNode() as ShadowRoot;
  if (document.fullscreenElement && isInside(document.fullscreenElement, shadow.host)) {
    await document.exitFullscreen();
    return;
  }
  await shadow.host.requestFullscreen();
}

/** Whether the element, or the host of a shadow root around it, is `other`. */
function isInside(other: Element, element: Element): boolean {
  const { host } = element.getRootNode() as ShadowRoot;
  return other === element || (host !== undefined && isInside(other, host));
}
