// The streams in which a mailbox keeps its mail, one for each kind: they are made where they are missing, and those that an
// earlier Holdfast has made get the subjects and limits of this one. What is in them by then has a subject that says less
// than the present ones, and nobody reads it: it stays until its time is over.

import type { Members } from '../../nats/jet-stream-api.ts';
import { BrokerError } from '../broker-error.ts';
import type { JetStream } from './jet-stream.ts';
import { type Keeping, mailConfig, type Owner } from './stream-config.ts';
import { firstKeptSubject, mailStream, ownSubject } from './subjects.ts';

export interface MailStreamsParts {
  readonly jetStream: Pick<
    JetStream,
    'ensureStream' | 'streamNames' | 'streamInfo' | 'updateStream'
  >;
  readonly owner: Owner;
  readonly keeping: Keeping;
  /** For people. */
  readonly report: (text: string) => void;
}

/** A stream of an earlier form. */
interface Earlier {
  readonly kind: string;
  readonly config: Members;
  readonly letters: number;
}

export class MailStreams {
  readonly #parts: MailStreamsParts;

  constructor(parts: MailStreamsParts) {
    this.#parts = parts;
  }

  /** Rejects with a BrokerError. */
  async ensure(kind: string): Promise<void> {
    const { jetStream, owner, keeping } = this.#parts;
    const config = mailConfig(owner, kind, keeping);
    try {
      await jetStream.ensureStream(config);
    } catch (error) {
      if (!(error instanceof BrokerError) || !(await this.#takeOver())) throw error;
      await jetStream.ensureStream(config);
    }
  }

  /**
   * Gives all streams of an earlier form the present one; false if there are none. The present subjects of one overlap
   * with the earlier ones of the others, which a server does not allow: so first all of them get others. Rejects with a
   * BrokerError.
   */
  async #takeOver(): Promise<boolean> {
    const { jetStream, owner, keeping } = this.#parts;
    const all = await this.#earlier();
    for (const { kind, config } of all) {
      const subjects = [this.#between(kind)];
      await jetStream.updateStream(mailStream(kind), { ...config, subjects });
    }
    for (const { kind, config, letters } of all) {
      const { num_replicas: _, ...form } = mailConfig(owner, kind, keeping);
      await jetStream.updateStream(form.name, { ...config, ...form });
      if (letters > 0) this.#say(kind, letters);
    }
    return all.length > 0;
  }

  async #earlier(): Promise<readonly Earlier[]> {
    const { jetStream, owner } = this.#parts;
    const prefix = mailStream('');
    const found: Earlier[] = [];
    for (const name of await jetStream.streamNames()) {
      if (!name.startsWith(prefix)) continue;
      const kind = name.slice(prefix.length);
      const info = await jetStream.streamInfo(name);
      const subjects = JSON.stringify(info.config['subjects']);
      const earlier = [firstKeptSubject(owner.mailbox, kind), this.#between(kind)];
      if (earlier.some((subject) => subjects === JSON.stringify([subject])))
        found.push({ kind, ...info });
    }
    return found;
  }

  /** Nothing is sent there. A process that ends in between leaves it to the next. */
  #between(kind: string): string {
    return ownSubject(this.#parts.owner.mailbox, `earlier.${kind}`);
  }

  #say(kind: string, letters: number): void {
    const { owner, report } = this.#parts;
    report(
      `${letters} ${letters === 1 ? 'letter' : 'letters'} of the kind ${kind} in the mailbox ${owner.mailbox} came from an earlier Holdfast and cannot be read: who waits for an answer has to ask again; they take up room until their time is over, or until: nats stream purge ${mailStream(kind)} --subject '${firstKeptSubject(owner.mailbox, kind)}'`,
    );
  }
}
