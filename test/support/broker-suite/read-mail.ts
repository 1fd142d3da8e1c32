// Mail of one kind as a test sees it: what has come, and a promise for the next.

import type { Link, Mail } from '../../../src/broker/contract.ts';

export class ReadMail {
  readonly all: Mail[] = [];
  #taken = 0;
  #woken: (() => void) | undefined;

  static async of(link: Link, kind: string): Promise<ReadMail> {
    const read = new ReadMail();
    await link.receive(kind, (mail) => {
      read.all.push(mail);
      read.#woken?.();
    });
    return read;
  }

  /** The next that was not taken yet. */
  async next(): Promise<Mail> {
    for (;;) {
      const mail = this.all[this.#taken];
      if (mail !== undefined) {
        this.#taken += 1;
        return mail;
      }
      await new Promise<void>((resolve) => {
        this.#woken = resolve;
      });
    }
  }

  /** The bodies of so many, in their order; each is acknowledged. */
  async texts(count: number): Promise<readonly string[]> {
    const texts: string[] = [];
    while (texts.length < count) {
      const mail = await this.next();
      texts.push(mail.body.toString());
      mail.ack();
    }
    return texts;
  }
}
