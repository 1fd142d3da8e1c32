// Which build the tests run: dist/, or the folder that HOLDFAST_BUILD names. A test that was written
// for a defect is run once against the build from before the repair, and has to fail there.

import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const buildFolder = resolve(
  process.env['HOLDFAST_BUILD'] ?? fileURLToPath(new URL('../../dist', import.meta.url)),
);

/** A module of the library, for a program that imports it. */
export function builtModule(path: string): string {
  return pathToFileURL(resolve(buildFolder, path)).href;
}

/** The command `holdfast`. */
export const mainProgram = resolve(buildFolder, 'cli/main.js');
