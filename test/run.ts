/**
 * `npm test`: runs every *.test.ts of the project with node:test, and then stories again on nodes of clusters
 * (told-twice.ts). `npm test -- ledger money` runs the files whose path contains one of the words; `--long` adds the
 * *.long.ts files and the longer stories on clusters; `--cluster` runs stories on clusters alone.
 * A test that cannot run on this machine skips itself with a reason, which is told in one line at the end;
 * with LEAVE_NOTHING_OUT=1 that is a failure, unless the reason begins with `only on some machines`: what no package
 * brings, such as loop devices.
 */
import { globSync } from 'node:fs'
import { parseArgs } from 'node:util'

import { startPostgres, withoutPostgres } from '../src/db/postgres/postgres.fixture.ts'
import { startRedis, withoutRedis } from '../src/shared/redis.fixture.ts'
import { Result, root, runRound, seconds } from './support/runner/run-files.ts'
import { toldTwice, toldTwiceInLongRuns, toldWithoutRedis } from './told-twice.ts'

const { values, positionals: words } = parseArgs({
  allowPositionals: true,
  options: { long: { type: 'boolean', default: false }, cluster: { type: 'boolean', default: false } },
})
const timeoutMs = values.long ? 3_600_000 : 900_000

const isAskedFor = (file: string): boolean => words.length === 0 || words.some((word) => file.includes(word))

function filesToRun(): string[] {
  const endings = values.long ? '{test,long}' : 'test'
  return globSync(`{src,console,test,sim,bench,clients}/**/*.${endings}.ts`, {
    cwd: root,
    exclude: ['**/node_modules', '**/.venv', 'console/dist*'],
  })
    .filter(isAskedFor)
    .toSorted()
}

/** Of these stories those that are asked for. */
const storiesOf = (names: readonly string[]): string[] =>
  names.map((name) => `test/${name}.test.ts`).filter(isAskedFor)

/** Tells stories again where every relay is a node of a cluster; how many files. */
async function tellTwice(result: Result): Promise<number> {
  const stories = storiesOf(values.long ? [...toldTwice, ...toldTwiceInLongRuns] : toldTwice)
  const withoutRates = storiesOf(toldWithoutRedis)
  if (stories.length === 0) return 0
  const without = withoutPostgres === false ? withoutRedis : withoutPostgres
  if (without !== false) {
    result.leave('the stories on a cluster', without)
    return 0
  }
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()])
  try {
    await postgres.makeTemplate()
    const aheadWith = (redisUrl: string) => ({
      module: new URL('on-a-cluster.ts', import.meta.url).href,
      env: { STORIES_POSTGRES: postgres.urlOf('postgres'), STORIES_REDIS: redisUrl },
    })
    const label = 'on a cluster: '
    await runRound({ files: stories, timeoutMs, label, ahead: aheadWith(redis.url) }, result)
    const labelWithout = 'on a cluster without Redis: '
    await runRound({ files: withoutRates, timeoutMs, label: labelWithout, ahead: aheadWith('') }, result)
  } finally {
    await redis.stop()
    await postgres.remove()
  }
  return stories.length + withoutRates.length
}

const result = new Result()
const files = values.cluster ? [] : filesToRun()
await runRound({ files, timeoutMs }, result)
const filesCount = files.length + (await tellTwice(result))
const { passed, failed, isGood, durationMs, leftOut } = result

console.log('')
for (const [reason, names] of leftOut) console.log(`left out: ${[...names].join(', ')}: ${reason}`)
console.log(`${passed} passed, ${failed} failed, in ${filesCount} files and ${seconds(durationMs)}`)

const avoidable = [...leftOut.keys()].filter((reason) => !reason.startsWith('only on some machines'))
const incomplete = process.env['LEAVE_NOTHING_OUT'] === '1' && avoidable.length > 0
if (incomplete) console.log('Something was left out, and LEAVE_NOTHING_OUT=1 forbids that.')
if (filesCount === 0) console.log(`No test file has a path with ${words.join(' or ')}.`)
process.exitCode = failed > 0 || !isGood || incomplete || filesCount === 0 ? 1 : 0
