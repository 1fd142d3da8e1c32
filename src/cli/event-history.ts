// Reads past events from the event log in the state directory. Other processes are writing to it,
// and older or newer versions may have: a line that is not a known event is skipped. Several
// configs share it, and each may have a server of the same name, so only events of the given config
// count. Only the end of the log is read, so that the cost does not depend on its length.

import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostEvent } from '../observe/events.ts';

/** `spec`: a fingerprint of the config entry that the server had then; absent in older lines. */
export type LoggedEvent = HostEvent & { readonly spec?: unknown };

/** Several thousand events. */
const maxBytes = 2 * 1024 * 1024;

/** The latest events of the servers of one config, the oldest first. */
export async function eventHistory(
  stateDir: string,
  config: string | null,
): Promise<readonly LoggedEvent[]> {
  const path = join(stateDir, 'events.jsonl');
  const recent = await tailOf(path, maxBytes);
  const older = await tailOf(`${path}.1`, maxBytes - recent.length);
  return [older, recent].flatMap((text) =>
    text.split('\n').flatMap((line) => eventFrom(line, config)),
  );
}

/** Whole lines from the end of a file; none if it does not exist or is a pipe. */
async function tailOf(path: string, bytes: number): Promise<string> {
  if (bytes <= 0) return '';
  try {
    await using file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const { size } = await file.stat();
    const start = Math.max(0, size - bytes);
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(size - start),
      0,
      size - start,
      start,
    );
    const text = buffer.toString('utf8', 0, bytesRead);
    return start === 0 ? text : text.slice(text.indexOf('\n') + 1);
  } catch (error) {
    // No log yet, or not readable: then there are no events. Doctor reports why.
    if (error instanceof Error && 'code' in error) return '';
    throw error;
  }
}

function eventFrom(line: string, config: string | null): LoggedEvent[] {
  try {
    const record: unknown = JSON.parse(line);
    return isEvent(record) && record.config === config ? [record] : [];
  } catch {
    // An incomplete line, or the empty one at the end.
    return [];
  }
}

const kinds: Readonly<Record<HostEvent['kind'], true>> = {
  registered: true,
  starting: true,
  ready: true,
  'start-failed': true,
  lost: true,
  cooling: true,
  ejected: true,
  stopping: true,
  stopped: true,
  idle: true,
  reloaded: true,
  removed: true,
  circuit: true,
  tools: true,
  noise: true,
  defect: true,
  call: true,
};

function isEvent(record: unknown): record is LoggedEvent & { readonly config?: unknown } {
  if (typeof record !== 'object' || record === null) return false;
  const { at, server, kind } = record as Partial<Record<string, unknown>>;
  return (
    typeof at === 'number' &&
    typeof server === 'string' &&
    typeof kind === 'string' &&
    Object.hasOwn(kinds, kind)
  );
}
