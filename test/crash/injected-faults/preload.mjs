// Loaded with `--import` before the gateway, it replaces Node's file functions for the state directory: every
// call on a file in there is checked against the fault plan, which is read again each time from the file named
// by HOLDFAST_TEST_FAULT_PLAN. The plan can kill the process before, inside or after one operation, undo what
// was not forced to the disk first (a power cut), or let operations fail. The gateway itself has no code for
// this. A call on the state directory that is not covered ends the process with exit code 97 and a line that
// names it: then that call has to be added here.

import fs from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { coveredCalls, coveredMethods } from './covered.mjs';
import { CurrentPlan } from './current-plan.mjs';
import { Unsynced } from './unsynced.mjs';

// Loads what Node loads only at the first removal, before the calls it uses are covered.
fs.rmSync('/nothing/of/this/name', { force: true });
const real = { ...fs, promises: { ...promises } };
const plan = new CurrentPlan(process.env.HOLDFAST_TEST_FAULT_PLAN ?? '', real);
const unsynced = new Unsynced(real, plan);
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
 * Applies the fault plan to an operation. `act` does it; `partly(share)` does a part of it, where there is
 * such a thing; `done` tells the book of what is not forced to the disk yet.
 */
async function pass(op, path, { act, partly, done }) {
  if (plan.isFrozen) return never();
  const failure = plan.failureOf(op, path);
  if (failure !== undefined) throw failure;
  const strike = plan.strikeOn(op, path);
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
    plan.isFrozen = true;
    while (inFlight > 0) await new Promise((resolve) => setImmediate(resolve));
  }
  const undone = strike.isPowerCut ? unsynced.cut() : [];
  plan.note({ kind: 'struck', op, path, ...strike, undone });
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
      if (!plan.isOurs(path)) return real.promises[name](path, ...rest);
      return pass(op, String(path), { act: () => real.promises[name](path, ...rest) });
    };
  };
  for (const name of ['readFile', 'readdir', 'readlink', 'stat', 'lstat', 'access'])
    plain(name, 'read');
  plain('chmod', 'chmod');
  promises.open = (path, flags, mode) =>
    plan.isOurs(path) ? open(String(path), flags, mode) : real.promises.open(path, flags, mode);
  promises.mkdir = (path, options) => {
    const act = () => real.promises.mkdir(path, options);
    if (!plan.isOurs(path)) return act();
    return pass('mkdir', String(path), { act, done: () => unsynced.made(String(path)) });
  };
  promises.rename = (from, to) => {
    const act = () => real.promises.rename(from, to);
    if (!plan.isOurs(to)) return act();
    const before = unsynced.backup(String(to));
    return pass('rename', String(to), {
      act,
      done: () => unsynced.renamed(String(from), String(to), before),
    });
  };
  for (const name of ['link', 'symlink']) {
    promises[name] = (from, to) => {
      const act = () => real.promises[name](from, to);
      if (!plan.isOurs(to)) return act();
      return pass('rename', String(to), { act, done: () => unsynced.created(String(to)) });
    };
  }
  for (const name of ['rm', 'unlink']) {
    promises[name] = (path, options) => {
      const act = () => real.promises[name](path, options);
      if (!plan.isOurs(path)) return act();
      const before = unsynced.backup(String(path));
      return pass('remove', String(path), {
        act,
        done: () => unsynced.removed(String(path), before),
      });
    };
  }
  promises.writeFile = async (path, data, options) => {
    if (!plan.isOurs(path)) return real.promises.writeFile(path, data, options);
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
    const path = args.slice(0, 2).find((argument) => plan.isOurs(argument));
    // Reading in one piece at the start is not subject to faults.
    if (
      path !== undefined &&
      !plan.isFrozen &&
      !(name === 'fs.openSync' && (args[1] ?? 'r') === 'r')
    )
      uncovered(name, path);
    return value(...args);
  };
}

function uncovered(name, path) {
  real.writeSync(2, `fault injection does not cover ${name}, which was called on ${path}\n`);
  process.exit(97);
}

async function probeHandle() {
  const handle = await promises.open(process.execPath, 'r');
  await handle.close();
  return handle;
}
