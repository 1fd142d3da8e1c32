// From which level on a legacy server sends log lines. It knows one level for the whole connection,
// clients have one each: so it is told the most talkative that anybody has asked for, and who wants
// to hear less is spared the rest where lines are handed out.

import type { Connection } from '../upstream/connection.ts';
import { isHeard } from './log-level.ts';

export class LogLevels {
  readonly #told = new WeakMap<Connection, string>();

  want(connection: Connection, level: string): void {
    const told = this.#told.get(connection);
    if (told !== undefined && isHeard(level, told)) return;
    if (connection.greeting.capabilities['logging'] === undefined) return;
    this.#told.set(connection, level);
    const members = `"level":${JSON.stringify(level)}`;
    // A server that refuses goes on with the lines it chooses itself.
    connection.request('logging/setLevel', { members }).answer.catch(() => {});
  }
}
