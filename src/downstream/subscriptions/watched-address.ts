// Is an updated resource one that is watched? A server may name a part of what was subscribed to, so
// an address below the watched one counts, but not one that merely begins with the same letters.

export function isWithin(uri: string, watched: string): boolean {
  if (!uri.startsWith(watched)) return false;
  const next = uri.charAt(watched.length);
  return next === '' || watched.endsWith('/') || next === '/' || next === '?' || next === '#';
}
