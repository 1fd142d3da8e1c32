// The hook of built.mjs, in the thread in which Node resolves modules. A module that is only part of
// the command line's bundle, and not of the library, has no file of its own in the build: it is taken
// from its source, and what it imports in turn is led to the build again.

import { existsSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

const source = new URL('../../src/', import.meta.url).href;
let build = new URL('../../dist/', import.meta.url).href;

export function initialize(folder) {
  if (folder !== null) build = `${pathToFileURL(folder).href}/`;
}

export async function resolve(specifier, context, next) {
  const found = await next(specifier, context);
  if (!found.url.startsWith(source)) return found;
  const [address] = found.url.split('?');
  const url = build + address.slice(source.length).replace(/\.ts$/, '.js');
  if (!existsSync(fileURLToPath(url))) return found;
  return { ...found, url, format: 'module', shortCircuit: true };
}
