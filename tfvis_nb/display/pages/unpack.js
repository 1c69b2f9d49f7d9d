(async () => {
  const packed = atob(document.getElementById("tfvis-code").textContent);
  const bytes = Uint8Array.from(packed, (byte) => byte.charCodeAt(0));
  const code = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(code).text();
  document.body.append(script);
  script.remove();
})().catch((error) => {
  document.querySelector(".tfvis-loading").textContent = `This browser cannot show it: ${error.message}.`;
});
