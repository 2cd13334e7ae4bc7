/**
 * Brings one message to one channel: by SMTP, or by one HTTP request to an address that is allowed, whose redirects are
 * not followed and of whose answer only a little is read.
 */
import type { Agent } from 'undici'
import type { ChannelKind } from '../db/schema/schema.ts'
import { checkUpstreamUrl, guardedLookup, type Cidr } from '../lib/address-guard.ts'
import type { Mailer } from '../lib/email.ts'
import {
  httpKinds,
  type Answer,
  type Message,
  type Outgoing,
  type Target,
} from '../notifications/webhook-channels.ts'
import { errorCode } from '../lib/error-message.ts'

export interface SendMeans {
  readonly http: HttpSender
  /** null: no mail server is set. */
  readonly mailer: Mailer | null
  readonly now: () => number
}

export interface Attempted {
  /** Why it was not taken, without a secret; null: it was. */
  readonly problem: string | null
  readonly retryAfterMs: number | null
}

const patienceMs = 10_000
const mostAnswerBytes = 16_384
const longestProblem = 300

/** Calls out to addresses that are judged when they are connected to. */
export class HttpSender {
  #agent: Agent | null = null
  readonly #allow: readonly Cidr[]

  constructor(allow: readonly Cidr[]) {
    this.#allow = allow
  }

  /** Throws when no answer came. */
  async post({ url, headers, body }: Outgoing): Promise<Answer & { retryAfterMs: number | null }> {
    // A literal address is never looked up, so the guard of look-ups does not see it.
    const forbidden = checkUpstreamUrl(url, this.#allow)
    if (forbidden !== null) throw new Error(forbidden)
    const { Agent, request } = await import('undici')
    this.#agent ??= new Agent({
      connect: { lookup: guardedLookup(this.#allow), timeout: patienceMs },
      keepAliveTimeout: 10_000,
      headersTimeout: patienceMs,
      bodyTimeout: patienceMs,
    })
    const signal = AbortSignal.timeout(patienceMs)
    const options = { method: 'POST', headers, body, dispatcher: this.#agent, signal } as const
    const answer = await request(url, options)
    const parts: Buffer[] = []
    let size = 0
    for await (const part of answer.body) {
      parts.push(part as Buffer)
      size += (part as Buffer).length
      if (size > mostAnswerBytes) break
    }
    const seconds = Number(answer.headers['retry-after'])
    return {
      status: answer.statusCode,
      body: Buffer.concat(parts).toString().slice(0, mostAnswerBytes),
      retryAfterMs: seconds > 0 ? seconds * 1000 : null,
    }
  }

  async close(): Promise<void> {
    await this.#agent?.destroy()
  }
}

/** An error's words, for an operator. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = errorCode(error) ?? error.name
  return code === 'Error' ? error.message : `${code}: ${error.message}`
}

function withoutSecrets(problem: string, { address, secret }: Target): string {
  let plain = problem.replaceAll(address, '[address]')
  if (secret !== null && secret !== '') plain = plain.replaceAll(secret, '[secret]')
  return plain.slice(0, longestProblem)
}

async function byMail(mailer: Mailer | null, to: string, { id, title, text }: Message): Promise<Attempted> {
  if (mailer === null) return { problem: 'No mail server is set (SMTP_URL).', retryAfterMs: null }
  await mailer.send({ to, subject: title, text: `${text}\n`, id })
  return { problem: null, retryAfterMs: null }
}

/** Never throws: what went wrong is told. */
export async function sendMessage(
  means: SendMeans,
  kind: ChannelKind,
  target: Target,
  message: Message,
): Promise<Attempted> {
  try {
    if (kind === 'email') return await byMail(means.mailer, target.address, message)
    const service = httpKinds[kind]
    const answer = await means.http.post(service.outgoing(target, message, means.now()))
    const problem = service.problem(answer)
    return {
      problem: problem === null ? null : withoutSecrets(problem, target),
      retryAfterMs: service.retryAfterMs?.(answer) ?? answer.retryAfterMs,
    }
  } catch (error) {
    return { problem: withoutSecrets(wordsOf(error), target), retryAfterMs: null }
  }
}
