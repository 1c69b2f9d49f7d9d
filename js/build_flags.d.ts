/** Set by the build: whether the bundle has a kernel to ask. */
declare const HAS_KERNEL: boolean;

/** Set by the build: whether the timeline of the bundle may stand in a dashboard. */
declare const HAS_PANELS: boolean;

/** Set by the build: whether the bundle is a page of its own, which has no notebook around it. */
declare const OWNS_PAGE: boolean;

/** esbuild hands a stylesheet over as text, to be put into the view's shadow root. */
declare module "*.css" {
  const text: string;
  export default text;
}
