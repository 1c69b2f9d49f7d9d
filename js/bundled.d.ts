/** Set by the build: whether the bundle runs beside a kernel that can be asked. */
declare const HAS_KERNEL: boolean;

/** esbuild hands a stylesheet over as text, to be put into the view's shadow root. */
declare module "*.css" {
  const text: string;
  export default text;
}
