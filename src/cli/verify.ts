/** `sluice verify`: the ledger, recomputed from its journal, on a running relay or a stopped one's directory. */

import type { Command } from 'commander'
import { join } from 'node:path'
import { readConfig, type Config } from '../config.ts'
import { decimalOf } from '../lib/money.ts'
import { hasControl } from '../server/control-socket.ts'
import { checkCluster, hasDatabase, noDatabase, openControl } from './admin-client.ts'
import { finished, progressOption } from './options.ts'
import {
  CommandError,
  fieldsOf,
  printResult,
  sheetOf,
  withProgress,
  type Fields,
  type Format,
  type Progress,
} from './output.ts'

/** A stopped relay's file is only read: a ledger that does not hold could not be opened to be worked with. */
async function verdictOfStopped({ databaseUrl, dataDir }: Config): Promise<Fields> {
  const { verifyInThread } = await import('../server/verify-thread.ts')
  const { verifyClusterInThread } = await import('../server/cluster/verify-thread.ts')
  const verdict = await (databaseUrl === null
    ? verifyInThread(join(dataDir, 'sluice.db'))
    : verifyClusterInThread(databaseUrl))
  return {
    ok: verdict.ok,
    entries: verdict.entries,
    drift: decimalOf(verdict.drift),
    open_holds: verdict.openHolds,
    overrun: decimalOf(verdict.overrun),
    findings: verdict.findings,
  }
}

async function verdictOf(config: Config): Promise<Fields> {
  if (!hasDatabase(config)) throw noDatabase(config)
  if (!(await hasControl(config.dataDir))) {
    await checkCluster(config)
    return verdictOfStopped(config)
  }
  const control = await openControl(config)
  try {
    return fieldsOf(await control.call('GET', '/ledger/verify'))
  } finally {
    await control.close()
  }
}

function wordsOf(verdict: Fields): string {
  const findings = Array.isArray(verdict['findings']) ? verdict['findings'].map(String) : []
  const sheet = sheetOf([
    ['ledger', verdict['ok'] === true ? 'holds' : 'DOES NOT HOLD'],
    ['entries', verdict['entries']],
    ['drift', verdict['drift']],
    ['open holds', verdict['open_holds']],
    ['overrun', verdict['overrun']],
  ])
  return [sheet, ...findings.map((finding) => `- ${finding}`)].join('\n')
}

async function verify(options: Format & Progress): Promise<void> {
  const config = readConfig()
  const verdict = await withProgress(
    options,
    () => 'recomputing the ledger',
    () => verdictOf(config),
  )
  printResult(verdict, options, () => wordsOf(verdict))
  if (verdict['ok'] !== true) {
    throw new CommandError(
      'The ledger does not hold. Keep this directory as it is and restore a backup elsewhere.',
    )
  }
}

export function completeVerify(command: Command): void {
  finished(command, 'verify', 'verify --json')
    .option(...progressOption)
    .addHelpText(
      'after',
      '\nWorks on a running relay and on the DATA_DIR of a stopped one, of which it changes nothing.\n' +
        'Ends with 1 when the ledger does not hold.',
    )
    .action(verify)
}
