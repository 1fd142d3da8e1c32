// Loaded with `--import` before the gateway, it puts itself between the gateway and its state directory:
// every call on a file in there goes through here and meets the weather of the moment, which is read
// anew from the file named by HOLDFAST_WEATHER. The weather kills the process before, inside or after
// one operation, takes back what was not forced to the disk first (a power cut), or lets operations
// fail. The gateway itself knows nothing of it. A call on the state directory that is not covered ends
// the process with exit code 97 and a line that names it: then this file has to learn that call.

import fs from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { coveredCalls, coveredMethods } from './covered.mjs';
import { Forecast } from './forecast.mjs';
import { Unsynced } from './unsynced.mjs';

// Loads what Node loads only at the first removal, before the calls it uses are covered.
fs.rmSync('/nothing/of/this/name', { force: true });
const real = { ...fs, promises: { ...promises } };
const forecast = new Forecast(process.env.HOLDFAST_WEATHER ?? '', real);
const unsynced = new Unsynced(real, forecast);
/** What is known of a FileHandle in the state directory: its path, whether it is a folder. */
const handles = new WeakMap();
let inFlight = 0;

const handlePrototype = Object.getPrototypeOf(await probeHandle());
const realHandle = Object.fromEntries(
  Object.getOwnPropertyNames(handlePrototype).flatMap((name) => {
    const { value } = Object.getOwnPropertyDescriptor(handlePrototype, name) ?? {};
    return typeof value === 'function' ? [[name, value]] : [];
  }),
);

coverPaths();
coverHandles();
refuseTheRest();
syncBuiltinESMExports();

// --- one operation --------------------------------------------------------------------------

/**
 * Lets an operation meet the weather. `act` does it; `partly(share)` does a part of it, where there is
 * such a thing; `done` tells the book of what is not forced to the disk yet.
 */
async function pass(op, path, { act, partly, done }) {
  if (forecast.isFrozen) return never();
  const failure = forecast.failureOf(op, path);
  if (failure !== undefined) throw failure;
  const strike = forecast.strikeOn(op, path);
  if (strike?.when === 'before') return die(strike, op, path);
  let result;
  inFlight += 1;
  try {
    if (strike?.when === 'inside' && partly !== undefined) strike.part = await partly(strike.share);
    else {
      result = await act();
      done?.(result);
    }
  } finally {
    inFlight -= 1;
  }
  return strike === undefined ? result : die(strike, op, path);
}

/** Waits for what other threads are doing, so that a power cut is one moment; then nothing more happens. */
async function die(strike, op, path) {
  if (strike.isPowerCut) {
    forecast.isFrozen = true;
    while (inFlight > 0) await new Promise((resolve) => setImmediate(resolve));
  }
  const undone = strike.isPowerCut ? unsynced.cut() : [];
  forecast.note({ kind: 'struck', op, path, ...strike, undone });
  process.kill(process.pid, 'SIGKILL');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

function never() {
  return new Promise(() => {});
}

// --- by path --------------------------------------------------------------------------------

function coverPaths() {
  const plain = (name, op) => {
    promises[name] = (path, ...rest) => {
      if (!forecast.isOurs(path)) return real.promises[name](path, ...rest);
      return pass(op, String(path), { act: () => real.promises[name](path, ...rest) });
    };
  };
  for (const name of ['readFile', 'readdir', 'stat', 'lstat', 'access']) plain(name, 'read');
  plain('chmod', 'chmod');
  promises.open = (path, flags, mode) =>
    forecast.isOurs(path) ? open(String(path), flags, mode) : real.promises.open(path, flags, mode);
  promises.mkdir = (path, options) => {
    const act = () => real.promises.mkdir(path, options);
    if (!forecast.isOurs(path)) return act();
    return pass('mkdir', String(path), { act, done: () => unsynced.made(String(path)) });
  };
  promises.rename = (from, to) => {
    const act = () => real.promises.rename(from, to);
    if (!forecast.isOurs(to)) return act();
    const before = unsynced.backup(String(to));
    return pass('rename', String(to), {
      act,
      done: () => unsynced.renamed(String(from), String(to), before),
    });
  };
  for (const name of ['rm', 'unlink']) {
    promises[name] = (path, options) => {
      const act = () => real.promises[name](path, options);
      if (!forecast.isOurs(path)) return act();
      const before = unsynced.backup(String(path));
      return pass('remove', String(path), {
        act,
        done: () => unsynced.removed(String(path), before),
      });
    };
  }
  promises.writeFile = async (path, data, options) => {
    if (!forecast.isOurs(path)) return real.promises.writeFile(path, data, options);
    const { mode, flag } = typeof options === 'object' && options !== null ? options : {};
    const handle = await open(String(path), flag ?? 'w', mode);
    try {
      await handle.writeFile(data);
    } finally {
      await handle.close();
    }
  };
}

async function open(path, flags = 'r', mode = undefined) {
  const isReading = flags === 'r' || flags === fs.constants.O_RDONLY || isReadOnly(flags);
  const existed = real.existsSync(path);
  const handle = await pass(isReading ? 'read' : 'open', path, {
    act: () => real.promises.open(path, flags, mode),
    done: () => {
      if (!existed && !isReading) unsynced.created(path);
      if (!isReading && flags === 'w') unsynced.emptied(path);
    },
  });
  const close = handle.close;
  handle.close = async () => {
    await close();
    await pass('close', path, { act: () => {} });
  };
  handles.set(handle, {
    path,
    isFolder: real.statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false,
  });
  return handle;
}

function isReadOnly(flags) {
  return typeof flags === 'number' && (flags & (fs.constants.O_WRONLY | fs.constants.O_RDWR)) === 0;
}

// --- by handle ------------------------------------------------------------------------------

function coverHandles() {
  const plain = (name, op) => {
    handlePrototype[name] = function (...args) {
      const known = handles.get(this);
      const act = () => realHandle[name].apply(this, args);
      return known === undefined ? act() : pass(op, known.path, { act });
    };
  };
  for (const name of ['read', 'readFile', 'stat']) plain(name, 'read');
  handlePrototype.write = function (data, offset = 0, length = undefined, position = undefined) {
    const known = handles.get(this);
    if (known === undefined) return realHandle.write.call(this, data, offset, length, position);
    if (!Buffer.isBuffer(data)) uncovered('FileHandle.write with a string', known.path);
    const end = length === undefined ? data.length : offset + length;
    return write(this, known.path, data.subarray(offset, end), position);
  };
  handlePrototype.writeFile = async function (data, options) {
    const known = handles.get(this);
    if (known === undefined) return realHandle.writeFile.call(this, data, options);
    const bytes = Buffer.isBuffer(data) ? data : Buffer.from(data);
    for (let at = 0; at < bytes.length; ) {
      at += (await write(this, known.path, bytes.subarray(at))).bytesWritten;
    }
  };
  handlePrototype.truncate = function (size = 0) {
    const known = handles.get(this);
    const act = () => realHandle.truncate.call(this, size);
    if (known === undefined) return act();
    return pass('truncate', known.path, { act, done: () => unsynced.truncated(known.path, size) });
  };
  for (const name of ['datasync', 'sync']) {
    handlePrototype[name] = function () {
      const known = handles.get(this);
      const act = () => realHandle[name].call(this);
      if (known === undefined) return act();
      const op = known.isFolder ? 'folder sync' : 'datasync';
      const done = () =>
        known.isFolder ? unsynced.folderSynced(known.path) : unsynced.synced(known.path);
      return pass(op, known.path, { act, done });
    };
  }
}

function write(handle, path, bytes, position) {
  unsynced.writing(path);
  return pass('write', path, {
    act: () => realHandle.write.call(handle, bytes, 0, bytes.length, position),
    partly: async (share) => {
      const length = Math.min(bytes.length - 1, Math.floor(bytes.length * share));
      if (length > 0) await realHandle.write.call(handle, bytes, 0, length, position);
      return `${length} of ${bytes.length} bytes`;
    },
  });
}

// --- what is not covered ----------------------------------------------------------------------

/** Everything that could change a file and is not covered above must not pass unnoticed. */
function refuseTheRest() {
  const covered = new Set(coveredCalls);
  const changing =
    /^(l?chmod|l?chown|l?utimes|appendFile|copyFile|cp|link|mkdir|mkdtemp|open|rename|rm|rmdir|symlink|truncate|unlink|writeFile|createWriteStream)(Sync)?$/;
  for (const [name, value] of Object.entries(real.promises)) {
    if (typeof value === 'function' && changing.test(name) && !covered.has(name)) {
      promises[name] = guarded(`fs.promises.${name}`, value);
    }
  }
  for (const [name, value] of Object.entries(real)) {
    if (typeof value === 'function' && changing.test(name)) fs[name] = guarded(`fs.${name}`, value);
  }
  const covers = new Set(coveredMethods);
  for (const [name, value] of Object.entries(realHandle)) {
    if (
      !/^(append|chmod|chown|utimes|writev|write|truncate|createWriteStream)/.test(name) ||
      covers.has(name)
    )
      continue;
    handlePrototype[name] = function (...args) {
      const known = handles.get(this);
      if (known !== undefined) uncovered(`FileHandle.${name}`, known.path);
      return value.apply(this, args);
    };
  }
}

function guarded(name, value) {
  return (...args) => {
    const path = args.slice(0, 2).find((argument) => forecast.isOurs(argument));
    // Reading in one piece at the start is no business of the weather.
    if (
      path !== undefined &&
      !forecast.isFrozen &&
      !(name === 'fs.openSync' && (args[1] ?? 'r') === 'r')
    )
      uncovered(name, path);
    return value(...args);
  };
}

function uncovered(name, path) {
  real.writeSync(2, `disk-weather does not cover ${name}, which was called on ${path}\n`);
  process.exit(97);
}

async function probeHandle() {
  const handle = await promises.open(process.execPath, 'r');
  await handle.close();
  return handle;
}
