// The token of the local user: printed once, by the start that made it. From then on it is accepted
// after every restart, no other is made, and nothing else is accepted. A token whose maker was killed
// before it could print it is known to nobody; its user removes it, as the connection page says.

import type { Dice } from '../../support/dice.ts';
import type { CrashHome, Listening } from '../home.ts';
import { concerns, type Encounter, replacements, type Subject, type Violation } from './subject.ts';

export class TokensSubject implements Subject {
  readonly name = 'tokens';
  readonly under = ['store/tokens'];
  readonly isAtStart = true;
  readonly moments = replacements(1);
  readonly #home: CrashHome;
  readonly #revoked: string[] = [];
  #secret: string | null = null;
  #isUnknown = false;
  #second: Violation[] = [];

  constructor(home: CrashHome) {
    this.#home = home;
  }

  servers() {
    return {};
  }

  /** What to send; null while nobody can know it. */
  get secret(): string | null {
    return this.#secret;
  }

  /** A token was made and its maker killed before it was seen. */
  get isUnknown(): boolean {
    return this.#isUnknown;
  }

  prepare(dice: Dice): void {
    this.#home.wipe(dice.chance(0.3) ? '' : 'store/tokens');
  }

  forget(part: string): void {
    if (!concerns(this.under, part)) return;
    if (this.#secret !== null) this.#revoked.push(this.#secret);
    this.#secret = null;
    this.#isUnknown = false;
  }

  begin(): void {}

  /** Takes up what the start has printed. */
  heard({ token }: Listening): void {
    if (token !== null && this.#secret !== null) {
      const text = 'a second token was made and printed; the first was to be kept';
      this.#second = [{ wrong: 'lost', text }];
    }
    if (token !== null) this.#secret = token;
    this.#isUnknown = this.#secret === null;
  }

  async check({ client }: Encounter): Promise<readonly Violation[]> {
    const found = this.#second;
    this.#second = [];
    const secret = this.#secret;
    if (secret !== null) {
      const { status } = await client.ask('server/discover', {}, secret);
      if (status === 401) found.push({ wrong: 'lost', text: 'the printed token is not accepted' });
    }
    for (const wrong of [...this.#revoked.slice(-2), 'hf_', `${secret}x`]) {
      const { status } = await client.ask('server/discover', {}, wrong);
      if (status !== 401) found.push({ wrong: 'phantom', text: `${wrong} is accepted` });
    }
    return found;
  }

  /** It is written by the start alone. */
  async act(): Promise<readonly Violation[]> {
    return [];
  }

  examine(): readonly Violation[] {
    return [];
  }
}
