// Reads the arguments of Holdfast's own tools. The caller is usually a model, so a refusal names
// the tool, the argument, the given value and the allowed values, so that the next attempt is
// right. The given value is quoted only if it is short.

import { nearestNames } from '../catalog/nearest-names.ts';
import { isRecord } from '../kernel/json-values.ts';
import { quoted } from './line-words.ts';

export interface Invalid {
  readonly kind: 'invalid';
  /** One line. */
  readonly message: string;
}

export function invalid(tool: string, complaint: string): Invalid {
  return { kind: 'invalid', message: `${tool}: ${complaint}` };
}

/** The members of the arguments, all of them among the known ones. Absent arguments are empty. */
export function argumentMembers(
  tool: string,
  args: unknown,
  known: readonly string[],
): { readonly kind: 'members'; readonly members: Readonly<Record<string, unknown>> } | Invalid {
  if (args === undefined) return { kind: 'members', members: {} };
  if (!isRecord(args)) {
    return invalid(tool, `the arguments must be an object, not ${given(args)}`);
  }
  const strange = Object.keys(args).find((name) => !known.includes(name));
  if (strange !== undefined) return invalid(tool, unknownArgument(strange, known));
  return { kind: 'members', members: { ...args } };
}

export function unknownArgument(name: string, known: readonly string[]): string {
  const near = nearestNames(name, known)[0];
  const hint = near === undefined ? '' : `did you mean ${quoted(near)}? `;
  return `there is no argument ${quoted(name)}; ${hint}it takes ${known.map(quoted).join(', ')}`;
}

/** A value for a sentence: quoted if it is short, otherwise only its kind. */
export function given(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  return typeof value === 'string' ? quoted(value) : String(value);
}
