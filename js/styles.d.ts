/** esbuild hands a stylesheet over as text, to be put into the view's shadow root. */
declare module "*.css" {
  const text: string;
  export default text;
}
