// Which Node is needed. Written in syntax that old versions accept, and without imports: it runs
// before anything else is loaded.

const oldestMajor = 20;
const oldestMinor = 19;

export interface NodeProblem {
  readonly text: string;
  readonly remedy: string;
}

/** Undefined if the version, such as v20.19.0, is new enough. */
export function nodeProblem(version: string): NodeProblem | undefined {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  const isNewEnough = major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
  if (isNewEnough) return undefined;
  return {
    text: `this is Node ${version}, which is too old for Holdfast`,
    remedy: `install Node ${oldestMajor}.${oldestMinor} or later`,
  };
}
