/**
 * Lines at the top of a test file that say in which runs it takes part.
 *
 *     // @suite all – <reason>                  not in `npm test`, only in `npm run test:all` and longer runs
 *
 *     // @backend both                          on SQLite, and again on a cluster (PostgreSQL and Redis)
 *     // @backend both (also without Redis)     and once more on a cluster without Redis
 *     // @backend both (cluster in long runs)   on the cluster only with --long
 *     // @backend sqlite – <reason>             once, never on a cluster
 *     // @backend postgres – <reason>           once; the file starts its own cluster
 *
 *     // @own-process – <reason>                not in a process with other files
 *
 *     // @drives a browser                       or `a client`: what fails is run once more, alone, after all others
 *
 * These lines come before all others, in any order. `@backend` is in every end-to-end test; clusters are not part of
 * `npm test`.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Suite } from './suite.ts'

export interface Backend {
  /** `both` runs again on a cluster. */
  readonly stores: 'both' | 'sqlite' | 'postgres'
  readonly option: 'also without Redis' | 'cluster in long runs' | undefined
  /** Why not both. */
  readonly reason: string | undefined
}

/** The end-to-end tests that run on a cluster, from the root of the project. */
export interface ClusterFiles {
  readonly withRedis: string[]
  readonly withoutRedis: string[]
}

const backendHeader =
  /^\/\/ @backend (?:both(?: \((?<option>also without Redis|cluster in long runs)\))?|(?<store>sqlite|postgres) – (?<reason>\S.*))$/m
const suiteHeader = /^\/\/ @suite all – \S.*$/m
const ownProcessHeader = /^\/\/ @own-process – \S.*$/m
const drivesHeader = /^\/\/ @drives (?:a browser|a client)$/m

/** The lines at the top that begin with `// @`. */
function headerOf(text: string): string {
  return /^(?:\/\/ @.*\n)*/.exec(text)?.[0] ?? ''
}

/** What the header of a test file says; undefined without a valid one. */
export function backendOf(text: string): Backend | undefined {
  const match = backendHeader.exec(headerOf(text))
  if (!match) return undefined
  const { option, store, reason } = match.groups ?? {}
  return {
    stores: store === 'sqlite' || store === 'postgres' ? store : 'both',
    option: option === 'also without Redis' || option === 'cluster in long runs' ? option : undefined,
    reason,
  }
}

/** The shortest suite that a test file belongs to. */
export function suiteOf(path: string, text: string): Suite {
  if (path.endsWith('.long.ts')) return 'long'
  return suiteHeader.test(headerOf(text)) ? 'all' : 'short'
}

/** Whether a test file must not share its process with others. */
export function needsOwnProcess(text: string): boolean {
  return ownProcessHeader.test(headerOf(text))
}

/** Whether a failure may be due to a browser, or to a client that is not ours. */
export function drivesForeignProgram(text: string): boolean {
  return drivesHeader.test(headerOf(text))
}

/** The files that run again on a cluster. */
export function clusterFiles(root: string, isLongRun: boolean): ClusterFiles {
  const files = globSync('test/e2e/**/*.test.ts', { cwd: root })
    .toSorted()
    .map((path) => ({ path, backend: backendOf(readFileSync(join(root, path), 'utf8')) }))
    .filter(({ backend }) => backend?.stores === 'both')
  return {
    withRedis: files
      .filter(({ backend }) => isLongRun || backend?.option !== 'cluster in long runs')
      .map(({ path }) => path),
    withoutRedis: files
      .filter(({ backend }) => backend?.option === 'also without Redis')
      .map(({ path }) => path),
  }
}
