// Values that are bytes instead of JSON, for payloads: where the records or the log say `takesBytes`. Whoever puts
// bytes gives them away: they may be moved to another thread, and are empty for the caller then.

export function isBytes(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array;
}

/** The same bytes, with the methods of a Buffer. */
export function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
