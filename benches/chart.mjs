// Draws the chart of docs/performance.md from the raw figures of one run: CPU time of a first request and of a replay.

const PHASES = { first: "first request", replay: "replay" };
const [LEFT, WIDTH, ROW, GAP] = [190, 420, 22, 34];
const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** Returns an SVG whose colours are readable on white and on black. */
export function chart({ gateway: { rows } }) {
  const longest = Math.max(...rows.filter(({ phase }) => phase in PHASES).map(({ cpu }) => cpu));
  const parts = [];
  let y = 8;
  for (const [phase, title] of Object.entries(PHASES)) {
    parts.push(`<text x="${LEFT}" y="${(y += 14)}" font-weight="bold">${title}: CPU time in µs</text>`);
    y += 8;
    for (const { name, cpu } of rows.filter((row) => row.phase === phase).sort((a, b) => a.cpu - b.cpu)) {
      const width = Math.max(1, Math.round((cpu / longest) * WIDTH));
      const colour = name.startsWith("oncekey") ? "#d9480f" : /floor|pass/.test(name) ? "#868e96" : "#1c7ed6";
      parts.push(
        `<text x="${LEFT - 8}" y="${y + 14}" text-anchor="end">${escape(name)}</text>` +
          `<rect x="${LEFT}" y="${y + 3}" width="${width}" height="${ROW - 8}" fill="${colour}"/>` +
          `<text x="${LEFT + width + 6}" y="${y + 14}">${cpu.toFixed(0)}</text>`,
      );
      y += ROW;
    }
    y += GAP - ROW;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${LEFT + WIDTH + 70}" height="${y}" role="img" aria-label="CPU time of a first request and of a replay, by gateway" font-family="sans-serif" font-size="12" fill="#868e96">\n${parts.join("\n")}\n</svg>\n`;
}
