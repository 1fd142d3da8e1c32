// The only definition of the configuration: names, types, defaults, limits and descriptions. The types,
// the JSON Schema for editors and docs/configuration.md are generated from it (`npm run generate`), and
// no default is set anywhere else. A key is here only when it has an effect. Other files of this folder
// read files, replace variables and word the errors; the entry of a server is in `server-schema.ts`.

import * as z from 'zod';
import { isNatsAddress, natsPlaceIn } from '../nats/nats-address.ts';
import type { Frozen } from './frozen.ts';
import { knownLocalRole, localSchema, rolesSchema } from './role-schema.ts';
import {
  isReserved,
  maxServerNameLength,
  serverNamePattern,
  serverNameRule,
} from './server-name.ts';
import { serverSchema } from './server-schema.ts';

export const configSchema = z
  .strictObject({
    $schema: z.string().optional().describe('The JSON Schema, for editors.'),
    mcpServers: z
      .record(z.string().max(maxServerNameLength).regex(serverNamePattern), serverSchema)
      .superRefine(distinctNames)
      .default({})
      .describe(`The servers, by name: ${serverNameRule}.`),
    naming: z
      .enum(['prefix', 'transparent'])
      .default('prefix')
      .describe(
        '`prefix`: tools and prompts are named server__tool; a name that only one server has may also be called alone. `transparent`: they keep their own names; of two with the same name the later one is refused.',
      ),
    surface: z
      .enum(['direct', 'search'])
      .default('direct')
      .describe(
        '`direct`: every tool is listed. `search`: only search_tools, describe_tool and call_tool are listed.',
      ),
    hostTools: z
      .boolean()
      .default(true)
      .describe("Offer the gateway's own tools: health_snapshot and telemetry_snapshot."),
    maxIdle: z
      .int()
      .min(0)
      .max(65_536)
      .default(16)
      .describe('How many idle connections are kept; the least recently used is closed first.'),
    listWaitMs: z
      .int()
      .min(0)
      .max(600_000)
      .default(10_000)
      .describe(
        'How long, in milliseconds, the first list waits for servers without a stored catalogue; servers that finish later are announced with list_changed.',
      ),
    drainMs: z
      .int()
      .min(0)
      .max(3_600_000)
      .default(10_000)
      .describe(
        'How long, in milliseconds, running calls may take to end when the gateway is shut down; on stdio at most 1500 after a signal. The remaining calls are answered with a fault.',
      ),
    roles: rolesSchema,
    local: localSchema,
    http: z
      .strictObject({
        listen: z
          .string()
          .regex(/^(\[[0-9A-Fa-f:.]+\]|[^:\s[\]]+):\d{1,5}$/)
          .default('127.0.0.1:4100')
          .describe(
            'HOST:PORT to listen on, an IPv6 address in brackets; port 0 chooses a free port.',
          ),
        auth: z
          .enum(['token', 'none'])
          .default('token')
          .describe(
            '`token`: every request needs a bearer token. `none`: no authentication, on a loopback address only.',
          ),
        allowedHosts: z
          .array(z.string().min(1))
          .default([])
          .describe(
            'Host names, besides those of this machine, that requests may use, with or without a port.',
          ),
        allowedOrigins: z
          .array(z.string().min(1))
          .default([])
          .describe(
            'Origins, besides its own, whose pages may use it, such as https://app.example.com; another port of this machine is another origin.',
          ),
      })
      .prefault({})
      .describe('The HTTP endpoint.'),
    cache: z
      .strictObject({
        entriesPerTool: z
          .int()
          .min(0)
          .max(1_000_000)
          .default(64)
          .describe(
            'How many results are cached per tool; the least recently used is removed first.',
          ),
        maxBytes: z
          .int()
          .min(0)
          .max(Number.MAX_SAFE_INTEGER)
          .default(67_108_864)
          .describe('The size of all cached results together, in bytes.'),
      })
      .prefault({})
      .describe('The cache of tool results.'),
    store: z
      .string()
      .superRefine(usableStore)
      .default('sqlite')
      .describe(
        '`sqlite`: what a gateway must not forget, such as used idempotency keys, is kept in a database in the state directory. `memory`: it is lost when the gateway ends. `nats://USER:PASSWORD@HOST:PORT/NAMESPACE` or `tls://…`: it is kept on a NATS server, for all gateways with the same namespace, and so are the tokens with roles; variables in it are replaced.',
      ),
    rollout: z
      .enum(['manual', 'auto'])
      .default('manual')
      .describe(
        '`auto`: `holdfast serve` goes over to another version by itself when the installed files have changed. `manual`: when it is asked to (holdfast rollout, or SIGHUP).',
      ),
    broker: z
      .strictObject({
        url: z
          .string()
          .regex(/^(wss?|nats|tls):\/\//)
          .describe('ws://, wss://, nats:// or tls://HOST:PORT; the last two are a NATS server.'),
        as: z
          .string()
          .regex(/^[a-z0-9][a-z0-9_.-]{0,63}$/)
          .describe('The mailbox of this gateway there; the credential is for this one.'),
        tokenFile: z
          .string()
          .min(1)
          .optional()
          .describe(
            'The file with the credential; HOLDFAST_TOKEN_FILE, if it is set, is used instead.',
          ),
      })
      .nullable()
      .default(null)
      .describe('The broker through which workers on other machines are served.'),
    audit: z
      .enum(['off', 'on', 'required'])
      .default('off')
      .describe(
        '`on`: who called what, and how it ended, is written to a log in the state directory that shows later changes (holdfast audit). `required`: a call also waits until it is written down, and is refused if that fails.',
      ),
    keyFile: z
      .string()
      .min(1)
      .optional()
      .describe(
        'The file with the key of encrypted records and of the audit log; created when it is first needed. Without it: holdfast.key beside the config.',
      ),
    telemetry: z
      .strictObject({
        eventLog: z.boolean().default(true).describe('Write events.jsonl in the state directory.'),
        maxBytes: z
          .int()
          .min(65_536)
          .max(Number.MAX_SAFE_INTEGER)
          .default(8_388_608)
          .describe('Size at which the event log is rotated; one previous file is kept.'),
      })
      .prefault({})
      .describe('The event log.'),
  })
  .superRefine(knownLocalRole);

export type {
  RemoteServerConfig,
  ServerConfig,
  StdioServerConfig,
  ToolConfig,
} from './server-schema.ts';

export type Config = Frozen<Omit<z.output<typeof configSchema>, '$schema'>>;

/** The credential in an address is not repeated in a message. */
function usableStore(store: string, context: z.RefinementCtx): void {
  if (store === 'sqlite' || store === 'memory' || natsPlaceIn(store) !== undefined) return;
  const message = isNatsAddress(store)
    ? 'is not an address that can be used: write nats://HOST:PORT/NAMESPACE, with USER:PASSWORD@ before the host where it is needed; a namespace has 1 to 32 of a-z, 0-9 and "-"'
    : 'must be "sqlite", "memory" or the address of a NATS server, such as "nats://127.0.0.1:4222"';
  context.addIssue({ code: 'custom', message });
}

function distinctNames(servers: Record<string, unknown>, context: z.RefinementCtx): void {
  const seen = new Map<string, string>();
  for (const name of Object.keys(servers)) {
    const twin = seen.get(name.toLowerCase());
    seen.set(name.toLowerCase(), name);
    if (isReserved(name)) {
      context.addIssue({
        code: 'custom',
        path: [name],
        message: "is reserved for the gateway's own tools: choose another name",
      });
    } else if (twin !== undefined) {
      context.addIssue({
        code: 'custom',
        path: [name],
        message: `differs from "${twin}" only in case: choose another name`,
      });
    }
  }
}
