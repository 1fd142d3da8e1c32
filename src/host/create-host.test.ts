import { describe, expect, it } from 'vitest';
import { createHost } from './create-host.ts';

describe('a host that is made from options', () => {
  it('refuses keys of a config beside a config file, for nobody could tell which count #live-config', async () => {
    const made = createHost({ configFile: '/nowhere/holdfast.json', mcpServers: {}, maxIdle: 1 });
    await expect(made).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('mcpServers, maxIdle beside it'),
    });
    await using host = await createHost({ mcpServers: {} });
    const applied = host.apply({ configFile: '/nowhere/holdfast.json', maxIdle: 1 });
    await expect(applied).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it.each([5, null, [], 'text', new Map(), () => {}])(
    'refuses %s as its config, also when it runs #live-config',
    async (wrong) => {
      const refused = {
        code: 'invalid_request',
        message: expect.stringContaining('not an object'),
      };
      await expect(createHost(wrong as never)).rejects.toMatchObject(refused);
      await using host = await createHost({ mcpServers: { a: { command: '/bin/a' } } });
      await expect(host.apply(wrong as never)).rejects.toMatchObject(refused);
      expect(host.status().servers).toHaveLength(1);
    },
  );
});
