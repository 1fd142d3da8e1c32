// The seats of workers that have asked for something: each is a client of the gateway, which keeps something for it, such
// as servers that it has for itself, until the seat has been left. Of very many the ones that have asked for nothing for
// longest are forgotten here; the gateway keeps fewer, and ends them by itself.

import type { Sender } from '../../broker/contract.ts';

export interface WorkerSeat {
  readonly worker: string;
  readonly seat: string;
  /** By which it has asked, where the broker says it. */
  readonly credential: string | undefined;
  /** The key of the client. */
  readonly client: string;
  /** The id of its principal. */
  readonly owner: string;
}

const maxSeats = 1_024;

export class WorkerSeats {
  /** By client, the one that has asked last at the end; at most `maxSeats`. */
  readonly #seats = new Map<string, WorkerSeat>();

  get all(): readonly WorkerSeat[] {
    return [...this.#seats.values()];
  }

  /** The key of the client in this seat, which asks for something. */
  asks({ mailbox: worker, seat, credential }: Sender, owner: string): string {
    // The next credential of the name is another client, also in the same seat.
    const client =
      credential === undefined ? `${worker}/${seat}` : `${worker}/${credential}/${seat}`;
    this.#seats.delete(client);
    this.#seats.set(client, { worker, seat, credential, client, owner });
    const [oldest] = this.#seats.keys();
    if (this.#seats.size > maxSeats && oldest !== undefined) this.#seats.delete(oldest);
    return client;
  }

  /** They are forgotten. */
  take(isAsked: (seat: WorkerSeat) => boolean): readonly WorkerSeat[] {
    const asked = this.all.filter(isAsked);
    for (const { client } of asked) this.#seats.delete(client);
    return asked;
  }
}
