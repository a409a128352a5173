// Writes the page of errors, which the gateway serves, from docs/guide/errors.md: errors-page.mjs TEMPLATE OUT
import { readFileSync, writeFileSync } from "node:fs";
import { Marked } from "marked";

const [template, out] = process.argv.slice(2);
const renderer = {
  /** The anchor of an entry is its code, as on GitHub. */
  heading({ tokens, depth, text }) {
    const id = /^`([a-z_]+)`$/.exec(text)?.[1];
    return `<h${depth}${id ? ` id="${id}"` : ""}>${this.parser.parseInline(tokens)}</h${depth}>\n`;
  },
  /** A code that is too long for its line breaks after an underscore. */
  codespan: ({ text }) => `<code>${text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("_", "_<wbr>")}</code>`,
  /** The other pages of the guide are not served, so only links within the page lead somewhere. */
  link({ href, tokens }) {
    const text = this.parser.parseInline(tokens);
    return href.startsWith("#") ? `<a href="${href}">${text}</a>` : text;
  },
  /** The marks of generated parts. */
  html: () => "",
};
const place = "<!-- docs/guide/errors.md -->";
const [before, after] = readFileSync(template, "utf8").split(place);
const page = new Marked({ renderer }).parse(readFileSync("docs/guide/errors.md", "utf8"));
writeFileSync(out, before + page.trim() + after);
