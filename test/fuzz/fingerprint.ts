// A number for some bytes (FNV-1a): what is random about the check of an input is thrown with it, so
// that the same input is always checked in the same way.

export function fingerprint(bytes: Buffer): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
