/** `sluice doctor`: looks at everything that has to be right, and says what to do where it is not. */

import { checkFilled, checkPostgres, checkRedis } from './doctor/database.ts'
import type { Command } from 'commander'
import { existsSync } from 'node:fs'
import { ConfigError, readConfig, type Config } from '../config.ts'
import { hasDatabase } from './admin-client.ts'
import {
  checkClock,
  checkDirectory,
  checkPort,
  checkSpace,
  checkSync,
  checkVersions,
} from './doctor/machine.ts'
import { checkDatabase, checkHolder, checkNode, checkService } from './doctor/relay.ts'
import { fail, ok, warn, type Finding } from './doctor/finding.ts'
import { finished, progressOption } from './options.ts'
import { cellOf, CommandError, printResult, withProgress, type Format, type Progress } from './output.ts'

interface DoctorOptions extends Format, Progress {
  /** False with --no-calls. */
  readonly calls: boolean
}

function checkConfiguration(): { finding: Finding[]; config: Config | null } {
  try {
    return { config: readConfig(), finding: [ok('configuration', 'every setting is understood')] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const advice = 'See docs/configuration.md.'
    return { config: null, finding: error.problems.map((problem) => fail('configuration', problem, advice)) }
  }
}

async function findings(options: DoctorOptions, tell: (step: string) => void): Promise<Finding[]> {
  const { config, finding } = checkConfiguration()
  const found = [checkVersions(), ...finding]
  if (config === null) return found
  const { dataDir } = config
  const directory = checkDirectory(dataDir)
  found.push(directory)
  if (directory.state === 'fail') return found
  if (!existsSync(dataDir)) return [...found, await checkClock(null), await checkPort(config, false)]
  found.push(checkSpace(dataDir))
  tell('measuring the disk')
  found.push(checkSync(dataDir))
  const { finding: relay, isRunning } = await checkHolder(dataDir)
  found.push(relay)
  if (config.databaseUrl !== null) {
    found.push(...(await checkNode(dataDir)))
    tell('asking PostgreSQL')
    const database = await checkPostgres(config.databaseUrl)
    found.push(database)
    if (config.redisUrl !== null) found.push(await checkRedis(config.redisUrl))
    found.push(await checkClock(null), await checkPort(config, isRunning))
    if (database.state === 'fail') return found
    const empty = await checkFilled(config.databaseUrl)
    if (empty !== null) return [...found, empty]
    tell('looking at models and upstreams')
    return [...found, ...(await checkService(config, options.calls))]
  }
  if (!hasDatabase(config)) {
    found.push(warn('database', `there is none in ${dataDir}`, 'The first start makes it.'))
    return [...found, await checkClock(null), await checkPort(config, isRunning)]
  }
  tell('reading the database')
  const { finding: database, lastWrittenMs } = await checkDatabase(dataDir)
  found.push(database, await checkClock(lastWrittenMs), await checkPort(config, isRunning))
  if (database.state === 'fail') return found
  tell('looking at models and upstreams')
  return [...found, ...(await checkService(config, options.calls))]
}

function wordsOf(found: readonly Finding[]): string {
  const width = Math.max(...found.map(({ name }) => name.length))
  const lines = found.flatMap(({ name, state, detail, advice }) => {
    const line = `${state.padEnd(4)}  ${name.padEnd(width)}  ${cellOf(detail)}`
    return advice === undefined ? [line] : [line, `${' '.repeat(width + 8)}→ ${advice}`]
  })
  return lines.join('\n')
}

async function examine(options: DoctorOptions): Promise<void> {
  let step = 'looking'
  const found = await withProgress(
    options,
    () => step,
    () => findings(options, (next) => (step = next)),
  )
  const failed = found.filter(({ state }) => state === 'fail').length
  printResult({ ok: failed === 0, findings: found }, options, () => wordsOf(found))
  if (failed > 0) throw new CommandError(`${failed} of ${found.length} checks failed.`)
}

export function completeDoctor(command: Command): void {
  finished(command, 'doctor', 'doctor --no-calls --json')
    // Its default is named: commander gives one only to options that are there before a group is loaded.
    .option('--no-calls', 'only connect to upstreams, without a real call', true)
    .option(...progressOption)
    .addHelpText('after', '\nEnds with 1 when a check fails; warnings alone end with 0.')
    .action(examine)
}
