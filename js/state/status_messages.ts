/** Messages in the status line, which replace its hints. */

import type { Notice } from "./kernel_queries";
import { Topics } from "./topics";

export class StatusMessages extends Topics {
  /** What went wrong last. */
  failure: string | null = null;
  /** The current activity. */
  notice: Notice | null = null;

  fail(message: string | null): void {
    this.failure = message;
    this.emit("panel");
  }

  setNotice(notice: Notice | null): void {
    this.notice = notice;
    this.emit("notice");
  }
}
