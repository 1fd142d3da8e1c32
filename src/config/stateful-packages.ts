// Servers that are known to keep state for one client: a browser with its pages, a terminal, a debugger. Two
// clients that share one would see and disturb each other's. Nothing in MCP says so, so that the packages
// are listed here; for them `isolation` is `client` unless the config says otherwise.

const packages: ReadonlySet<string> = new Set([
  // Browsers.
  '@playwright/mcp',
  '@executeautomation/playwright-mcp-server',
  '@modelcontextprotocol/server-puppeteer',
  '@browsermcp/mcp',
  'chrome-devtools-mcp',
  // Devices, desktops and terminals.
  '@mobilenext/mobile-mcp',
  '@wonderwhy-er/desktop-commander',
]);

/** For the documentation. */
export const statefulPackages: readonly string[] = [...packages];

/** The package of this command line that is listed; undefined if there is none. */
export function statefulPackageIn(command: string, args: readonly unknown[]): string | undefined {
  return [command, ...args].map(packageOf).find((name) => packages.has(name));
}

/** `@scope/name@1.2.3` and a path to the package's program lead to its name. */
function packageOf(word: unknown): string {
  if (typeof word !== 'string') return '';
  const installed = /(?:^|[\\/])node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(word)?.[1];
  const name = (installed ?? word).replaceAll('\\', '/');
  const version = name.indexOf('@', 1);
  return version === -1 ? name : name.slice(0, version);
}
