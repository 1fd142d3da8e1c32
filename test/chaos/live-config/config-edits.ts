// The config of the gateway that listens is edited again and again while clients call. Each edit has to be
// taken over; one that is no config changes nothing, and the gateway says so. Meanwhile calls go to servers
// that no edit concerns: the checker says whether one of them failed, or met another process.

import type { Dice } from '../../support/dice.ts';
import { until } from '../../support/until.ts';
import { pauseMs } from '../client.ts';
import { HttpClient } from '../client-http.ts';
import type { Fleet } from '../fleet.ts';
import { History } from '../history.ts';
import type { Order } from '../order.ts';
import { veiledTool } from '../servers.ts';
import type { Tally } from '../tally.ts';
import { type Edition, manners } from './config-file.ts';

export interface ConfigEditsOptions {
  /** Of the storm. */
  readonly name: string;
  readonly fleet: Fleet;
  readonly dice: Dice;
  readonly tally: Tally;
  readonly isOver: AbortSignal;
}

const plain: Edition = { hasGuest: true, isLimited: false, isVeiled: false };
/** Two for each of those that no edit concerns, so that it is in use nearly all the time. */
const called = ['still', 'still', 'limited', 'limited', 'veiled', 'veiled', 'guest'];
const patienceMs = 60_000;
/** A gateway looks at a file that nobody tells of every five seconds. */
const takenOverMs = 30_000;

export class ConfigEdits {
  readonly #options: ConfigEditsOptions;
  readonly #client: HttpClient;
  /** Callers that have been answered; as many as there are. */
  readonly #served = new Set<number>();
  #edition = plain;
  #isDone = false;

  constructor(options: ConfigEditsOptions) {
    this.#options = options;
    this.#client = this.#newClient('edits');
  }

  async run(): Promise<void> {
    const { dice, isOver, fleet } = this.#options;
    const calling = called.map((server, at) => this.#calls(server, at + 1));
    while (!isOver.aborted) {
      await pauseMs(dice.between(50, 800));
      if (!isOver.aborted) await this.#edit(this.#next());
      if (!isOver.aborted && dice.chance(0.25)) await fleet.config.alone(() => this.#spoil());
    }
    // However slow the machine is: at least these edits meet calls that run.
    await until(() => this.#served.size === called.length, 'an answer to each', patienceMs).catch(
      ({ message }: Error) => fleet.report(`[live-config] ${message}`),
    );
    await this.#edit({ ...this.#edition, hasGuest: !this.#edition.hasGuest });
    await this.#edit(plain, 'renamed');
    this.#isDone = true;
    await Promise.all(calling);
    await this.#client.leave(patienceMs);
  }

  async #edit(edition: Edition, manner = this.#options.dice.pick(manners)): Promise<void> {
    const { dice, fleet, tally } = this.#options;
    this.#edition = edition;
    const { config } = fleet;
    const write = () => config.write(edition, manner, dice.between(10, 300));
    if (manner !== 'through a link') await config.alone(write);
    else {
      const link = async () => {
        await write();
        await this.#takenOver(manner);
        await config.write(edition, 'renamed', 0);
      };
      await config.alone(() => config.inPlace(link));
    }
    await this.#takenOver(manner);
    tally.happened(`config ${manner}`);
  }

  /** The gateway says that it does not take it over; everything is as before. */
  async #spoil(): Promise<void> {
    const { dice, fleet, tally } = this.#options;
    const refusals = () => fleet.gateway.complaints.split('is not taken over').length;
    const before = refusals();
    fleet.config.spoil(dice.chance(0.5), this.#edition);
    await until(() => refusals() > before, 'a refusal of the config', takenOverMs).catch(
      ({ message }: Error) => fleet.report(`[live-config] ${message}`),
    );
    if (!(await this.#isInUse())) {
      fleet.report('[live-config] a config that cannot be used has changed something');
    }
    await fleet.config.write(this.#edition, 'renamed', 0);
    tally.happened('config that is none');
  }

  #next(): Edition {
    const { hasGuest, isLimited, isVeiled } = this.#edition;
    const changes = [
      { hasGuest: !hasGuest },
      { isLimited: !isLimited, isVeiled: !isVeiled },
      { isVeiled: !isVeiled },
    ];
    return { ...this.#edition, ...this.#options.dice.pick(changes) };
  }

  async #takenOver(manner: string): Promise<void> {
    const what = `an edit (${manner}) to be taken over: ${JSON.stringify(this.#edition)}`;
    await until(() => this.#isInUse(), what, takenOverMs).catch(({ message }: Error) =>
      this.#options.fleet.report(`[live-config] ${message}`),
    );
  }

  /** What clients can see of the config is as it was written. */
  async #isInUse(): Promise<boolean> {
    const isThere = async (server: string, tool: Order['tool']) =>
      (await this.#client.call({ server, tool, args: {} }))?.kind === 'result';
    const { hasGuest, isVeiled } = this.#edition;
    const isGuest = await isThere('guest', 'echo');
    const isShown = await isThere('veiled', veiledTool);
    return isGuest === hasGuest && isShown === !isVeiled;
  }

  /** Calls to one of them, one soon after the other. */
  async #calls(server: string, number: number): Promise<void> {
    const { dice } = this.#options;
    const client = this.#newClient(`${server}-${number}`);
    await client.open();
    const own = dice.of(`calls-${number}`);
    while (!this.#isDone) {
      const tool = own.pick(['add', 'set', 'slow', 'slow', 'slow'] as const);
      const ms = own.between(50, 400);
      await client.call({ server, tool, args: tool === 'slow' ? { ms } : {} });
      this.#served.add(number);
      await pauseMs(own.between(0, 100));
    }
    await client.leave(patienceMs);
  }

  #newClient(what: string): HttpClient {
    const { fleet, name, tally } = this.#options;
    const history = new History(fleet.folder, `${name}-${what}`);
    return new HttpClient({ url: fleet.gateway.url, era: 'modern', history, tally });
  }
}
