// A server as cheap as a shell, whose answers are what is written in files: its tools, and whether it
// speaks the modern era. It notes each of its starts and each probe for its era, so that a test can see
// what the gateway needed it for.

import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startsIn } from '../support/gateway-tiny-server.ts';

const script = `
  echo "$$" >> "$1/starts"
  while IFS= read -r line; do
    id=\${line#*'"id":'}
    id=\${id%%[,\\}]*}
    case $line in
      *'"method":"server/discover"'*) echo probe >> "$1/probes"; IFS= read -r answer < "$1/discover" ;;
      *'"method":"initialize"'*) IFS= read -r answer < "$1/hello" ;;
      *'"method":"tools/list"'*) IFS= read -r answer < "$1/tools" ;;
      *'"method":"tools/call"'*)
        case $line in *'"name":"announce"'*) printf '%s\\n' "$2" ;; esac
        answer='"result":{"content":[{"type":"text","text":"done"}],"resultType":"complete"}' ;;
      *'"method":"ping"'*) answer='"result":{}' ;;
      *'"id":'*) answer='"error":{"code":-32601,"message":"Method not found"}' ;;
      *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,%s}\\n' "$id" "$answer"
  done`;

const changed = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';

export class PaperServer {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder);
    const hello = {
      protocolVersion: '2025-11-25',
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'paper', version: '1' },
    };
    this.#write('hello', `"result":${JSON.stringify(hello)}`);
    this.speak('legacy');
    this.offer([]);
  }

  /** Its entry in a config; another `spec` makes it another server to the gateway. */
  entry(spec: number): object {
    // In a config `${` begins a variable of the config's own.
    const literal = script.replaceAll('${', '$$${');
    const args = ['-c', literal, 'paper', this.#folder, changed];
    return { command: '/bin/sh', args, env: { SPEC: String(spec) }, keepAliveMs: 600_000 };
  }

  speak(era: 'legacy' | 'modern'): void {
    const discovery = {
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: { listChanged: true } },
      resultType: 'complete',
    };
    const answer = era === 'modern' ? `"result":${JSON.stringify(discovery)}` : unknownMethod;
    this.#write('discover', answer);
  }

  /** The tools it lists from now on, each as JSON text. */
  offer(definitions: readonly string[]): void {
    this.#write('tools', `"result":{"tools":[${definitions.join(',')}],"resultType":"complete"}`);
  }

  get starts(): number {
    return startsIn(join(this.#folder, 'starts'));
  }

  get probes(): number {
    return startsIn(join(this.#folder, 'probes'));
  }

  /** In one step, since it may be reading. */
  #write(name: string, text: string): void {
    const file = join(this.#folder, name);
    writeFileSync(`${file}.new`, `${text}\n`);
    renameSync(`${file}.new`, file);
  }
}

const unknownMethod = '"error":{"code":-32601,"message":"Method not found"}';
