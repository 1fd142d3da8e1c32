// The lines that the gateway prints about its servers: one line when a server fails, with the
// cause. The same line is printed again only after the server has been ready in between, so that
// repeated failures do not fill the output.

import type { HostEvent } from '../../observe/events.ts';

export class FailureLines {
  /** The last line of each server that fails; bounded by the number of servers. */
  readonly #said = new Map<string, string>();

  /** The line for this event; undefined for most. */
  lineFor(event: HostEvent): string | undefined {
    const { server, kind } = event;
    if (kind === 'ready' || kind === 'removed') this.#said.delete(server);
    const line = textOf(event);
    if (line === undefined || this.#said.get(server) === line) return undefined;
    this.#said.set(server, line);
    return line;
  }
}

function textOf(event: HostEvent): string | undefined {
  switch (event.kind) {
    case 'start-failed':
    case 'lost':
    case 'ejected':
      return event.detail.includes(event.server)
        ? event.detail
        : `${event.server}: ${event.detail}`;
    default:
      return undefined;
  }
}
