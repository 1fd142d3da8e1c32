// Seals data that is given to a client and must come back unchanged: the state of a multi-round
// request, the handle of a task. What comes back is untrusted until the seal has been checked; a
// broken one is treated as not ours. A sealed value is unreadable to its holder and different every
// time; a hidden name is the same every time, because clients compare it.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { HiddenNames } from '../../kernel/hidden-name.ts';

const cipher = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

export class Seal {
  readonly names: HiddenNames;
  readonly #key: Buffer;

  /** 32 bytes. */
  constructor(key: Buffer = randomBytes(32)) {
    this.#key = key;
    this.names = new HiddenNames(key);
  }

  close(value: unknown): string {
    const iv = randomBytes(ivBytes);
    const sealing = createCipheriv(cipher, this.#key, iv);
    const text = Buffer.concat([sealing.update(JSON.stringify(value)), sealing.final()]);
    return Buffer.concat([iv, sealing.getAuthTag(), text]).toString('base64url');
  }

  /** Undefined for anything that we have not sealed. */
  open(sealed: string): unknown {
    const bytes = Buffer.from(sealed, 'base64url');
    // Only one spelling is ours: base64 has others for the same bytes.
    if (bytes.length < ivBytes + tagBytes || bytes.toString('base64url') !== sealed)
      return undefined;
    const opening = createDecipheriv(cipher, this.#key, bytes.subarray(0, ivBytes));
    opening.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
    try {
      const text = Buffer.concat([
        opening.update(bytes.subarray(ivBytes + tagBytes)),
        opening.final(),
      ]);
      return JSON.parse(text.toString('utf8'));
    } catch {
      // The tag does not fit: it was changed, or is another instance's.
      return undefined;
    }
  }
}
