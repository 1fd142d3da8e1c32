// Who sends: nobody with a token, somebody with a wrong one, and a client for each token that there is, with a legacy
// session and a stream of 2024, so that requests of both find somebody at home.

import type { Dice } from '../support/dice.ts';
import type { HttpClient, LegacyClient } from '../support/gateway-http-client.ts';
import type { Streaming } from '../support/http-front.ts';
import type { Sender } from './attempts.ts';
import type { Who, World } from './world.ts';

class Known implements Sender, Disposable {
  readonly token: string;
  readonly client: HttpClient;
  readonly #stream: Streaming;
  readonly messages: string;
  legacy: LegacyClient;

  constructor(
    token: string,
    client: HttpClient,
    stream: Streaming,
    legacy: LegacyClient,
    messages: string,
  ) {
    this.token = token;
    this.client = client;
    this.#stream = stream;
    this.legacy = legacy;
    this.messages = messages;
  }

  static async open(world: World, url: string, who: Who): Promise<Known> {
    const client = world.client({ url }, who);
    const accept = { accept: 'text/event-stream' };
    const stream = await client.open({ method: 'GET', path: '/sse', headers: accept });
    const { data = '' } = await stream.next();
    return new Known(world.tokenOf(who), client, stream, await client.session(), data);
  }

  get session(): string {
    return this.legacy.id;
  }

  [Symbol.dispose](): void {
    this.#stream.drop();
    this.client[Symbol.dispose]();
  }
}

const nobody: Sender = { token: undefined, session: undefined, messages: undefined };
const wrong: Sender = { ...nobody, token: `hf_${'x'.repeat(43)}` };

export class Senders implements AsyncDisposable {
  readonly #known: readonly Known[];

  private constructor(known: readonly Known[]) {
    this.#known = known;
  }

  static async open(world: World, url: string): Promise<Senders> {
    const who: readonly Who[] = ['little', 'all', 'local'];
    return new Senders(await Promise.all(who.map((one) => Known.open(world, url, one))));
  }

  one(dice: Dice): Sender {
    if (dice.chance(0.15)) return nobody;
    return dice.chance(0.03) ? wrong : dice.pick(this.#known);
  }

  /** A session that a request has begun. */
  async close(sender: Sender, session: string): Promise<void> {
    const client = this.#of(sender)?.client;
    await client?.ask({ method: 'DELETE', headers: { 'mcp-session-id': session } });
  }

  /** Its session may have been ended by a request. */
  async renew(sender: Sender): Promise<void> {
    const known = this.#of(sender);
    if (known === undefined) return;
    const { status } = await known.legacy.ask('ping');
    if (status === 404) known.legacy = await known.client.session();
  }

  #of(sender: Sender): Known | undefined {
    return this.#known.find((one) => one === sender);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#known) {
      await one.legacy.delete();
      one[Symbol.dispose]();
    }
  }
}
