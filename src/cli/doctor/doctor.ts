/** `sluice doctor`: checks the whole installation and suggests fixes. */

import { checkInitialized, checkPostgres, checkRedis } from './database.ts'
import type { Command } from 'commander'
import { existsSync } from 'node:fs'
import { ConfigError, readConfig, type Config } from '../../config.ts'
import { findMissingDatabaseUrl, hasStore } from '../../server/store-location.ts'
import { checkClock, checkDirectory, checkPort, checkSpace, checkSync, checkVersions } from './machine.ts'
import { checkDatabase, checkRelay, checkNode, checkService } from './relay.ts'
import { fail, ok, warn, type Finding } from './finding.ts'
import { withJsonOption, progressOption } from '../options.ts'
import {
  formatCell,
  CommandError,
  printResult,
  withProgress,
  type OutputOptions,
  type ProgressOptions,
} from '../output.ts'

interface DoctorOptions extends OutputOptions, ProgressOptions {
  /** False with --no-calls. */
  readonly calls: boolean
}

function checkConfiguration(): { finding: Finding[]; config: Config | null } {
  try {
    return { config: readConfig(), finding: [ok('configuration', 'all settings are valid')] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const advice = 'See docs/configuration.md.'
    return { config: null, finding: error.problems.map((problem) => fail('configuration', problem, advice)) }
  }
}

async function runChecks(options: DoctorOptions, report: (step: string) => void): Promise<Finding[]> {
  const { config, finding } = checkConfiguration()
  const findings = [checkVersions(), ...finding]
  if (config === null) return findings
  const { dataDir } = config
  const directory = checkDirectory(dataDir)
  findings.push(directory)
  if (directory.state === 'fail') return findings
  if (!existsSync(dataDir)) return [...findings, await checkClock(null), await checkPort(config, false)]
  findings.push(checkSpace(dataDir))
  report('measuring the disk')
  findings.push(checkSync(dataDir))
  const { finding: relay, isRunning } = await checkRelay(dataDir)
  findings.push(relay)
  if (config.databaseUrl !== null) {
    findings.push(...(await checkNode(dataDir)))
    report('checking PostgreSQL')
    const database = await checkPostgres(config.databaseUrl)
    findings.push(database)
    if (config.redisUrl !== null) findings.push(await checkRedis(config.redisUrl))
    findings.push(await checkClock(null), await checkPort(config, isRunning))
    if (database.state === 'fail') return findings
    const empty = await checkInitialized(config.databaseUrl)
    if (empty !== null) return [...findings, empty]
    report('looking at models and upstreams')
    return [...findings, ...(await checkService(config, options.calls))]
  }
  if (!hasStore(config)) {
    const problem = findMissingDatabaseUrl(config)
    findings.push(
      problem === null
        ? warn('database', `no database in ${dataDir} yet`, 'The first start creates it.')
        : fail('database', problem, 'A start without DATABASE_URL would create an empty relay.'),
    )
    return [...findings, await checkClock(null), await checkPort(config, isRunning)]
  }
  report('reading the database')
  const { finding: database, lastWrittenMs } = await checkDatabase(dataDir)
  findings.push(database, await checkClock(lastWrittenMs), await checkPort(config, isRunning))
  if (database.state === 'fail') return findings
  report('looking at models and upstreams')
  return [...findings, ...(await checkService(config, options.calls))]
}

function formatFindings(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ name }) => name.length))
  const lines = findings.flatMap(({ name, state, detail, advice }) => {
    const line = `${state.padEnd(4)}  ${name.padEnd(width)}  ${formatCell(detail)}`
    return advice === undefined ? [line] : [line, `${' '.repeat(width + 8)}→ ${advice}`]
  })
  return lines.join('\n')
}

async function runDoctor(options: DoctorOptions): Promise<void> {
  let step = 'checking'
  const findings = await withProgress(
    options,
    () => step,
    () => runChecks(options, (next) => (step = next)),
  )
  const failed = findings.filter(({ state }) => state === 'fail').length
  printResult({ ok: failed === 0, findings }, options, () => formatFindings(findings))
  if (failed > 0) throw new CommandError(`${failed} of ${findings.length} checks failed.`)
}

export function configureDoctor(command: Command): void {
  withJsonOption(command, 'doctor', 'doctor --no-calls --json')
    // The default is explicit: commander sets it only for options that exist before a group is loaded.
    .option('--no-calls', 'only connect to upstreams, without sending requests', true)
    .option(...progressOption)
    .addHelpText('after', '\nExits with 1 if a check fails; warnings alone exit with 0.')
    .action(runDoctor)
}
