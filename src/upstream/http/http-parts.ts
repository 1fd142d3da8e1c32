// What a connection to a remote server is created from.

import type { ConnectionParts } from '../server-connection.ts';
import type { HttpClient } from './http-client.ts';

export interface HttpParts extends ConnectionParts {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly http: HttpClient;
}
