/** What money stories share: many callers at once, and a look at an account that never stops while they call. */
import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { nanosOf } from '../../../src/lib/money.ts'
import type { Account } from '../server/account.ts'

export interface Outcome {
  readonly status: number
  readonly code: string | null
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

const agent = new Agent({ keepAlive: true, maxSockets: 600 })

/** One request over a socket of its own as far as there is none free: cheaper than fetch where there are hundreds. */
export function call(account: Account, url: string, body: object): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
  const headers = { authorization: `Bearer ${account.key.secret}`, 'content-type': 'application/json' }
  const asking = request(`${url}/v1/chat/completions`, { method: 'POST', headers, agent }, (reply) => {
    let text = ''
    reply.setEncoding('utf8')
    reply.on('data', (part: string) => (text += part))
    reply.on('error', reject)
    reply.on('end', () => {
      const code = /"code":"(\w+)"/.exec(text)?.[1] ?? null
      resolve({ status: reply.statusCode ?? 0, code, headers: reply.headers, text })
    })
  })
  asking.on('error', reject)
  asking.end(JSON.stringify(body))
  return promise
}

/** So many requests at once. */
export function callMany(account: Account, url: string, body: object, count: number): Promise<Outcome[]> {
  return Promise.all(Array.from({ length: count }, () => call(account, url, body)))
}

export function withStatus(outcomes: readonly Outcome[], status: number): Outcome[] {
  return outcomes.filter((outcome) => outcome.status === status)
}

/** Looks at the account again and again while `work` is done: nothing of it is ever below zero. */
export async function neverBelowZero<Result>(account: Account, work: Promise<Result>): Promise<Result> {
  const watch = { isOver: false }
  const looking = (async () => {
    while (!watch.isOver) {
      const { balance, held, available } = await account.state()
      for (const amount of [balance, held, available])
        assert.ok(nanosOf(amount) >= 0n, `${amount} is below 0`)
      assert.ok(nanosOf(held) <= nanosOf(balance), `${held} held of ${balance}`)
    }
  })()
  try {
    return await work
  } finally {
    watch.isOver = true
    await looking
  }
}

/** What all requests of the account have cost by their records, in nanos. */
export async function costOfAll(account: Account): Promise<bigint> {
  const records = await account.requests({ limit: '1000' })
  return records.reduce((sum, { cost }) => sum + nanosOf(cost), 0n)
}
