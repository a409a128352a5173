// The function by which a client reports its events.

import type { ClientEvents } from "../types.js";

export type Emit = <K extends keyof ClientEvents>(type: K, detail: ClientEvents[K]) => void;
