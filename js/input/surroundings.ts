/** What actions need of the page around the lanes. */
export interface Surroundings {
  focusLanes: () => void;
  focusSearch: () => boolean;
  /** Fill the screen, or leave it. */
  fullScreen: () => Promise<void>;
  /** Put a text into the clipboard; resolves with what to tell the user. */
  copy: (text: string) => Promise<string>;
  /** Opens the menu of how the timeline is drawn. */
  openView: () => void;
  /** Opens the menu of the selection. */
  openMenu: () => void;
  /** Show a short message for a while. */
  hint: (text: string) => void;
}
