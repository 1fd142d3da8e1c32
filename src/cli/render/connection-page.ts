// The page that is printed when the gateway listens: its address, its servers, and the config to
// paste into a client. It includes a token that was just created, because this is the only time it
// is shown.

import { noServersText } from '../../config/no-servers.ts';
import { ownIdentity } from '../../host/identity.ts';
import { printableLine } from '../../kernel/printable.ts';
import type { NextSteps } from '../next-step.ts';
import type { Style } from './style.ts';

export interface ConnectionPage {
  /** For a client on this machine. */
  readonly url: string;
  /** The address it actually listens on, as a URL. */
  readonly listensOn: string;
  readonly auth: 'token' | 'none';
  /** The secret of a token that this start created. */
  readonly secret: string | null;
  /** False: it could not be stored, and a restart would create another. */
  readonly isKept: boolean;
  readonly servers: readonly string[];
  /** How many further servers cannot run. */
  readonly disabled: number;
  readonly configFile: string | null;
}

export function connectionPage(
  page: ConnectionPage,
  style: Style,
  steps: NextSteps,
): readonly string[] {
  const { listensOn } = page;
  return [
    `${style('bold', `Holdfast ${ownIdentity().version}`)} listens on ${style('cyan', listensOn)}`,
    ...everywhereLines(page, style),
    steps(serversLine(page)),
    '',
    ...clientConfig(page, style, steps),
  ];
}

/** A wildcard address cannot be used by a client. */
function everywhereLines({ url, listensOn }: ConnectionPage, style: Style): readonly string[] {
  if (url === listensOn) return [];
  return [
    `These are all addresses of this machine. On this machine use ${style('cyan', url)}; on others use`,
    'the address of this machine, or a name that is listed in "http.allowedHosts".',
  ];
}

function serversLine({ servers, disabled, configFile }: ConnectionPage): string {
  if (servers.length === 0) {
    if (disabled === 0) return printableLine(noServersText(configFile));
    return `All servers of the config are disabled (${disabled}); see why with: holdfast status`;
  }
  const names = servers.map((name) => printableLine(name)).join(', ');
  const word = servers.length === 1 ? 'server' : 'servers';
  return `${servers.length} ${word}, started when first used: ${names}`;
}

function clientConfig(page: ConnectionPage, style: Style, steps: NextSteps): readonly string[] {
  const { url, auth, secret } = page;
  const bearer = secret ?? 'YOUR TOKEN';
  const headers =
    auth === 'token' ? [`      "headers": { "Authorization": "Bearer ${bearer}" }`] : [];
  const config = [
    '{',
    '  "mcpServers": {',
    '    "holdfast": {',
    '      "type": "http",',
    `      "url": ${JSON.stringify(url)}${headers.length > 0 ? ',' : ''}`,
    ...headers,
    '    }',
    '  }',
    '}',
  ];
  return [
    style('dim', "Paste this into your client's MCP config:"),
    '',
    ...config,
    '',
    ...tokenWords(page, style).map(steps),
    style('dim', 'Stop with Ctrl-C.'),
  ];
}

function tokenWords({ auth, secret, isKept }: ConnectionPage, style: Style): readonly string[] {
  if (auth === 'none') return [style('dim', 'No token is needed: http.auth is "none".')];
  if (secret !== null && !isKept) {
    return [
      style(
        'yellow',
        'The token is shown only now. It could not be stored: unless the disk works again',
      ),
      style('yellow', 'before this gateway ends, the next start creates another one.'),
    ];
  }
  if (secret !== null) {
    return [style('yellow', 'The token is shown only now; only its hash is stored.')];
  }
  return [
    style('dim', 'A token is shown only when it is made. Add one for a role of the config:'),
    style('dim', '  holdfast token add --role ROLE'),
    style('dim', 'Programs of this user need none: holdfast connect'),
  ];
}
