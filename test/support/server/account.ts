/** Someone who uses the relay in a story: an account with a balance and a key, and the questions it asks. */

/** An account as the automation contract tells it; money as decimal strings. */
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
  account: string
  key: string
  model: string
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
  usage_clamped: boolean
  searches: number
  cost: string
  attempts: {
    upstream: string
    outcome: string
    http_status: number | null
    cost: string | null
    clamped?: true
  }[]
}

/** What an account needs of its house. */
export interface Doors {
  readonly url: string
  admin<Answer>(method: string, path: string, body?: unknown): Promise<Answer>
  requests(filter: Record<string, string>): Promise<RequestRecord[]>
}

/** Someone with a balance and a key. */
export class Account {
  private readonly house: Doors
  readonly id: string
  key = { id: '', secret: '' }
  private credits = 0

  constructor(house: Doors, id: string) {
    this.house = house
    this.id = id
  }

  /** Makes another key and uses it from now on. */
  async newKey(fields: object = {}): Promise<{ id: string; secret: string }> {
    this.key = await this.house.admin('POST', `/accounts/${this.id}/keys`, { name: 'story', ...fields })
    return this.key
  }

  async credit(amount: string): Promise<void> {
    const key = `${this.id}-credit-${++this.credits}`
    const body = { amount: amount.replace('¥', ''), reason: 'story', idempotency_key: key }
    await this.house.admin('POST', `/accounts/${this.id}/credits`, body)
  }

  state(): Promise<AccountState> {
    return this.house.admin('GET', `/accounts/${this.id}`)
  }

  async balance(): Promise<string> {
    return (await this.state()).balance
  }

  async held(): Promise<string> {
    return (await this.state()).held
  }

  change(fields: object): Promise<AccountState> {
    return this.house.admin('PATCH', `/accounts/${this.id}`, fields)
  }

  requests(filter: Record<string, string> = {}): Promise<RequestRecord[]> {
    return this.house.requests({ account: this.id, ...filter })
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${this.house.url}${path}`, { headers: { authorization: this.authorization, ...headers } })
  }

  /** Asks as a client of the format would; `path` is another endpoint than chat completions. */
  post(body: object | string, options: Asking = {}): Promise<Response> {
    return fetch(`${this.house.url}${options.path ?? '/v1/chat/completions'}`, {
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

export interface Asking {
  path?: string
  headers?: Record<string, string>
  signal?: AbortSignal
}

/** A question to a model; `fields` are added to the request as they are. */
export function question(model: string, fields: object = {}): { model: string; messages: object[] } {
  return { model, messages: [{ role: 'user', content: 'Say hello.' }], ...fields }
}

/** The payloads of a streamed answer that came to its regular end or broke off cleanly. */
export async function payloadsOf(reply: Response): Promise<string[]> {
  const blocks = (await reply.text()).split('\n\n')
  return blocks.filter((block) => block.startsWith('data: ')).map((block) => block.slice('data: '.length))
}
