// A gateway as one of several replicas, where its store is on a NATS server: who it is, its connections to the others,
// and the key that all of them have. The key is in a file that is copied to each machine; only a mark of it goes through
// the store, so that a replica with another key refuses to serve, instead of refusing what clients got elsewhere.

import { createHmac, randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { keyFileOf } from '../../config/config-path.ts';
import type { LoadedConfig } from '../../config/loaded.ts';
import { specHash } from '../../config/spec-hash.ts';
import type { OpenedHost } from '../../host/create-host.ts';
import type { Clock } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import { natsPlaceIn } from '../../nats/nats-address.ts';
import type { HostEvent } from '../../observe/events.ts';
import { BreakerNews } from '../../replicas/breaker-news.ts';
import { ClaimQuestions, type ClaimWord } from '../../replicas/claim-questions.ts';
import { NatsBus } from '../../replicas/nats-bus.ts';
import { Tunnels } from '../../replicas/tunnel/tunnels.ts';
import { keyFrom } from '../../store/key-file.ts';
import { StoreError } from '../../store/store-error.ts';
import { keyMark, keyRecord, markIn, otherKeyRemedy, otherKeyWords } from './replica-key.ts';
import { assertSharedFront } from './safe-start.ts';

/** So long a replica that ends stays, so that a balancer which looks at /readyz notices. */
const noticeMs = 2_000;
/** So often a store is asked for it that could not be read. */
const compareMs = 1_000;

interface ReplicasParts {
  readonly key: Buffer;
  readonly keyFile: string;
  readonly bus: NatsBus;
  readonly namespace: string;
  readonly clock: Clock;
}

export class Replicas implements AsyncDisposable {
  readonly id = randomBytes(8).toString('hex');
  /** 32 bytes, the same at all replicas. */
  readonly key: Buffer;
  readonly tunnels: Tunnels;
  readonly #claims: ClaimQuestions;
  readonly #keyFile: string;
  readonly #clock: Clock;
  readonly #bus: NatsBus;
  readonly #subjects: string;
  /** Resolves when another key is found at the others than here; never where the keys are the same. */
  readonly otherKey: Promise<Fault>;
  #foundOtherKey: (wrong: Fault) => void = () => {};
  #comparing: Disposable | undefined;
  #isEnded = false;
  #news: BreakerNews | undefined;
  #host: OpenedHost | undefined;
  #accept: (connection: Duplex) => void = (connection) => void connection.destroy();

  private constructor({ key, keyFile, bus, namespace, clock }: ReplicasParts) {
    this.key = key;
    this.#keyFile = keyFile;
    this.#bus = bus;
    this.#clock = clock;
    this.#subjects = `hfr.${namespace}`;
    this.otherKey = new Promise((resolve) => {
      this.#foundOtherKey = resolve;
    });
    this.tunnels = new Tunnels({
      bus,
      clock,
      subjects: this.#subjects,
      id: this.id,
      secret: this.keyFor('tunnels'),
      accepted: (connection) => this.#accept(connection),
      caught: (error) => this.#caught(error),
    });
    const { id } = this;
    const secret = this.keyFor('claims');
    this.#claims = new ClaimQuestions({ bus, subjects: this.#subjects, id, secret });
  }

  /** Undefined where the store is not shared. `report` is told what people should know. Throws a Fault. */
  static async open(
    { config, file }: LoadedConfig,
    clock: Clock,
    report: (problem: string) => void = ignored,
  ): Promise<Replicas | undefined> {
    const place = natsPlaceIn(config.store);
    if (place === undefined) return undefined;
    const { keyFile, http } = config;
    assertSharedFront(http, config.store);
    const keyPlace = keyFileOf(keyFile, file) ?? 'holdfast.key';
    const key = await keyFrom(keyPlace).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      throw new Fault('invalid_request', `${why}; set "keyFile" in the config`, {}, error);
    });
    const caught = (error: unknown) => replicas.#caught(error);
    const bus: NatsBus = new NatsBus({ place, clock, caught, report });
    const replicas: Replicas = new Replicas({
      key,
      keyFile: keyPlace,
      bus,
      namespace: place.namespace,
      clock,
    });
    return replicas;
  }

  /** A key for one use, made of the shared one. */
  keyFor(use: 'tunnels' | 'breaker news' | 'sessions' | 'claims'): Buffer {
    return createHmac('sha256', this.key).update(`replicas of holdfast: ${use}`).digest();
  }

  /** Whether this replica runs. Rejects if that cannot be said. */
  isAlive(replica: string): Promise<boolean> {
    return this.tunnels.isAlive(replica);
  }

  /** What that replica knows of a claim of a key. Rejects if that cannot be said. */
  claimAt(replica: string, claim: string): Promise<ClaimWord | 'gone'> {
    return this.#claims.ask(replica, claim);
  }

  /** From now on others are told of the claims of this one. */
  answerClaims(stateOf: (claim: string) => ClaimWord): void {
    this.#claims.answer(stateOf);
  }

  /** The host is there: from now on other replicas are told of its breakers, and it of theirs. Throws a Fault. */
  async join(host: OpenedHost): Promise<void> {
    this.#host = host;
    this.#news = new BreakerNews({
      bus: this.#bus,
      subjects: this.#subjects,
      id: this.id,
      secret: this.keyFor('breaker news'),
      servers: () =>
        host.servers().map(({ config, supervisor }) => ({
          spec: config.type === 'stdio' ? null : specHash(config),
          told: (circuit) => supervisor.breaker.told(circuit),
        })),
      caught: (error) => this.#caught(error),
    });
    const wrong = await this.#compareKeys(host);
    if (wrong instanceof Fault) throw wrong;
    if (wrong === 'unknown') this.#compareLater(host);
  }

  /** An event of a server of this host. */
  heard(event: HostEvent): void {
    if (event.kind !== 'circuit') return;
    const config = this.#host?.get(event.server)?.config;
    if (config === undefined || config.type === 'stdio') return;
    this.#news?.changed(specHash(config), event.circuit);
  }

  /** From now on what other replicas pass on is served by this. */
  serve(accept: (connection: Duplex) => void): void {
    this.#accept = accept;
    this.tunnels.accept();
  }

  /** New work goes to the others. Resolves when a balancer has had time to notice, if there are others. */
  async leave(): Promise<void> {
    this.tunnels.stopAccepting();
    const other = await this.tunnels.connectAny();
    if (other === 'absent') return;
    if (typeof other !== 'string') other.destroy();
    await new Promise<void>((resolve) => void this.#clock.after(noticeMs, resolve));
  }

  /** The store could not be read: as soon as it can be. */
  #compareLater(host: OpenedHost): void {
    if (this.#isEnded) return;
    const compare = async () => {
      const wrong = await this.#compareKeys(host);
      if (wrong instanceof Fault) this.#foundOtherKey(wrong);
      if (wrong === 'unknown') this.#compareLater(host);
    };
    const later = () => void compare().catch((error: unknown) => this.#caught(error));
    this.#comparing = this.#clock.after(compareMs, later, true);
  }

  /** What is wrong; `unknown`: the store cannot be read, and says so itself. */
  async #compareKeys(host: OpenedHost): Promise<Fault | 'same' | 'unknown'> {
    const records = host.records(keyRecord.records, { durability: 'durable' });
    const mark = keyMark(this.key);
    try {
      const put = await records.putIfAbsent(keyRecord.key, { mark });
      if (put.isPut || markIn(put.entry?.value) === mark) return 'same';
    } catch (error) {
      if (error instanceof StoreError) return 'unknown';
      throw error;
    }
    return new Fault('invalid_request', `${otherKeyWords(this.#keyFile)}: ${otherKeyRemedy}`);
  }

  #caught(error: unknown): void {
    this.#host?.defects.caught('another replica', error);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnded = true;
    this.#comparing?.[Symbol.dispose]();
    this.#news?.[Symbol.dispose]();
    this.#claims[Symbol.dispose]();
    this.tunnels[Symbol.dispose]();
    await this.#bus[Symbol.asyncDispose]();
  }
}
