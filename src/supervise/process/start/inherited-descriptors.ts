// Descriptors that whoever started this program had open, and that it was not meant to have: a shell, a
// terminal or an editor leaves files, pipes and sockets open by mistake, and every process below would get
// them. Node itself keeps only the first ones, up to 15, from its children. The others are closed here, when
// the program starts: everything that Node opens for itself is closed on exec, so what is not is inherited.
// Where there is no /proc nothing is known about them, and nothing is closed.

import { closeSync, readdirSync, readFileSync } from 'node:fs';

export interface StartedProgram {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

const lastStandard = 2;
/** O_CLOEXEC of Linux, the same on all its machines that Node runs on. */
const closedOnExec = 0o2_000_000;
/** `<(command)` of a shell is such a path. */
const descriptorPath = /\/(?:dev|proc\/(?:self|thread-self|\d+))\/fd\/(\d+)/g;

export interface DescriptorParts {
  /** Another place for /proc/self. */
  readonly folder?: string;
  readonly close?: (descriptor: number) => void;
}

/** For a process of our own only: in the program of somebody else, they may be in use. */
export function closeInheritedDescriptors(
  { argv, env }: StartedProgram,
  { folder = '/proc/self', close = closeSync }: DescriptorParts = {},
): void {
  const words = [...argv, env['HOLDFAST_CONFIG'] ?? ''];
  const named = new Set(
    words.flatMap((word) => [...word.matchAll(descriptorPath)].map(([, number]) => Number(number))),
  );
  for (const descriptor of openDescriptors(folder)) {
    if (descriptor <= lastStandard || named.has(descriptor)) continue;
    if (!isInherited(folder, descriptor)) continue;
    try {
      close(descriptor);
    } catch {
      // A disk that fails says so once more; it is closed all the same.
    }
  }
}

/** As many steps as there are open ones, however high their numbers are. */
function openDescriptors(folder: string): readonly number[] {
  try {
    return readdirSync(`${folder}/fd`).map(Number);
  } catch {
    return [];
  }
}

function isInherited(folder: string, descriptor: number): boolean {
  try {
    const facts = readFileSync(`${folder}/fdinfo/${descriptor}`, 'latin1');
    const flags = /^flags:\s*([0-7]+)$/m.exec(facts)?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & closedOnExec) === 0;
  } catch {
    // The one with which they were listed.
    return false;
  }
}
