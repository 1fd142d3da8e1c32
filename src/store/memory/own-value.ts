// A value as a store in memory holds it: JSON as text and bytes as a copy, so that nobody can change it from outside.

import { isBytes } from '../contract/bytes.ts';
import { jsonText } from '../store.ts';
import { textBytes } from './room.ts';

export type OwnValue = string | Uint8Array;

export function ownValueOf(value: unknown): OwnValue {
  return isBytes(value) ? Uint8Array.from(value) : jsonText(value);
}

export function heldValue(own: OwnValue): unknown {
  return isBytes(own) ? Uint8Array.from(own) : JSON.parse(own);
}

/** What it takes of the room. */
export function roomFor(own: OwnValue): number {
  return isBytes(own) ? own.length : textBytes(own);
}
