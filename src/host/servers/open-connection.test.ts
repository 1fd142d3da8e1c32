import { expect, it } from 'vitest';
import { configFromObject } from '../../config/load.ts';
import { Redactor } from '../../kernel/redactor.ts';
import { classWith } from '../connections/client-class.ts';
import { adoptedConnection } from './open-connection.ts';

it.each([undefined, '/home/ann'])(
  'a secret that the process before has read is kept out of what a server writes, in folder %s',
  async (folder) => {
    const entry = { command: 'x', ...(folder && { cwd: 'client' }) };
    const { config } = configFromObject({ mcpServers: { a: entry } }, { baseDir: '/', env: {} });
    const knownSecrets = [{ name: 'TOKEN', value: 'a-secret-of-ann' }];
    const redactor = new Redactor(knownSecrets);
    const server = { name: 'a', config: config.mcpServers['a'], redactor, knownSecrets };
    let shown: string | undefined;
    const parts = {
      outputs: { of: () => ({ write: () => {} }) },
      adoptConnection: async (own: { redactor: typeof redactor }) => {
        shown = own.redactor.text('its token is a-secret-of-ann');
        return {};
      },
    };
    const aim = { era: 'legacy', clients: classWith([]), ...(folder && { folder }) } as const;
    const handed = {} as never;
    await adoptedConnection(server as never, parts as never, aim, {} as never, { handed });
    expect(shown).not.toContain('a-secret-of-ann');
  },
);
