// A form's entries as multipart/form-data, the same bytes in every engine.
//
// The engines' own way, `new Response(formData)`, is not used: WebKit rejects it when a script has put a file into
// the form. What is written here is the "multipart/form-data encoding algorithm" of the HTML standard, in UTF-8.

export interface Serialised {
  body: Uint8Array<ArrayBuffer>;
  contentType: string | null;
  /** The same body with one more field, as its last. */
  with(name: string, value: string): Uint8Array<ArrayBuffer>;
}

/** Reads every file of the entries, and writes all entries in their order. */
export async function multipart(data: FormData): Promise<Serialised> {
  const boundary = `----oncekey${drawn()}`;
  const parts: (string | ArrayBuffer)[] = [];
  const head = (name: string) => `--${boundary}\r\nContent-Disposition: form-data; name="${escaped(lines(name))}"`;
  const field = (name: string, value: string) => `${head(name)}\r\n\r\n${lines(value)}\r\n`;
  for (const [name, value] of data) {
    if (typeof value === "string") {
      parts.push(field(name, value));
    } else {
      const type = value.type || "application/octet-stream";
      const rest = `; filename="${escaped(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`;
      parts.push(head(name) + rest, await value.arrayBuffer(), "\r\n");
    }
  }
  const end = `--${boundary}--\r\n`;
  return {
    body: joined([...parts, end]),
    contentType: `multipart/form-data; boundary=${boundary}`,
    with: (name, value) => joined([...parts, field(name, value), end]),
  };
}

/** Returns the text with CRLF at the end of each line, as the standard requires for names, and for values except files. */
export function lines(text: string): string {
  return text.replace(/\r\n?|\n/g, "\r\n");
}

/** Returns a name or file name with the escapes of the standard, which has no others. */
function escaped(text: string): string {
  return text.replace(/\r/g, "%0D").replace(/\n/g, "%0A").replace(/"/g, "%22");
}

/** Returns texts and bytes as one. */
export function joined(parts: (string | ArrayBuffer | Uint8Array)[]): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const all = parts.map((part) => (typeof part === "string" ? encoder.encode(part) : ArrayBuffer.isView(part) ? part : new Uint8Array(part)));
  const body = new Uint8Array(all.reduce((length, { byteLength }) => length + byteLength, 0));
  let at = 0;
  for (const part of all) {
    body.set(part, at);
    at += part.byteLength;
  }
  return body;
}

/** Returns 128 random bits in hexadecimal, so that no file contains the boundary. */
function drawn(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
