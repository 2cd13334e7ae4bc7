/** `sluice doctor`: checks the whole installation and suggests fixes. */

import { defaultCurrency, findCurrencyProblem } from '../../db/currency.ts'
import { findKeyProblem, type DataKeyRows } from '../../db/data-keys.ts'
import {
  checkConnections,
  checkInitialized,
  checkNodes,
  checkPostgres,
  checkRedis,
  readClusterCurrency,
  readClusterKeys,
} from './database.ts'
import type { Command } from 'commander'
import { existsSync } from 'node:fs'
import { ConfigError, readConfig, type Config } from '../../config.ts'
import { createPaymentMethods } from '../../payments/payment-methods.ts'
import { ProviderHttp } from '../../payments/provider-http.ts'
import { findMissingDatabaseUrl, hasStore } from '../../process/store-location.ts'
import { checkClock, checkDirectory, checkDisk, checkPort, checkVersions } from './machine.ts'
import { checkDatabase, checkRelay, checkNode, checkService } from './relay.ts'
import { fail, ok, warn, type Finding } from './finding.ts'
import { checkHardeningSettings, checkProcess } from './hardening.ts'
import { checkSettings } from './settings.ts'
import { withJsonOption, progressOption } from '../options.ts'
import { formatCell, CommandError, printResult, withProgress, type ProgressOptions } from '../output.ts'

interface DoctorOptions extends ProgressOptions {
  /** False with --no-calls. */
  readonly calls: boolean
}

function reportProblems(problems: readonly string[]): Finding[] {
  if (problems.length === 0) return [ok('configuration', 'all settings are valid')]
  return problems.map((problem) => fail('configuration', problem, 'See docs/configuration.md.'))
}

function readSettings(): Config | readonly string[] {
  try {
    return readConfig()
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

/** What would refuse the start: the same check, which asks no provider. */
async function findPaymentProblems(config: Config, currency: string): Promise<readonly string[]> {
  await using http = new ProviderHttp(config.paymentAllow)
  try {
    await createPaymentMethods({ config, currency, http, now: Date.now })
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

interface DoctorContext {
  readonly config: Config
  readonly isRunning: boolean
  /** Shows what is being done. */
  readonly report: (step: string) => void
}

interface StoreChecks {
  readonly findings: Finding[]
  /** Models and upstreams can be read. */
  readonly isUsable: boolean
  /** That of the store; null: it is not known. */
  readonly currency: string | null
}

/** Whether the relay would start with this `CURRENCY`; nothing before the first start of this release. */
function checkCurrency(stored: string | null, { currency }: Config): Finding[] {
  if (stored === null) return []
  const problem = findCurrencyProblem(stored, currency)
  const finding =
    problem === null
      ? ok('currency', `amounts are in ${stored}`)
      : fail('currency', problem, 'See CURRENCY in docs/configuration.md.')
  return [finding]
}

/** Adds the finding about these settings' own key, which a running relay need not have. */
async function withKeyFinding(
  checks: StoreChecks,
  keys: DataKeyRows,
  { config, isRunning }: Pick<DoctorContext, 'config' | 'isRunning'>,
): Promise<StoreChecks> {
  const problem = await findKeyProblem(keys, config)
  if (problem === null) return checks
  const advice = isRunning
    ? 'The running relay has another key, and would not start again with this one: run this command with its settings.'
    : 'Set ENCRYPTION_KEY to the value that the relay had before, or restore sealing.key from a backup.'
  const finding = fail('encryption key', problem, advice)
  return { ...checks, findings: [...checks.findings, finding], isUsable: checks.isUsable && isRunning }
}

async function checkCluster({ config, isRunning, report }: DoctorContext, url: string): Promise<StoreChecks> {
  const findings = await checkNode(config.dataDir)
  report('checking PostgreSQL')
  const database = await checkPostgres(url)
  findings.push(database)
  if (config.redisUrl !== null) findings.push(await checkRedis(config.redisUrl))
  findings.push(await checkClock(null), await checkPort(config, isRunning))
  if (database.state === 'fail') return { findings, isUsable: false, currency: null }
  findings.push(await checkConnections(url))
  const empty = await checkInitialized(url)
  if (empty !== null) return { findings: [...findings, empty], isUsable: false, currency: null }
  const currency = await readClusterCurrency(url)
  findings.push(...(await checkNodes(url)), ...checkCurrency(currency, config))
  const checks = { findings, isUsable: true, currency }
  return withKeyFinding(checks, await readClusterKeys(url), { config, isRunning })
}

async function checkSingleNode({ config, isRunning, report }: DoctorContext): Promise<StoreChecks> {
  const { dataDir } = config
  if (!hasStore(config)) {
    const problem = findMissingDatabaseUrl(config)
    const database =
      problem === null
        ? warn('database', `no database in ${dataDir} yet`, 'The first start creates it.')
        : fail('database', problem, 'A start without DATABASE_URL would create an empty relay.')
    const findings = [database, await checkClock(null), await checkPort(config, isRunning)]
    return { findings, isUsable: false, currency: null }
  }
  report('reading the database')
  const { finding, lastWrittenMs, keys, currency } = await checkDatabase(dataDir)
  const findings = [
    finding,
    ...checkCurrency(currency, config),
    await checkClock(lastWrittenMs),
    await checkPort(config, isRunning),
  ]
  const checks = { findings, isUsable: finding.state !== 'fail', currency }
  return withKeyFinding(checks, keys, { config, isRunning })
}

async function runChecks(options: DoctorOptions, report: (step: string) => void): Promise<Finding[]> {
  const config = readSettings()
  if (!('dataDir' in config)) return [checkVersions(), ...reportProblems(config)]
  const { findings, currency } = await checkInstallation(config, options, report)
  // Amounts of payments have the decimals of the currency that the store has, or that the first start writes.
  const problems = await findPaymentProblems(config, currency ?? config.currency ?? defaultCurrency)
  return [checkVersions(), ...reportProblems(problems), ...findings]
}

async function checkInstallation(
  config: Config,
  options: DoctorOptions,
  report: (step: string) => void,
): Promise<Pick<StoreChecks, 'findings' | 'currency'>> {
  const { dataDir, databaseUrl } = config
  const directory = checkDirectory(dataDir)
  const findings = [...checkSettings(config), ...checkHardeningSettings(config), directory]
  if (directory.state === 'fail') return { findings, currency: null }
  if (!existsSync(dataDir)) {
    findings.push(await checkClock(null), await checkPort(config, false))
    return { findings, currency: null }
  }
  report('measuring the disk')
  const { findings: disk, isFull } = checkDisk(dataDir)
  const { finding: relay, isRunning } = await checkRelay(dataDir)
  findings.push(...disk, relay, ...checkProcess(dataDir, isRunning))
  const context = { config, isRunning, report }
  const store = await (databaseUrl === null ? checkSingleNode(context) : checkCluster(context, databaseUrl))
  findings.push(...store.findings)
  // Without a running relay, this command opens the store itself, which writes.
  if (store.isUsable && (!isFull || isRunning)) {
    report('looking at models and upstreams')
    findings.push(...(await checkService(config, options.calls)))
  }
  return { findings, currency: store.currency }
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
  const findings = await withProgress(options, 'checking', (report) => runChecks(options, report))
  const failed = findings.filter(({ state }) => state === 'fail').length
  printResult({ ok: failed === 0, findings }, options, () => formatFindings(findings))
  if (failed > 0) throw new CommandError(`${failed} of ${findings.length} checks failed.`)
}

export function configure(command: Command): void {
  withJsonOption(command, 'doctor', 'doctor --no-calls --json')
    // The default is explicit: commander sets it only for options that exist before a group is loaded.
    .option('--no-calls', 'only connect to upstreams, without sending requests', true)
    .option(...progressOption)
    .addHelpText('after', '\nExits with 1 if a check fails; warnings alone exit with 0.')
    .action(runDoctor)
}
