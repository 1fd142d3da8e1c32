// A simulated MCP server behind an address, in either era: modern, where every request stands alone,
// and legacy, with sessions that can be forgotten and a stream for what the server says unasked. It
// turns requests away by status, breaks off before or after the effect, ends a stream without the
// answer, or says nothing at all. A request that it turns away unread is not in the ledger.

import type { HttpRequest } from '../../src/upstream/http/http-client.ts';
import { executeOver, type RemoteServer, type Reply } from './sim-http.ts';
import {
  type Answer,
  discovery,
  foreignForm,
  forged,
  greeting,
  noSuchMethod,
  type Request,
  received,
  type ServerModel,
  toolList,
} from './sim-server.ts';
import type { World } from './world.ts';

const json = { 'content-type': 'application/json' };
const events = { 'content-type': 'text/event-stream' };

export class SimRemote implements RemoteServer {
  readonly #world: World;
  readonly #model: ServerModel;
  readonly #sessions = new Set<string>();
  #definition = 1;
  #lastSession = 0;

  constructor(world: World, model: ServerModel) {
    this.#world = world;
    this.#model = model;
  }

  receive(request: HttpRequest, reply: Reply): void {
    if (this.#turnsAway(request, reply)) return this.#denies(request);
    if (request.method === 'GET') return this.#stream(reply);
    if (request.method === 'DELETE') return this.#goodbye(request, reply);
    const message = JSON.parse(String(request.body)) as Request;
    if (message.id === undefined) return this.#notified(reply);
    if (this.#world.faults.occurs('http-hang')) return;
    this.#answer(message, reply);
  }

  /** Whoever takes a status for an answer to the probe is right. */
  #denies({ body }: HttpRequest): void {
    const isProbe = String(body).includes('"server/discover"');
    if (isProbe) this.#world.deniedModern.add(this.#model.name);
  }

  /** Decided by the status line alone, before the message is looked at. */
  #turnsAway({ method, headers }: HttpRequest, reply: Reply): boolean {
    const { faults } = this.#world;
    if (method === 'DELETE') return false;
    if (faults.occurs('session-404')) this.#sessions.clear();
    const session = headers['mcp-session-id'];
    const status =
      session !== undefined && !this.#sessions.has(session)
        ? 404
        : faults.occurs('http-503-before-effect')
          ? 503
          : faults.occurs('http-429')
            ? 429
            : faults.occurs('http-401')
              ? 401
              : 0;
    if (status === 0) return false;
    reply.head(status, status === 429 ? { 'retry-after': '1' } : {});
    reply.end();
    return true;
  }

  #stream(reply: Reply): void {
    const { clock, dice, faults } = this.#world;
    if (this.#model.era === 'modern' || dice.chance(0.2)) {
      reply.head(405);
      return reply.end();
    }
    reply.head(200, events);
    const speak = (): void => {
      clock.later(dice.between(1_000, 20_000), () => {
        if (reply.isOver) return;
        if (faults.occurs('stream-end')) return reply.end();
        if (faults.occurs('list-changed')) {
          reply.data(event({ method: 'notifications/tools/list_changed' }));
        }
        if (faults.occurs('server-request')) reply.data(event({ id: 'q', method: 'ping' }));
        speak();
      });
    };
    speak();
  }

  #goodbye({ headers }: HttpRequest, reply: Reply): void {
    if (this.#world.faults.occurs('http-hang')) return;
    this.#sessions.delete(headers['mcp-session-id'] ?? '');
    reply.head(200);
    reply.end();
  }

  #notified(reply: Reply): void {
    if (this.#world.faults.occurs('http-hang-notification')) return;
    reply.head(202);
    reply.end();
  }

  #answer(message: Request, reply: Reply): void {
    const { faults } = this.#world;
    switch (message.method) {
      case 'server/discover':
        if (faults.occurs('hang-discover')) return;
        return this.#greet(message, reply);
      case 'initialize':
        if (faults.occurs('hang-initialize')) return;
        return this.#greet(message, reply);
      case 'ping':
        if (faults.occurs('hang-ping')) return;
        return this.#respond(message, { result: {} }, reply);
      case 'tools/list':
        if (faults.occurs('hang-list')) return;
        if (faults.occurs('changed-definition')) this.#definition += 1;
        return this.#respond(message, toolList(this.#definition), reply);
      case 'tools/call':
        return this.#call(message, reply);
      case 'subscriptions/listen':
        return reply.head(200, events);
      default:
        return this.#respond(message, noSuchMethod, reply);
    }
  }

  #greet(message: Request, reply: Reply): void {
    if (this.#world.faults.occurs('http-404')) {
      this.#world.deniedModern.add(this.#model.name);
      reply.head(404);
      return reply.end();
    }
    if (message.method === 'server/discover') {
      return this.#respond(message, discovery(this.#model), reply);
    }
    const answer = greeting(this.#model);
    if (!('result' in answer)) return this.#respond(message, answer, reply);
    this.#lastSession += 1;
    const session = `${this.#model.name}-${this.#lastSession}`;
    this.#sessions.add(session);
    this.#respond(message, answer, reply, { 'mcp-session-id': session });
  }

  #call(message: Request, reply: Reply): void {
    const definition = this.#definition;
    const call = received(this.#world, this.#model, message, { pid: 0, definition });
    executeOver(this.#world, call, reply, (answer) => {
      if (this.#world.faults.occurs('http-503-after-effect')) {
        reply.head(503);
        return reply.end();
      }
      this.#respond(message, answer, reply);
    });
  }

  /** As one body or as a stream of events. */
  #respond(
    { id }: Request,
    answer: Answer,
    reply: Reply,
    headers: Readonly<Record<string, string>> = {},
  ): void {
    const { dice, faults } = this.#world;
    if (dice.chance(0.6)) {
      reply.head(200, { ...headers, ...json });
      const text = JSON.stringify({ jsonrpc: '2.0', id, ...answer });
      const isGarbage = faults.occurs('http-garbage');
      if (isGarbage) this.#world.deniedModern.add(this.#model.name);
      reply.data(isGarbage ? '<html>Gateway</html>' : text);
      return reply.end();
    }
    reply.head(200, { ...headers, ...events });
    if (faults.occurs('stream-end')) return reply.end();
    if (faults.occurs('unknown-id')) reply.data(event({ id: 1_000_000, ...forged }));
    if (faults.occurs('foreign-id')) reply.data(event({ id: foreignForm(id, dice), ...forged }));
    reply.data(event({ id, ...answer }));
    if (faults.occurs('duplicate-answer')) reply.data(event({ id, ...forged }));
    reply.end();
  }
}

function event(message: object): string {
  return `: alive\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
}
