// Completes package-lock.json for every platform. A registry mirror may hold the binaries of one
// platform only; npm then leaves the others out of the lock file, and `npm ci` refuses it. Their
// names, versions and platforms are known from the packages that ask for them, so the missing
// entries are written here, and download addresses are taken out. Run it after `npm install`, in the
// folder of the lock file.

import { readFileSync, writeFileSync } from 'node:fs';

interface Entry {
  version?: string;
  resolved?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  optionalDependencies?: Record<string, string>;
}

const file = 'package-lock.json';
const lock = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, Entry> };
const systems = [
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'aix',
  'win32',
];
const processors = [
  'arm64',
  'arm',
  'ia32',
  'loong64',
  'mips64el',
  'ppc64',
  'riscv64',
  's390x',
  'x64',
  'wasm32',
];
const otherNames: Readonly<Record<string, string>> = { windows: 'win32', amd64: 'x64' };
let added = 0;

for (const [asking, entry] of Object.entries(lock.packages)) {
  delete entry.resolved;
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (!/^\d/.test(version)) continue;
    const place = placeFor(name, version, asking);
    if (place === undefined) continue;
    const words = name.split(/[/-]/).map((word) => otherNames[word] ?? word);
    const os = systems.filter((system) => words.includes(system));
    const cpu = processors.filter((processor) => words.includes(processor));
    // One that is not bound to a platform has to be there for real.
    if (os.length + cpu.length === 0) continue;
    lock.packages[place] = {
      version,
      ...(entry.dev ? { dev: true } : {}),
      optional: true,
      ...(os.length > 0 ? { os } : {}),
      ...(cpu.length > 0 ? { cpu } : {}),
    };
    added += 1;
  }
}

/** Where a package is to be entered: at the top, or below the one that asks if that is taken. */
function placeFor(name: string, version: string, asking: string): string | undefined {
  const folders = asking.split('/node_modules/').map((_, depth, parts) => {
    return parts.slice(0, parts.length - depth).join('/node_modules/');
  });
  for (const folder of [...folders, '']) {
    const found = lock.packages[`${folder && `${folder}/`}node_modules/${name}`];
    if (found === undefined) continue;
    return found.version === version ? undefined : `${asking}/node_modules/${name}`;
  }
  return `node_modules/${name}`;
}

const sorted = Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1));
writeFileSync(
  file,
  `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`,
);
console.log(`${added} entries added to ${file}`);
