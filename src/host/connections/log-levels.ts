// Sets the log level of a legacy server. It has one level for the whole connection, clients have
// one each: so it gets the most verbose level that any client has asked for, and lines are filtered
// for each client. On a pipe it receives the level before the call; over HTTP two requests may
// overtake each other, so the call waits for the answer.

import { ignored } from '../../kernel/contain.ts';
import type { Connection } from '../../upstream/connection.ts';
import { isHeard } from './log-level.ts';

/** A server that never answers must not block the calls that wait for it. */
const deadlineMs = 5_000;

export class LogLevels {
  /** As long as the connection. */
  readonly #told = new WeakMap<Connection, Told>();

  /** A promise if the next request has to wait for it; it never rejects. */
  want(connection: Connection, level: string): Promise<void> | undefined {
    const told = this.#told.get(connection);
    if (told !== undefined && isHeard(level, told.level)) return told.hearing;
    if (connection.greeting.capabilities['logging'] === undefined) return undefined;
    const now: Told = { level, hearing: undefined };
    this.#told.set(connection, now);
    const members = `"level":${JSON.stringify(level)}`;
    // A server that refuses chooses its own level.
    const { answer } = connection.request('logging/setLevel', { members }, { deadlineMs });
    const heard = answer.then(ignored, ignored);
    if (connection.child !== undefined) return undefined;
    now.hearing = heard.then(() => {
      now.hearing = undefined;
    });
    return now.hearing;
  }
}

interface Told {
  readonly level: string;
  /** While its answer is on the way, where that matters. */
  hearing: Promise<void> | undefined;
}
