// A web server that is no MCP server: it answers the status that its path names, with a page for people.

import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface StatusServer extends AsyncDisposable {
  readonly port: number;
}

export async function statusServer(): Promise<StatusServer> {
  const server = createServer(statuses);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Entries of a config for remote servers that cannot be used, each for another reason. */
export function uselessServers({ port }: StatusServer) {
  const address = (path: string) => ({ url: `http://127.0.0.1:${port}/${path}` });
  return {
    login: address('401'),
    missing: address('404'),
    failing: address('500'),
    page: address('200'),
    moved: address('307'),
    refused: { url: 'http://127.0.0.1:9/mcp' },
    unknown: { url: 'http://no-such-host.invalid/mcp' },
    tls: { url: `https://127.0.0.1:${port}/200` },
  };
}

const statuses: RequestListener = (req, res) => {
  const status = Number(req.url?.slice(1));
  const location = { location: 'https://elsewhere.example/mcp' };
  res.writeHead(status, { 'content-type': 'text/html', ...(status === 307 ? location : {}) });
  res.end('<!doctype html><title>a page</title>');
};
