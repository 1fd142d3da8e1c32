// An instance with a few clients that can bear that it dies: HTTP with a new connection for each request, and a window of
// `connect`. What was under way at a death may fail; nothing may be done twice.

import { join } from 'node:path';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { newFolder } from '../support/sqlite-place.ts';
import { until } from '../support/until.ts';
import { modernClient } from './clients/http.ts';
import { Caller } from './clients/load-client.ts';
import { officialProcess } from './clients/official.ts';
import { History } from './history.ts';
import { type Instance, served } from './instance.ts';
import { Orders } from './orders.ts';
import type { Files } from './world.ts';

export interface LightWorld extends AsyncDisposable {
  readonly home: GatewayHome;
  readonly instance: Instance;
  readonly history: History;
  readonly files: Files;
  /** A call that begins from now on is answered over HTTP. */
  answersAgain(withinMs: number): Promise<void>;
  windowAnswers(): Promise<void>;
  rest(): Promise<void>;
}

const rate = 20;

/** `install`: gives the program that is started, instead of the build. */
export async function lightWorld(
  install?: (home: GatewayHome) => Promise<string>,
): Promise<LightWorld> {
  const folder = newFolder();
  const files = { ledger: join(folder, 'ledger'), starts: new Map<string, string>() };
  const own = { ...faultyStdio({ ledger: files.ledger }), concurrency: 64 };
  const home = await GatewayHome.create({ mcpServers: { own } });
  const instance = await served(home, { main: await install?.(home) });
  const history = new History();
  const http = modernClient('modern, new', instance.url, history, false);
  const window = await officialProcess('window', home, history, ['connect', '--idle-end', '500']);
  // Some long call is nearly always under way: a process that was replaced has something to end.
  const taste = { isAsked: false, longEvery: 8, servers: ['own'] };
  const callers = [http, window].map(
    (one) => new Caller(one, history, new Orders(taste), rate / 2),
  );
  const probe = modernClient('probe', instance.url, history, false);
  const probing = new Orders({ ...taste, longEvery: Number.POSITIVE_INFINITY });
  const answers = async () => {
    try {
      await probe.call(probing.next());
      return true;
    } catch {
      return false;
    }
  };
  const rest = async () => {
    await Promise.all(callers.map((caller) => caller.end()));
  };
  return {
    home,
    instance,
    history,
    files,
    rest,
    answersAgain: (withinMs) => until(answers, 'an answer', withinMs),
    windowAnswers: async () => {
      await rest();
      const answer = (await window.call(probing.next())) as { isError?: boolean };
      if (answer.isError === true) throw new Error(JSON.stringify(answer));
    },
    [Symbol.asyncDispose]: async () => {
      await rest();
      await Promise.all([http, probe, window].map((one) => one[Symbol.asyncDispose]()));
      await instance.started.stop();
      await home.run(['shutdown']);
      await home[Symbol.asyncDispose]();
    },
  };
}
