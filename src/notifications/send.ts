/**
 * Sends one message to one channel: by SMTP, or by one HTTP request to an allowed address. Redirects are not
 * followed, and only the beginning of the response is read.
 */
import type { ChannelKind } from '../db/schema/schema.ts'
import type { Cidr } from '../lib/address-guard.ts'
import type { EmailSender } from '../lib/email.ts'
import { GuardedHttp } from '../lib/guarded-http.ts'
import {
  httpChannels,
  type HttpResponse,
  type ChannelMessage,
  type HttpRequest,
  type ChannelTarget,
} from './webhook-channels.ts'
import { toBoundedText } from '../lib/valid-text.ts'
import { errorCode } from '../lib/error-message.ts'

export interface SendContext {
  readonly http: HttpSender
  /** null: no mail server is configured. */
  readonly mailer: EmailSender | null
  readonly now: () => number
}

export interface DeliveryResult {
  /** Why it was not accepted, without secrets. null: it was accepted. */
  readonly problem: string | null
  readonly retryAfterMs: number | null
}

const timeoutMs = 10_000
const maxResponseBytes = 16_384
const maxProblemLength = 300

/** Sends HTTP requests to addresses that are checked when connecting. */
export class HttpSender implements AsyncDisposable {
  readonly #http: GuardedHttp

  constructor(allow: readonly Cidr[]) {
    this.#http = new GuardedHttp(allow, timeoutMs)
  }

  /** Throws if there was no response. */
  async post(request: HttpRequest): Promise<HttpResponse & { retryAfterMs: number | null }> {
    const sent = { ...request, method: 'POST', maxBytes: maxResponseBytes } as const
    const { status, headers, body } = await this.#http.request(sent)
    const seconds = Number(headers['retry-after'])
    return { status, body: body.toString(), retryAfterMs: seconds > 0 ? seconds * 1000 : null }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#http[Symbol.asyncDispose]()
  }
}

/** An error message for an operator. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = errorCode(error) ?? error.name
  return code === 'Error' ? error.message : `${code}: ${error.message}`
}

function redactSecrets(problem: string, { address, secret }: ChannelTarget): string {
  let redacted = problem.replaceAll(address, '[address]')
  if (secret !== null && secret !== '') redacted = redacted.replaceAll(secret, '[secret]')
  return toBoundedText(redacted, maxProblemLength)
}

async function sendEmail(
  mailer: EmailSender | null,
  to: string,
  { id, title, text }: ChannelMessage,
): Promise<DeliveryResult> {
  if (mailer === null) return { problem: 'No mail server is configured (SMTP_URL).', retryAfterMs: null }
  await mailer.send({ to, subject: title, text: `${text}\n`, id })
  return { problem: null, retryAfterMs: null }
}

/** Never throws: failures are returned. */
export async function sendMessage(
  context: SendContext,
  kind: ChannelKind,
  target: ChannelTarget,
  message: ChannelMessage,
): Promise<DeliveryResult> {
  try {
    if (kind === 'email') return await sendEmail(context.mailer, target.address, message)
    const service = httpChannels[kind]
    const response = await context.http.post(service.buildRequest(target, message, context.now()))
    const problem = service.problem(response)
    return {
      problem: problem === null ? null : redactSecrets(problem, target),
      retryAfterMs: service.retryAfterMs?.(response) ?? response.retryAfterMs,
    }
  } catch (error) {
    return { problem: redactSecrets(describeError(error), target), retryAfterMs: null }
  }
}
