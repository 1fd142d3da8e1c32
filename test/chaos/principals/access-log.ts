// What the driver did to roles and tokens, and when, for the checker: each change has a line before it is
// begun and one when it is known to be in use. Between the two either may be the case.

import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { monotonicMs } from '../history.ts';
import { type Edition, rolesOf } from './editions.ts';

export class AccessLog {
  readonly #file: string;

  constructor(folder: string) {
    this.#file = join(folder, 'access.jsonl');
  }

  roles(phase: 'writing' | 'in use', edition: Edition): void {
    const rows = Object.entries(rolesOf(edition)).map(([name, { may }]) => [name, may]);
    this.#write({ event: 'roles', phase, roles: Object.fromEntries(rows) });
  }

  token(phase: 'added' | 'revoking' | 'revoked' | 'over', token: string, role: string): void {
    this.#write({ event: 'token', phase, token, role });
  }

  #write(facts: object): void {
    appendFileSync(this.#file, `${JSON.stringify({ t: monotonicMs(), ...facts })}\n`);
  }
}
