/** How long verifying a ledger takes whose entries were written one by one, with two commits each. */
import { join } from 'node:path'

import { writeLargeLedger } from '../src/engine/verification/large-ledger.fixture.ts'
import { verifyInThread } from '../src/engine/verification/verify-thread.ts'
import { grouped, table } from './markdown.ts'
import { compare, single, type TargetResult } from './targets.ts'

const requests = 1_000_000
const maxSeconds = 10

export interface VerificationFigures {
  readonly entries: number
  readonly seconds: number
  /** Processor time of all threads. */
  readonly cpuSeconds: number
}

export async function measureVerification(directory: string): Promise<VerificationFigures> {
  const path = join(directory, 'verification.db')
  await writeLargeLedger(path, { requests, perCommit: 1 })
  const startedAt = performance.now()
  const used = process.cpuUsage()
  const { ok, entries } = await verifyInThread(path)
  if (!ok) throw new Error('the ledger does not verify')
  const { user, system } = process.cpuUsage(used)
  return { entries, seconds: (performance.now() - startedAt) / 1000, cpuSeconds: (user + system) / 1e6 }
}

export function verificationResult({ entries, seconds }: VerificationFigures): TargetResult {
  const load = `Verification of ${grouped(entries)} entries written one by one`
  const format = (value: number): string => value.toFixed(1)
  return compare({ load, measure: 'seconds', required: maxSeconds, format }, single(seconds))
}

export function verificationTable({ entries, seconds, cpuSeconds }: VerificationFigures): string[] {
  const cells = [grouped(entries), seconds.toFixed(1), cpuSeconds.toFixed(1)]
  return ['## Verification', '', ...table(['Entries', 's', 'CPU s'], [cells]), '']
}
