// A client of a principal: the token that it shows, the path that narrows it, how it names tools there, and
// the mark of whatever is made for it. What it is told is searched for marks, its own and those of others,
// and its streams are noted with the times at which they open and close.

import type { History, Who } from '../history.ts';
import type { Message } from '../seen.ts';

export interface Identity {
  readonly who: Who;
  readonly headers: Readonly<Record<string, string>>;
  nameOf(server: string, tool: string): string;
}

export type NarrowPath = Who['path'];

/** `secret`: the token itself; `token`: its name. */
export function identityOf(token: string, secret: string, path: NarrowPath): Identity {
  return {
    who: { token, path, mark: `for~${token}${addressOf(path)}~` },
    headers: { authorization: `Bearer ${secret}` },
    nameOf: (server, tool) => (path?.kind === 'server' ? tool : `${server}__${tool}`),
  };
}

/** What follows `/mcp` in its address. */
export function addressOf(path: NarrowPath): string {
  if (path === null) return '';
  return `/${path.kind === 'server' ? 's' : 'r'}/${path.name}`;
}

const marksIn = /\b(?:by|for)~[^~"\\]+~/g;

/** Notes what one client is told. */
export class MarkReader {
  readonly #history: History;
  #streams = 0;

  constructor(history: History, { who }: Identity) {
    this.#history = history;
    history.who(who);
  }

  /** `since`: when this was asked for. */
  read(message: Message, since: number): void {
    const marks = new Set(JSON.stringify(message).match(marksIn));
    if (marks.size > 0) this.#history.marks(since, [...marks]);
  }

  /** A stream that was asked for. */
  stream() {
    this.#streams += 1;
    const number = this.#streams;
    return {
      open: () => this.#history.stream(number, 'open'),
      closed: () => this.#history.stream(number, 'closed'),
    };
  }
}
