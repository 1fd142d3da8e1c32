// The messages of a tunnel, inside of what encrypts and numbers them. Each begins with one byte for its kind.

export type TunnelFrame =
  | { readonly kind: 'data'; readonly bytes: Buffer }
  /** Nothing more comes. */
  | { readonly kind: 'end' }
  /** The other end may send so many bytes more. */
  | { readonly kind: 'credit'; readonly bytes: number }
  | { readonly kind: 'reset' };

const kinds = { data: 0, end: 1, credit: 2, reset: 3 } as const;
const creditBytes = 5;

export function dataFrame(bytes: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(1 + bytes.length);
  frame.writeUInt8(kinds.data, 0);
  frame.set(bytes, 1);
  return frame;
}

export function endFrame(): Buffer {
  return Buffer.from([kinds.end]);
}

export function creditFrame(bytes: number): Buffer {
  const frame = Buffer.allocUnsafe(creditBytes);
  frame.writeUInt8(kinds.credit, 0);
  frame.writeUInt32BE(bytes, 1);
  return frame;
}

export function resetFrame(): Buffer {
  return Buffer.from([kinds.reset]);
}

/** Undefined for anything that is no frame. */
export function readFrame(bytes: Buffer): TunnelFrame | undefined {
  switch (bytes[0]) {
    case kinds.data:
      return { kind: 'data', bytes: bytes.subarray(1) };
    case kinds.end:
      return { kind: 'end' };
    case kinds.reset:
      return { kind: 'reset' };
    case kinds.credit:
      return bytes.length < creditBytes
        ? undefined
        : { kind: 'credit', bytes: bytes.readUInt32BE(1) };
    default:
      return undefined;
  }
}
