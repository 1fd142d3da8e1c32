// The messages of one tunnel as they go over the bus: encrypted and authenticated, with keys that only this tunnel has,
// one for each direction, and numbered. Whoever can read or write the subjects of the bus learns how much is sent and
// when, and no more; what was changed, copied from another tunnel, turned around or sent twice is no message.

import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from 'node:crypto';

const algorithm = 'aes-256-gcm';
const numberBytes = 8;
const tagBytes = 16;

/** One end of a tunnel: its replica, and that one's name for the tunnel, which is random and used once. */
export interface TunnelEnd {
  readonly replica: string;
  readonly tunnel: string;
}

/** What both ends of a tunnel know. */
export interface TunnelEnds {
  readonly opener: TunnelEnd;
  readonly acceptor: TunnelEnd;
}

/** `gap`: it comes from the other end, and an earlier one is missing; undefined: it is none of the other end. */
export type OpenedFrame = Buffer | 'gap' | undefined;

/** One end's view of both directions. */
export class SealedFrames {
  readonly #sendKey: Buffer;
  readonly #receiveKey: Buffer;
  #sent = 0;
  #received = 0;

  /** `secret` is that of all replicas. */
  constructor(secret: Buffer, ends: TunnelEnds, own: keyof TunnelEnds) {
    this.#sendKey = keyOf(secret, ends, own);
    this.#receiveKey = keyOf(secret, ends, own === 'opener' ? 'acceptor' : 'opener');
  }

  seal(frame: Buffer): Buffer {
    const iv = ivOf(this.#sent);
    this.#sent += 1;
    const cipher = createCipheriv(algorithm, this.#sendKey, iv);
    const body = [cipher.update(frame), cipher.final()];
    return Buffer.concat([iv.subarray(-numberBytes), ...body, cipher.getAuthTag()]);
  }

  open(sealed: Uint8Array): OpenedFrame {
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
    if (bytes.length < numberBytes + tagBytes) return undefined;
    const number = Number(bytes.readBigUInt64BE(0));
    // One that was sent before is sent by somebody else.
    if (number < this.#received || !Number.isSafeInteger(number)) return undefined;
    const frame = this.#decrypted(bytes, ivOf(number));
    if (frame === undefined) return undefined;
    if (number > this.#received) return 'gap';
    this.#received += 1;
    return frame;
  }

  #decrypted(bytes: Buffer, iv: Buffer): Buffer | undefined {
    const decipher = createDecipheriv(algorithm, this.#receiveKey, iv);
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    try {
      const body = decipher.update(bytes.subarray(numberBytes, -tagBytes));
      return Buffer.concat([body, decipher.final()]);
    } catch {
      return undefined;
    }
  }
}

/** Proves that these words about a tunnel come from one that has the secret. */
export function proofOf(secret: Buffer, words: readonly (string | boolean)[]): string {
  return createHmac('sha256', secret).update(JSON.stringify(words)).digest('base64url');
}

export function isProof(
  secret: Buffer,
  words: readonly (string | boolean)[],
  given: unknown,
): boolean {
  const proof = Buffer.from(proofOf(secret, words));
  const other = Buffer.from(typeof given === 'string' ? given : '');
  return proof.length === other.length && timingSafeEqual(proof, other);
}

/** For what this end sends. */
function keyOf(secret: Buffer, { opener, acceptor }: TunnelEnds, sender: keyof TunnelEnds): Buffer {
  const names = [opener.replica, opener.tunnel, acceptor.replica, acceptor.tunnel];
  return createHmac('sha256', secret)
    .update(JSON.stringify(['frames', sender, ...names]))
    .digest();
}

/** A number is used once with a key. */
function ivOf(number: number): Buffer {
  const iv = Buffer.alloc(12);
  iv.writeBigUInt64BE(BigInt(number), 4);
  return iv;
}
