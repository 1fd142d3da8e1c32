// The environment variables that make a program load or run code which its command line does not
// name. They may be set for a server only if its entry says so (`allowEnv`), because an entry is
// often copied from a web page and its `env` is read less carefully than its `command`. The list
// has variables of loaders, shells and interpreters, which act on every program of that kind;
// settings of single programs (GIT_SSH_COMMAND, EDITOR) are not on it. PYTHONPATH is not on it
// either: many published entries of Python servers need it. A `*` at the end matches anything.

const loaders = [
  'LD_*',
  'DYLD_*',
  'GCONV_PATH',
  'OPENSSL_CONF',
  'OPENSSL_ENGINES',
  'OPENSSL_MODULES',
];
const shells = [
  'BASH_ENV',
  'BASH_FUNC_*',
  'BASHOPTS',
  'ENV',
  'IFS',
  'PROMPT_COMMAND',
  'PS4',
  'SHELLOPTS',
  'ZDOTDIR',
];
const node = [
  'NODE_OPTIONS',
  'NODE_PATH',
  'NODE_REPL_EXTERNAL_MODULE',
  'BUN_OPTIONS',
  'npm_config_node_options',
  'NPM_CONFIG_NODE_OPTIONS',
  'npm_config_script_shell',
  'NPM_CONFIG_SCRIPT_SHELL',
];
const python = [
  'PYTHONSTARTUP',
  'PYTHONHOME',
  'PYTHONUSERBASE',
  'PYTHONWARNINGS',
  'PYTHONBREAKPOINT',
  'PYTHONEXECUTABLE',
];
const perlAndRuby = ['PERL5OPT', 'PERL5LIB', 'PERLLIB', 'PERL5DB', 'RUBYOPT', 'RUBYLIB'];
const virtualMachines = [
  'JAVA_TOOL_OPTIONS',
  'JDK_JAVA_OPTIONS',
  '_JAVA_OPTIONS',
  'DOTNET_STARTUP_HOOKS',
  'DOTNET_ADDITIONAL_DEPS',
  'CORECLR_*',
  'COR_*',
  'ERL_AFLAGS',
  'ERL_FLAGS',
  'ERL_ZFLAGS',
];
const others = [
  'PHPRC',
  'PHP_INI_SCAN_DIR',
  'LUA_INIT',
  'LUA_INIT_*',
  'R_PROFILE',
  'R_PROFILE_USER',
  'R_ENVIRON',
  'R_ENVIRON_USER',
];

/** Names, and families with a `*` at the end. */
export const dangerousVariables: readonly string[] = [
  ...loaders,
  ...shells,
  ...node,
  ...python,
  ...perlAndRuby,
  ...virtualMachines,
  ...others,
];

const names: ReadonlySet<string> = new Set(dangerousVariables);
const families = dangerousVariables
  .filter((name) => name.endsWith('*'))
  .map((name) => name.slice(0, -1));

export function isDangerous(name: string): boolean {
  return names.has(name) || families.some((prefix) => name.startsWith(prefix));
}

/** Whether every variable that the pattern `PREFIX_*` matches is one of these. */
export function isDangerousFamily(pattern: string): boolean {
  return families.some((prefix) => pattern.slice(0, -1).startsWith(prefix));
}
