/** Many requests at once, and checks of an account's money while they run. */
import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { parseAmount } from '../../../src/lib/money.ts'
import type { Account } from '../server/account.ts'

export interface CallResult {
  readonly status: number
  readonly code: string | null
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

const agent = new Agent({ keepAlive: true, maxSockets: 600 })

/** One request to an endpoint over pooled sockets: cheaper than fetch for hundreds of requests. */
function send(account: Account, endpoint: string, body: object): Promise<CallResult> {
  const { promise, resolve, reject } = Promise.withResolvers<CallResult>()
  const headers = { authorization: `Bearer ${account.key.secret}`, 'content-type': 'application/json' }
  const outgoing = request(endpoint, { method: 'POST', headers, agent }, (response) => {
    let text = ''
    response.setEncoding('utf8')
    response.on('data', (part: string) => (text += part))
    response.on('error', reject)
    response.on('end', () => {
      const code = /"code":"(\w+)"/.exec(text)?.[1] ?? null
      resolve({ status: response.statusCode ?? 0, code, headers: response.headers, text })
    })
  })
  outgoing.on('error', reject)
  outgoing.end(JSON.stringify(body))
  return promise
}

export function sendChatRequest(account: Account, url: string, body: object): Promise<CallResult> {
  return send(account, `${url}/v1/chat/completions`, body)
}

/** Sends the same chat request many times at once. */
export function sendConcurrently(
  account: Account,
  url: string,
  body: object,
  count: number,
): Promise<CallResult[]> {
  return sendConcurrentlyTo(account, `${url}/v1/chat/completions`, body, count)
}

/** As `sendConcurrently`, to the endpoint of any operation. */
export function sendConcurrentlyTo(
  account: Account,
  endpoint: string,
  body: object,
  count: number,
): Promise<CallResult[]> {
  return Promise.all(Array.from({ length: count }, () => send(account, endpoint, body)))
}

export function withStatus(outcomes: readonly CallResult[], status: number): CallResult[] {
  return outcomes.filter((outcome) => outcome.status === status)
}

/** Polls the account while `work` runs and checks that no amount is ever negative. */
export async function assertNeverNegative<Result>(account: Account, work: Promise<Result>): Promise<Result> {
  const polling = { isStopped: false }
  const polled = (async () => {
    while (!polling.isStopped) {
      const { balance, held, available } = await account.state()
      for (const amount of [balance, held, available])
        assert.ok(parseAmount(amount) >= 0n, `${amount} is below 0`)
      assert.ok(parseAmount(held) <= parseAmount(balance), `${held} held of ${balance}`)
    }
  })()
  try {
    return await work
  } finally {
    polling.isStopped = true
    await polled
  }
}

/** The sum of the costs in the account's request records, in nanos. */
export async function totalCost(account: Account): Promise<bigint> {
  const records = await account.requests({ limit: '1000' })
  return records.reduce((sum, { cost }) => sum + parseAmount(cost), 0n)
}
