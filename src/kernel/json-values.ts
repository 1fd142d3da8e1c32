// Type checks for values that were parsed from JSON.

/**
 * An object that is not an array. Read its members through `ownValue` where the key comes from
 * outside.
 */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
