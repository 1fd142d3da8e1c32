// A gateway that is asked wrongly while somebody else uses it: two servers, a client that says the
// wrong things, and an onlooker whose calls must go on all the while. At the end it has nothing to
// report, because what is refused is the client's affair.

import { afterAll, beforeAll, expect } from 'vitest';
import { faultyStdio } from './faulty.ts';
import { GatewayHome } from './gateway-home.ts';
import { HttpClient } from './gateway-http-client.ts';
import { Onlooker } from './gateway-onlooker.ts';
import type { AskOptions } from './http-front.ts';

export interface UnderFire {
  readonly client: HttpClient;
  /** The answer in short: status, code and id. */
  refused(wrong: AskOptions): Promise<string>;
}

/** Call it in a describe block, or at the top of a file. */
export function underFire(): UnderFire {
  const running: { client?: HttpClient; end?: () => Promise<void> } = {};

  beforeAll(async () => {
    const home = await GatewayHome.create({
      mcpServers: {
        files: faultyStdio(),
        docs: faultyStdio({ era: 'legacy' }),
        shy: faultyStdio({ era: 'legacy' }),
      },
    });
    const served = await home.serve();
    const client = new HttpClient(served.url);
    running.client = client;
    await client.modern('tools/list');
    const onlooker = new Onlooker(served.url, 'files__echo');
    running.end = async () => {
      client[Symbol.dispose]();
      const { code, stderr } = await onlooker.leave().then(() => served.stop());
      await home[Symbol.asyncDispose]();
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    };
  });

  afterAll(() => running.end?.());

  const client = () => {
    if (running.client === undefined) throw new Error('the gateway does not run');
    return running.client;
  };
  return {
    get client() {
      return client();
    },
    async refused(wrong) {
      const { status, text, json } = await client().ask(wrong);
      expect(text, 'nothing of our insides').not.toMatch(/\.(?:js|ts):\d|node:|\/dist\/|\/src\//);
      return `${status} ${json?.error?.code} ${JSON.stringify(json?.id)}`;
    },
  };
}
