(async () => {
  const packed = document.getElementById("tfvis-code").textContent;
  // The digits of base 85, as template.py writes them.
  const digits = new Uint8Array(127);
  for (let code = 37, digit = 0; code < 127; code++)
    if (!"&'<>\\".includes(String.fromCharCode(code))) digits[code] = digit++;
  const bytes = new Uint8Array((packed.length * 4) / 5);
  for (let at = 0, from = 0; at < bytes.length; at += 4) {
    let word = 0;
    // The last digits can be missing; the highest stands for them.
    for (const end = from + 5; from < end; from++) word = word * 85 + (digits[packed.charCodeAt(from)] ?? 84);
    for (let place = 0; place < 4; place++) bytes[at + place] = word >>> (24 - 8 * place);
  }
  const code = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(code).text();
  document.body.append(script);
  script.remove();
})().catch((error) => {
  document.querySelector(".tfvis-loading").textContent = `This browser cannot show it: ${error.message}.`;
});
