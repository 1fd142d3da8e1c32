// Responses that are too large for one letter. The reply says how many bytes there are and their hash, and the
// worker pulls them in parts, a few at a time, so that a slow worker slows only itself. A reply that announces a
// parcel begins with a zero byte, which no JSON text does.

import { createHash } from 'node:crypto';
import { isRecord } from '../kernel/json-values.ts';

/** Larger responses are pulled; also the length of a part. */
export const partBytes = 256 * 1024;
/** Parts of one answer that a worker asks for ahead. */
export const partsAhead = 8;

export interface Parcel {
  readonly bytes: number;
  readonly sha256: string;
}

export function parcelOf(body: Buffer): Parcel {
  return { bytes: body.length, sha256: createHash('sha256').update(body).digest('hex') };
}

export function parcelReply(parcel: Parcel): Buffer {
  return Buffer.from(`\0${JSON.stringify(parcel)}`);
}

/** Undefined if the reply is a response itself; 'damaged' if it announces something that is no parcel. */
export function parcelIn(reply: Buffer, maxBytes: number): Parcel | 'damaged' | undefined {
  if (reply[0] !== 0) return undefined;
  try {
    const parcel: unknown = JSON.parse(reply.toString('utf8', 1));
    if (!isRecord(parcel)) return 'damaged';
    const { bytes, sha256 } = parcel;
    const isSize =
      Number.isSafeInteger(bytes) && (bytes as number) > 0 && (bytes as number) <= maxBytes;
    if (!isSize || typeof sha256 !== 'string') return 'damaged';
    return { bytes: bytes as number, sha256 };
  } catch {
    return 'damaged';
  }
}

const offsetBytes = 8;
/** Instead of a part: the response is not there any more. */
const gone = 0xffff_ffff_ffff_ffffn;

export function pullBody(offset: number): Buffer {
  const body = Buffer.alloc(offsetBytes);
  body.writeBigUInt64BE(BigInt(offset));
  return body;
}

/** Undefined if it is no place in a response of this size. */
export function pulledOffset(body: Buffer, size: number): number | undefined {
  if (body.length !== offsetBytes) return undefined;
  const offset = body.readBigUInt64BE();
  return offset < BigInt(size) ? Number(offset) : undefined;
}

export function partBody(response: Buffer, offset: number): Buffer {
  return Buffer.concat([pullBody(offset), response.subarray(offset, offset + partBytes)]);
}

export function gonePart(): Buffer {
  const body = Buffer.alloc(offsetBytes);
  body.writeBigUInt64BE(gone);
  return body;
}

export type Part = { readonly offset: number; readonly bytes: Buffer } | 'gone' | 'damaged';

export function partIn(body: Buffer): Part {
  if (body.length < offsetBytes) return 'damaged';
  const offset = body.readBigUInt64BE();
  if (offset === gone) return 'gone';
  if (offset > BigInt(Number.MAX_SAFE_INTEGER)) return 'damaged';
  return { offset: Number(offset), bytes: body.subarray(offsetBytes) };
}
