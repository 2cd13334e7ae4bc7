/** A caller of the relay in a test: an account with a balance and a key, and the requests it sends. */

import { readEvents } from '../client/event-streams.ts'

/** An account as the admin API returns it; money as decimal strings. */
export interface AccountState {
  id: string
  email: string
  tier: string
  status: string
  balance: string
  held: string
  available: string
  spent_today: string
  spent_month: string
}

export interface RequestRecord {
  request_id: string
  time: string
  account: string
  key: string
  model: string
  operation: string | null
  upstream: string | null
  http_status: number
  outcome: 'ok' | 'refused' | 'failed' | 'truncated' | 'aborted' | 'ended'
  stream: boolean
  finish: string | null
  prompt_tokens: number
  cached_tokens: number
  completion_tokens: number
  reasoning_tokens: number
  usage_source: 'provider' | 'estimate'
  clamped: boolean
  usage_clamped: boolean
  searches: number
  service_tier: string | null
  units: Record<string, unknown>
  cost: string
  count: number
  attempts: {
    upstream: string
    outcome: string
    http_status: number | null
    cost: string | null
    clamped?: true
    unpriced_tier?: string
    unpriced_class?: string
    error?: string
    upstream_request_id?: string
  }[]
}

/** What an account needs from the test server. */
export interface AccountServer {
  readonly url: string
  admin<Answer>(method: string, path: string, body?: unknown): Promise<Answer>
  requests(filter: Record<string, string>): Promise<RequestRecord[]>
}

export class Account {
  private readonly server: AccountServer
  readonly id: string
  key = { id: '', secret: '' }
  private credits = 0

  constructor(server: AccountServer, id: string) {
    this.server = server
    this.id = id
  }

  /** Creates another key and uses it from now on. */
  async newKey(fields: object = {}): Promise<{ id: string; secret: string }> {
    this.key = await this.server.admin('POST', `/accounts/${this.id}/keys`, { name: 'test', ...fields })
    return this.key
  }

  async credit(amount: string): Promise<void> {
    const key = `${this.id}-credit-${++this.credits}`
    const body = { amount: amount.replace('¥', ''), reason: 'test', idempotency_key: key }
    await this.server.admin('POST', `/accounts/${this.id}/credits`, body)
  }

  state(): Promise<AccountState> {
    return this.server.admin('GET', `/accounts/${this.id}`)
  }

  async balance(): Promise<string> {
    return (await this.state()).balance
  }

  async held(): Promise<string> {
    return (await this.state()).held
  }

  change(fields: object): Promise<AccountState> {
    return this.server.admin('PATCH', `/accounts/${this.id}`, fields)
  }

  requests(filter: Record<string, string> = {}): Promise<RequestRecord[]> {
    return this.server.requests({ account: this.id, ...filter })
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${this.server.url}${path}`, { headers: { authorization: this.authorization, ...headers } })
  }

  /** Sends a request as an OpenAI client would; `path` defaults to chat completions. */
  post(body: object | string, options: PostOptions = {}): Promise<Response> {
    return fetch(`${this.server.url}${options.path ?? '/v1/chat/completions'}`, {
      method: 'POST',
      headers: { authorization: this.authorization, 'content-type': 'application/json', ...options.headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      signal: options.signal ?? null,
    })
  }

  private get authorization(): string {
    return `Bearer ${this.key.secret}`
  }
}

export interface PostOptions {
  path?: string
  headers?: Record<string, string>
  signal?: AbortSignal
}

/** A chat completion request; `fields` are added to it unchanged. */
export function chatRequest(model: string, fields: object = {}): { model: string; messages: object[] } {
  return { model, messages: [{ role: 'user', content: 'Say hello.' }], ...fields }
}

/** The event payloads of a stream of OpenAI's format that ended normally or was truncated between events. */
export async function readPayloads(response: Response): Promise<string[]> {
  const blocks = await Array.fromAsync(readEvents(response))
  return blocks.filter((block) => block.startsWith('data: ')).map((block) => block.slice('data: '.length))
}
