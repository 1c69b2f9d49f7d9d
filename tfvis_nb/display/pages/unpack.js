(async () => {
  const packed = document.getElementById("tfvis-code").textContent;
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(unpacked).text();
  document.body.append(script);
  // It has run. A page that is exported again packs its code itself.
  script.remove();
})().catch((error) => {
  document.querySelector(".tfvis-loading").textContent = `This browser cannot show it: ${error.message}.`;
});
