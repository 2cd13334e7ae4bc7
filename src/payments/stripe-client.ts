/** Stripe's own library, loaded on first use, over the relay's guarded HTTP. */
import type Stripe from 'stripe'
import { ProviderError } from './payment-method.ts'
import type { ProviderHttp } from './provider-http.ts'

/** Of a call, with its second attempt. */
const maxCallMs = 10_000
/** A page of a list of 100 payments with their sources has about 1 MB. */
const maxResponseBytes = 8 * 1024 ** 2
/** The others say which machine, and which tools of its user, send the request. */
const sentHeaders = ['accept', 'authorization', 'content-type', 'idempotency-key', 'stripe-version']
/** The library prints what `stripe-notice` says to standard error, unless it does not see it. */
const unseenHeaders = new Set(['content-encoding', 'stripe-notice'])

/**
 * Stripe has understood the request and rejects it: what was asked for was not done. Where that is not expected,
 * it says nothing about a payment. Contains no text of Stripe's.
 */
export class StripeRejection extends ProviderError {
  /** Stripe's code, such as `amount_too_small` or `card_declined`. */
  readonly code: string
  /** The parameter that is wrong, or null. */
  readonly parameter: string | null
  /** The bank rejected the card. */
  readonly isDecline: boolean

  constructor(error: Stripe.errors.StripeError) {
    const isDecline = error.type === 'StripeCardError'
    const code = (isDecline ? error.decline_code : null) ?? error.code ?? 'invalid_request'
    const shownCode = /^[a-z0-9_]{1,60}$/.test(code) ? code : 'invalid_request'
    super(`Stripe rejects it (${shownCode}).`)
    this.code = shownCode
    this.parameter = error.param ?? null
    this.isDecline = isDecline
  }
}

/** The idempotency key was used before for another request. */
export class StripeKeyUsedError extends ProviderError {}

const problems: Readonly<Record<string, string>> = {
  StripeAuthenticationError: 'Stripe does not accept the secret key.',
  StripePermissionError: 'The secret key has no permission for this call.',
  StripeRateLimitError: 'Stripe asks for fewer requests.',
}

function translate(error: unknown, errors: typeof Stripe.errors): Error {
  if (!(error instanceof errors.StripeError))
    return new ProviderError('Stripe’s response cannot be understood.')
  const { type } = error
  if (type === 'StripeIdempotencyError')
    return new StripeKeyUsedError('The key was used for another request.')
  if (type === 'StripeInvalidRequestError' || type === 'StripeCardError') return new StripeRejection(error)
  if (error.detail instanceof ProviderError) return error.detail
  return new ProviderError(problems[type] ?? 'Stripe could not process the request.')
}

/** The id of an object that Stripe states in full or by its id. */
export function idOf(object: string | { readonly id: string } | null): string | null {
  return typeof object === 'string' ? object : (object?.id ?? null)
}

export interface StripeClientOptions {
  readonly secretKey: string
  /** STRIPE_BASE, without a path. */
  readonly base: string
  readonly http: ProviderHttp
  readonly callMs?: number
}

export class StripeClient {
  readonly #options: StripeClientOptions
  #loaded: Promise<{ readonly stripe: Stripe; readonly library: typeof Stripe }> | null = null

  constructor(options: StripeClientOptions) {
    this.#options = options
  }

  /**
   * Runs calls of the library. Throws a {@link StripeRejection} if Stripe rejects one of them, a {@link StripeKeyUsedError},
   * or another `ProviderError` if there was no response that can be understood.
   */
  async call<Result>(run: (stripe: Stripe) => Promise<Result>): Promise<Result> {
    const { stripe, library } = await (this.#loaded ??= this.#load())
    try {
      return await run(stripe)
    } catch (error) {
      if (error instanceof ProviderError) throw error
      throw translate(error, library.errors)
    }
  }

  async webhooks(): Promise<typeof Stripe.webhooks> {
    return (await (this.#loaded ??= this.#load())).library.webhooks
  }

  /** Loading takes 0.3 s and 40 MB, which only relays that take payments through Stripe shall spend. */
  async #load() {
    const { secretKey, base } = this.#options
    const { default: library } = await import('stripe')
    const { protocol, hostname, port } = new URL(base)
    const stripe = new library(secretKey, {
      protocol: protocol === 'http:' ? 'http' : 'https',
      host: hostname,
      port,
      httpClient: library.createFetchHttpClient((url: string | URL | Request, init?: RequestInit) =>
        this.#send(url instanceof Request ? url.url : String(url), init),
      ),
      // `#send` has both: the library would give each attempt the whole time.
      maxNetworkRetries: 0,
      timeout: 2 * maxCallMs,
      telemetry: false,
    })
    return { stripe, library }
  }

  async #send(url: string, init: RequestInit = {}): Promise<Response> {
    const given = new Headers(init.headers)
    const headers = Object.fromEntries(
      sentHeaders.flatMap((name) => {
        const value = given.get(name)
        return value === null ? [] : [[name, value]]
      }),
    )
    const { http, callMs = maxCallMs } = this.#options
    const signal = AbortSignal.timeout(callMs)
    const request = {
      method: init.method === 'POST' ? 'POST' : 'GET',
      url,
      headers,
      body: typeof init.body === 'string' ? init.body : null,
      maxBytes: maxResponseBytes,
      signal,
    } as const
    // Idempotency keys make a second attempt harmless.
    const response = await http.request(request).catch((error: unknown) => {
      if (signal.aborted) throw error
      return http.request(request)
    })
    const received = Object.entries(response.headers).filter(
      (header): header is [string, string] => typeof header[1] === 'string' && !unseenHeaders.has(header[0]),
    )
    return new Response(new Uint8Array(response.body), { status: response.status, headers: received })
  }
}
