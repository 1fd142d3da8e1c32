// A simulated server of the 2024 transport: one long stream carries everything it says, and its
// first event names the address that takes our messages. When the stream breaks, everything that
// was asked on it is lost, done or not.

import type { HttpRequest } from '../../src/upstream/http/http-client.ts';
import { executeOver, type RemoteServer, type Reply } from './sim-http.ts';
import {
  type Answer,
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

export class SimEventSource implements RemoteServer {
  readonly #world: World;
  readonly #model: ServerModel;
  readonly #streams = new Map<string, Reply>();
  #definition = 1;
  #lastSession = 0;

  constructor(world: World, model: ServerModel) {
    this.#world = world;
    this.#model = model;
  }

  receive(request: HttpRequest, reply: Reply): void {
    const { faults } = this.#world;
    const isPost = request.method === 'POST';
    const stream = this.#streams.get(request.url.searchParams.get('session') ?? '');
    if (faults.occurs('http-503-before-effect')) return settle(reply, 503);
    if (isPost && faults.occurs('http-429')) return settle(reply, 429);
    if (isPost && (stream === undefined || stream.isOver)) return settle(reply, 404);
    if (faults.occurs('http-hang')) return;
    if (stream === undefined) return this.#open(reply);
    const message = JSON.parse(String(request.body)) as Request;
    const isNotification = message.id === undefined;
    // The message is taken whether or not we are told so.
    if (!isNotification || !faults.occurs('http-hang-notification')) settle(reply, 202);
    if (!isNotification) this.#answer(message, stream);
  }

  #open(stream: Reply): void {
    this.#lastSession += 1;
    const session = String(this.#lastSession);
    this.#streams.set(session, stream);
    stream.head(200, { 'content-type': 'text/event-stream' });
    if (!this.#world.faults.occurs('hang-initialize')) {
      stream.data(`event: endpoint\ndata: /messages?session=${session}\n\n`);
    }
    this.#live(stream);
  }

  #live(stream: Reply): void {
    const { clock, dice, faults } = this.#world;
    clock.later(dice.between(1_000, 20_000), () => {
      if (stream.isOver) return;
      if (faults.occurs('stream-end')) return stream.end();
      if (faults.occurs('exit-idle')) return stream.fail('ECONNRESET');
      if (faults.occurs('garbage-line')) stream.data('data: have a nice day\n\n');
      if (faults.occurs('server-request')) say(stream, { id: 'q', method: 'ping' });
      this.#live(stream);
    });
  }

  #answer(message: Request, stream: Reply): void {
    const { faults } = this.#world;
    switch (message.method) {
      case 'initialize':
        if (faults.occurs('hang-initialize')) return;
        return this.#respond(message, greeting(this.#model), stream);
      case 'ping':
        if (faults.occurs('hang-ping')) return;
        return this.#respond(message, { result: {} }, stream);
      case 'tools/list':
        if (faults.occurs('hang-list')) return;
        if (faults.occurs('changed-definition')) this.#definition += 1;
        return this.#respond(message, toolList(this.#definition), stream);
      case 'tools/call':
        return this.#call(message, stream);
      default:
        return this.#respond(message, noSuchMethod, stream);
    }
  }

  #call(message: Request, stream: Reply): void {
    const definition = this.#definition;
    const call = received(this.#world, this.#model, message, { pid: 0, definition });
    executeOver(this.#world, call, stream, (answer) => this.#respond(message, answer, stream));
  }

  #respond({ id }: Request, answer: Answer, stream: Reply): void {
    const { dice, faults } = this.#world;
    if (faults.occurs('unknown-id')) say(stream, { id: 1_000_000, ...forged });
    if (faults.occurs('foreign-id')) say(stream, { id: foreignForm(id, dice), ...forged });
    say(stream, { id, ...answer });
    if (faults.occurs('duplicate-answer')) say(stream, { id, ...forged });
  }
}

function say(stream: Reply, message: object): void {
  stream.data(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
}

function settle(reply: Reply, status: number): void {
  reply.head(status);
  reply.end();
}
