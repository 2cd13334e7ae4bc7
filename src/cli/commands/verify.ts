/** `sluice verify`: recomputes the ledger from its journal, of a running or a stopped relay. */

import type { Command } from 'commander'
import { join } from 'node:path'
import { readConfig, type Config } from '../../config.ts'
import { formatAmount } from '../../lib/money.ts'
import { isRelayRunning } from '../../process/control-socket.ts'
import { checkCluster, send } from '../admin-client.ts'
import { withJsonOption, progressOption } from '../options.ts'
import {
  CommandError,
  printResult,
  formatFields,
  withProgress,
  type Fields,
  type ProgressOptions,
} from '../output.ts'

/** Reads a stopped relay's file only: an inconsistent ledger cannot be opened for writing. */
async function verifyStopped({ databaseUrl, dataDir }: Config): Promise<Fields> {
  const { verifyInThread } = await import('../../engine/verification/verify-thread.ts')
  const report = await (databaseUrl === null
    ? verifyInThread(join(dataDir, 'sluice.db'))
    : verifyInThread({ clusterUrl: databaseUrl }))
  return {
    ok: report.ok,
    entries: report.entries,
    drift: formatAmount(report.drift),
    open_holds: report.openHolds,
    overrun: formatAmount(report.overrun),
    findings: report.findings,
  }
}

async function verifyLedger(config: Config): Promise<Fields> {
  if (await isRelayRunning(config.dataDir)) return send('verify', 'GET', '/ledger/verify')
  await checkCluster(config)
  return verifyStopped(config)
}

function formatReport(report: Fields): string {
  const findings = Array.isArray(report['findings']) ? report['findings'].map(String) : []
  const fields = formatFields([
    ['ledger', report['ok'] === true ? 'consistent' : 'INCONSISTENT'],
    ['entries', report['entries']],
    ['drift', report['drift']],
    ['open holds', report['open_holds']],
    ['overrun', report['overrun']],
  ])
  return [fields, ...findings.map((finding) => `- ${finding}`)].join('\n')
}

async function verify(options: ProgressOptions): Promise<void> {
  const config = readConfig()
  const report = await withProgress(options, 'recomputing the ledger', () => verifyLedger(config))
  printResult(report, options, () => formatReport(report))
  if (report['ok'] !== true) {
    throw new CommandError(
      'The ledger is inconsistent. Keep this directory unchanged and restore a backup elsewhere. If only texts differ, see sluice repair.',
    )
  }
}

export function configure(command: Command): void {
  withJsonOption(command, 'verify', 'verify --json')
    .option(...progressOption)
    .addHelpText(
      'after',
      '\nWorks on a running relay, and on the DATA_DIR of a stopped one without changing it.\n' +
        'Exits with 1 if the ledger is inconsistent.',
    )
    .action(verify)
}
