// Where the suite is, and the Node it needs: packages of this folder alone (package.json),
// installed when they are missing, so that a fresh clone can run the tests.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const here = fileURLToPath(new URL('.', import.meta.url));

export const suiteFolder = `${here}node_modules/@modelcontextprotocol/conformance`;
export const suiteProgram = `${suiteFolder}/dist/index.js`;
/** The suite needs Node 22. */
export const suiteNode = `${here}node_modules/node/bin/node`;
/** It is started some fifty times, and is large: its compiled code is kept. */
export const suiteEnv = { NODE_COMPILE_CACHE: `${here}node_modules/.cache/compiled` };

export async function installSuite(): Promise<void> {
  if (existsSync(suiteProgram) && existsSync(suiteNode)) return;
  await promisify(execFile)('npm', ['ci', '--no-audit', '--no-fund', '--prefix', here]);
}
