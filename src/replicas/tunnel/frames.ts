// The messages of a tunnel. Each begins with one byte for its kind. Data has a number, so that a message which the bus
// has dropped is noticed: the tunnel ends then, because what follows would be another text.

export type TunnelFrame =
  | { readonly kind: 'data'; readonly serial: number; readonly bytes: Buffer }
  /** Nothing more comes; `serial` is that of the next data there would be. */
  | { readonly kind: 'end'; readonly serial: number }
  /** The other end may send so many bytes more. */
  | { readonly kind: 'credit'; readonly bytes: number }
  | { readonly kind: 'reset' };

const kinds = { data: 0, end: 1, credit: 2, reset: 3 } as const;
const headBytes = 5;

export function dataFrame(serial: number, bytes: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(headBytes + bytes.length);
  frame.writeUInt8(kinds.data, 0);
  frame.writeUInt32BE(serial, 1);
  frame.set(bytes, headBytes);
  return frame;
}

export function endFrame(serial: number): Buffer {
  return numbered(kinds.end, serial);
}

export function creditFrame(bytes: number): Buffer {
  return numbered(kinds.credit, bytes);
}

export function resetFrame(): Buffer {
  return Buffer.from([kinds.reset]);
}

/** Undefined for anything that is no frame. */
export function readFrame(body: Uint8Array): TunnelFrame | undefined {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const [kind] = bytes;
  if (kind === kinds.reset) return { kind: 'reset' };
  if (bytes.length < headBytes) return undefined;
  const number = bytes.readUInt32BE(1);
  switch (kind) {
    case kinds.data:
      return { kind: 'data', serial: number, bytes: bytes.subarray(headBytes) };
    case kinds.end:
      return { kind: 'end', serial: number };
    case kinds.credit:
      return { kind: 'credit', bytes: number };
    default:
      return undefined;
  }
}

function numbered(kind: number, number: number): Buffer {
  const frame = Buffer.allocUnsafe(headBytes);
  frame.writeUInt8(kind, 0);
  frame.writeUInt32BE(number, 1);
  return frame;
}
