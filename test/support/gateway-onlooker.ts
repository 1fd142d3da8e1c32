// Somebody else: a client that keeps calling while a test does something wrong beside it, and counts
// on being answered rightly every time, on one and the same connection.

import { HttpClient } from './gateway-http-client.ts';

export class Onlooker {
  readonly #client: HttpClient;
  readonly #tool: string;
  readonly #working: Promise<void>;
  #isDone = false;
  #answered = 0;

  constructor(url: string, tool: string) {
    this.#client = new HttpClient(url);
    this.#tool = tool;
    this.#working = this.#work();
    // A failure is kept for `leave`.
    this.#working.catch(() => {});
  }

  /** Ends, and fails if anything was ever wrong. How often it was answered. */
  async leave(): Promise<number> {
    this.#isDone = true;
    try {
      await this.#working;
    } finally {
      this.#client[Symbol.dispose]();
    }
    return this.#answered;
  }

  async #work(): Promise<void> {
    let port: number | undefined;
    while (!this.#isDone) {
      const text = `onlooker ${this.#answered}`;
      const answer = await this.#client.modern('tools/call', {
        name: this.#tool,
        arguments: { text },
      });
      const told = answer.json?.result?.structuredContent?.text;
      if (told !== text) throw new Error(`${answer.status} ${answer.text} instead of "${text}"`);
      port ??= answer.localPort;
      if (answer.localPort !== port) throw new Error('the connection was closed');
      this.#answered += 1;
    }
  }
}
