/**
 * The product as a subject: set up as by an operator's script, with authentication, limits and durable
 * billing on. After each load, the balance must account for every response to the nano.
 */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

import { openDatabase } from '../src/db/sqlite/open-database.ts'
import { databaseFileName } from '../src/db/sqlite/store.ts'
import { parseAmount } from '../src/lib/money.ts'
import { startRelay } from '../test/support/server/relay-process.ts'
import type { RelayProcess } from '../test/support/server/relay-process.ts'
import { clientModel, upstreamModel, responseUsage } from './payloads.ts'
import type { BenchEnvironment, Subject } from './subjects.ts'
import { waitUntil } from '../test/support/wait.ts'

/** In nano-yuan per token, equal to `prices` below in yuan per 1,000 tokens. */
const nanosPerToken = { input: 2_000n, output: 4_000n }
const prices = { input: '0.002', output: '0.004' }
const nanosPerAnswer =
  BigInt(responseUsage.input) * nanosPerToken.input + BigInt(responseUsage.output) * nanosPerToken.output

const settleWithinMs = 5_000

export async function startProduct(environment: BenchEnvironment): Promise<Subject> {
  const dataDir = join(environment.directory, 'sluice')
  mkdirSync(dataDir)
  const env = { NODE_ENV: 'production', WORKERS: String(environment.workers) }
  const relay = await startRelay({ dataDir, env, logFile: join(environment.directory, 'sluice.log') })
  const { accountId, secret } = await seed(relay, environment.upstreamPort)
  const database = openDatabase(join(dataDir, databaseFileName), { readOnly: true })
  const readLastCommit = database.prepare('select max(seq) as commits from journal')
  let balance = await balanceOf(relay, accountId)
  return {
    name: 'sluice',
    title: 'Sluice',
    port: relay.port,
    key: secret,
    pid: relay.pid,
    async checkCharged(answers) {
      const due = balance - BigInt(answers) * nanosPerAnswer
      balance = await settledBalance(relay, accountId)
      if (balance !== due)
        throw new Error(`after ${answers} responses, the balance is off by ${balance - due} nanos`)
    },
    countCommits: () => Number(readLastCommit.get()?.['commits'] ?? 0),
    async verify() {
      const report = await relay.admin<{ ok: boolean; open_holds: number }>('GET', '/ledger/verify')
      if (!report.ok || report.open_holds > 0) throw new Error(`the ledger reports ${JSON.stringify(report)}`)
    },
    async stop() {
      database.close()
      await relay.stop()
    },
  }
}

/** The same product with models whose upstreams have other API formats. */
export function translatingSubjects(product: Subject): Subject[] {
  const as = (name: 'anthropic' | 'gemini' | 'translated', title: string): Subject => ({
    ...product,
    name,
    title,
    model: `${clientModel}-${name}`,
    stop: () => Promise.resolve(),
  })
  return [
    as('anthropic', 'Sluice, from Anthropic’s format'),
    as('gemini', 'Sluice, from Gemini’s format'),
    as('translated', 'Sluice, from chat completions'),
  ]
}

async function seed(
  relay: RelayProcess,
  upstreamPort: number,
): Promise<{ accountId: string; secret: string }> {
  for (const [provider, model, speaks, operations] of [
    ['openai-compatible', clientModel, ['responses'], ['chat', 'embeddings']],
    ['anthropic', `${clientModel}-anthropic`, [], ['chat']],
    ['gemini', `${clientModel}-gemini`, [], ['chat']],
    ['openai-compatible', `${clientModel}-translated`, [], ['chat']],
  ] as const) {
    const address = { base_url: `http://127.0.0.1:${upstreamPort}/v1`, credential: 'sk-upstream' }
    await relay.admin('POST', '/upstreams', { name: model, provider, speaks, ...address })
    // The bytes of all subjects are compared with the upstream's.
    const routes = [{ upstream: model, model: upstreamModel, expose_model: true }]
    await relay.admin('POST', '/models', { id: model, context_tokens: 131_072, operations, prices, routes })
  }
  // Limits that are never reached, so that counting them is included.
  const limits = { rpm: 1_000_000_000, tpm: 1_000_000_000_000, rpd: 1_000_000_000, concurrency: 100_000 }
  await relay.admin('POST', '/tiers', { name: 'bench', ...limits })
  const account = { email: 'bench@example.com', tier: 'bench' }
  const { id } = await relay.admin<{ id: string }>('POST', '/accounts', account)
  const credit = { amount: '1000000', reason: 'bench', idempotency_key: 'bench' }
  await relay.admin('POST', `/accounts/${id}/credits`, credit)
  const { secret } = await relay.admin<{ secret: string }>('POST', `/accounts/${id}/keys`, { name: 'bench' })
  return { accountId: id, secret }
}

/** The balance once nothing is held. */
async function settledBalance(relay: RelayProcess, accountId: string): Promise<bigint> {
  const isNothingHeld = async (): Promise<boolean> => {
    const { held } = await relay.admin<{ held: string }>('GET', `/accounts/${accountId}`)
    return parseAmount(held) === 0n
  }
  await waitUntil(isNothingHeld, 'all holds to end', settleWithinMs)
  return balanceOf(relay, accountId)
}

async function balanceOf(relay: RelayProcess, accountId: string): Promise<bigint> {
  return parseAmount((await relay.admin<{ balance: string }>('GET', `/accounts/${accountId}`)).balance)
}
