/// <reference types="node" />
// Texts as files, each write in one step with a comparison.
//
// A name has a folder, named by its hash, because names may be long or differ only in case. Each write adds a file whose
// name is the next number, and the file with the highest number has the text. A link creates that file with its whole
// content, and fails if the file exists. So of several processes that have read the same text, one writes, and a process
// that dies leaves either the text before or the text after. (A rename would replace what another process wrote meanwhile.)

import { createHash, randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AsyncStore } from "./adapter.js";

/**
 * How long the last file of a removed text stays, in milliseconds. It keeps a process that has read before the removal from
 * starting the numbers again, so no process may take that long between reading and writing.
 */
const REMOVED_FOR = 3_600_000;

/** The file with the highest number in a folder. The number is 0 if there is none. */
interface Last {
  number: number;
  name: string | undefined;
  text: string | null;
}

export class Files implements AsyncStore {
  readonly #root: string;

  constructor(folder: string | URL) {
    const isUrl = folder instanceof URL;
    if (!isUrl && (typeof folder !== "string" || folder === "")) throw new TypeError("fileStore needs the path of a folder.");
    this.#root = isUrl ? fileURLToPath(folder) : folder;
  }

  async read(name: string): Promise<string | null> {
    return (await this.#last(this.#folder(name))).text;
  }

  async replace(name: string, before: string | null, text: string | null): Promise<boolean> {
    const folder = this.#folder(name);
    const last = await this.#last(folder);
    if (last.text !== before) return false;
    if (last.number === 0) await mkdir(folder, { recursive: true });
    const next = last.number + 1;
    const draft = join(folder, `draft-${randomUUID()}`);
    try {
      const file = await open(draft, "wx", 0o600);
      try {
        await file.writeFile(JSON.stringify([name, text]));
        await file.sync();
      } finally {
        await file.close();
      }
      await link(draft, join(folder, String(next)));
    } catch (error) {
      // Another process has written first.
      if (codeOf(error) === "EEXIST") return false;
      throw error;
    } finally {
      await rm(draft, { force: true });
    }
    // If another process wrote twice since the read, it has removed the file that would have stopped this one. Then its
    // file has a higher number, and this one was never read.
    const [highest, ...older] = await numbersIn(folder);
    if (highest !== next) return false;
    await synced(folder);
    if (last.number === 0) await synced(this.#root);
    await Promise.all(older.map((number) => rm(join(folder, String(number)), { force: true })));
    return true;
  }

  async names(start: string): Promise<string[]> {
    const names: string[] = [];
    for (const hash of await listed(this.#root)) {
      const folder = join(this.#root, hash);
      const { number, name, text } = await this.#last(folder);
      if (text === null) await this.#clear(folder, number);
      else if (name?.startsWith(start)) names.push(name);
    }
    return names;
  }

  #folder(name: string): string {
    return join(this.#root, createHash("sha256").update(name).digest("hex"));
  }

  async #last(folder: string): Promise<Last> {
    for (;;) {
      const [number] = await numbersIn(folder);
      if (number === undefined) return { number: 0, name: undefined, text: null };
      try {
        const [name, text] = JSON.parse(await readFile(join(folder, String(number)), "utf8")) as [string, string | null];
        return { number, name, text };
      } catch (error) {
        // Another process has written and removed the file since.
        if (codeOf(error) !== "ENOENT") throw error;
      }
    }
  }

  /** Removes the folder of a text that was removed long ago. */
  async #clear(folder: string, number: number): Promise<void> {
    try {
      const { mtimeMs } = await stat(number === 0 ? folder : join(folder, String(number)));
      if (Date.now() - mtimeMs > REMOVED_FOR) await rm(folder, { recursive: true });
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
    }
  }
}

/** Returns the numbers of the files in a folder, the highest first. */
async function numbersIn(folder: string): Promise<number[]> {
  const names = await listed(folder);
  return names.filter((name) => /^[1-9][0-9]*$/.test(name)).map(Number).sort((one, other) => other - one);
}

async function listed(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** Waits until the names in a folder are on the disk. */
async function synced(folder: string): Promise<void> {
  // Windows opens no folders, and keeps their names itself.
  if (globalThis.process?.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code;
}
