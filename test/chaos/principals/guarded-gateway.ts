// A gateway that asks for tokens, with roles in its config: its tokens are added and revoked by the command
// line, its config is edited, and the driver knows when an edit is in use, because a role of its own is another
// one in each.

import { renameSync, writeFileSync } from 'node:fs';
import { request } from 'undici';
import { until } from '../../support/until.ts';
import { pauseMs } from '../client.ts';
import { modernHeaders, requestFrame } from '../dialects.ts';
import { configOf, configure, Gateway, type GatewayHome, printed } from '../gateway.ts';
import { principalEnds } from '../servers.ts';
import { AccessLog } from './access-log.ts';
import { type Edition, firstEdition, probed, rolesInConfig, spenderName } from './editions.ts';

export interface Token {
  readonly name: string;
  readonly role: string;
  readonly secret: string;
}

/** A gateway looks at a file that nobody tells of every five seconds. */
const inUseMs = 30_000;
/** So soon everything of a token ends when it is revoked. */
const graceMs = 1000;

export class GuardedGateway {
  readonly gateway: Gateway;
  readonly #home: GatewayHome;
  readonly #configFile: string;
  readonly #servers: object;
  readonly #log: AccessLog;
  #edition = firstEdition;
  #probe: Token | undefined;
  #spender: Token | undefined;

  private constructor(
    home: GatewayHome,
    configFile: string,
    servers: object,
    gateway: Gateway,
    log: AccessLog,
  ) {
    this.#home = home;
    this.#configFile = configFile;
    this.#servers = servers;
    this.gateway = gateway;
    this.#log = log;
  }

  static async start(run: GatewayHome, servers: object): Promise<GuardedGateway> {
    const home = { ...run, state: 'state-principals' };
    const configFile = configure(home, 'principals', servers, settingsOf(firstEdition));
    const log = new AccessLog(home.folder);
    log.roles('writing', firstEdition);
    const gateway = await Gateway.start(home, configFile, principalEnds);
    log.roles('in use', firstEdition);
    const guarded = new GuardedGateway(home, configFile, servers, gateway, log);
    try {
      guarded.#probe = await guarded.add('probe', 'probe');
      guarded.#spender = await guarded.add(spenderName, 'spender');
    } catch (error) {
      await gateway.stop();
      throw error;
    }
    return guarded;
  }

  get edition(): Edition {
    return this.#edition;
  }

  /** A token that is accepted. */
  async add(name: string, role: string): Promise<Token> {
    const words = ['token', 'add', '--role', role, '--name', name, '--json'];
    const said = await printed(this.#home, [...words, '--config', this.#configFile]);
    const token = { name, role, secret: (JSON.parse(said) as { token: string }).token };
    const isAccepted = async () => (await this.#listed(token)) !== undefined;
    await until(isAccepted, `the token ${name} to be accepted`, inUseMs);
    this.#log.token('added', name, role);
    return token;
  }

  /**
   * Resolves a second later, and when a token that was added then is accepted: the gateway has read its tokens again. On a
   * busy machine that takes longer.
   */
  async revoke({ name, role }: Token): Promise<void> {
    this.#log.token('revoking', name, role);
    await printed(this.#home, ['token', 'revoke', name, '--config', this.#configFile]);
    this.#log.token('revoked', name, role);
    await pauseMs(graceMs);
    await this.add(`${name}-after`, 'probe');
    this.#log.token('over', name, role);
  }

  /** The one whose calls are counted. */
  get spender(): Token {
    if (this.#spender === undefined) throw new Error('there is no token to spend with');
    return this.#spender;
  }

  get #prober(): Token {
    if (this.#probe === undefined) throw new Error('there is no token to look with');
    return this.#probe;
  }

  /** Writes other roles; resolves when they are in use. */
  async edit(change: Partial<Edition>): Promise<void> {
    const edition = { ...this.#edition, ...change, number: this.#edition.number + 1 };
    this.#edition = edition;
    this.#log.roles('writing', edition);
    const draft = `${this.#configFile}.new`;
    const config = configOf(this.#servers, settingsOf(edition));
    writeFileSync(draft, JSON.stringify(config, null, 2));
    renameSync(draft, this.#configFile);
    const shown = probed(edition.number).replace('/', '__');
    const isInUse = async () => (await this.#listed(this.#prober))?.includes(shown) === true;
    await until(isInUse, `edition ${edition.number} of the roles to be in use`, inUseMs);
    this.#log.roles('in use', edition);
  }

  /** The names of the tools that it sees; undefined if the token is not accepted. */
  async #listed({ secret }: Token): Promise<readonly string[] | undefined> {
    // Its serving process may be killed at this moment.
    const answer = await request(this.gateway.url, {
      method: 'POST',
      headers: { ...modernHeaders('tools/list'), authorization: `Bearer ${secret}` },
      body: requestFrame('modern', 1, 'tools/list'),
      reset: true,
    }).catch(() => undefined);
    if (answer === undefined) return undefined;
    const { body, statusCode } = answer;
    if (statusCode !== 200) return await body.dump().then(() => undefined);
    const told = await body.json().catch(() => undefined);
    const { result } = (told ?? {}) as { result?: { tools: { name: string }[] } };
    return result?.tools.map(({ name }) => name);
  }
}

function settingsOf(edition: Edition): object {
  return { http: { auth: 'token' }, roles: rolesInConfig(edition) };
}
