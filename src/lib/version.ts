/** The version of this package. */
import manifest from '../../package.json' with { type: 'json' }

export const version: string = manifest.version

const [major = 0, minor = 0] = version.split('.').map(Number)
/** Its first two numbers. Nodes of releases before this one cannot read all of its notifications. */
export const release: readonly [number, number] = [major, minor]
