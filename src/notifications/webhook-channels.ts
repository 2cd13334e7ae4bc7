/**
 * The kinds of channels: the meaning of their address and secret, and their message format as documented by
 * each service. Texts are sent as plain text wherever possible, because they can contain anything.
 */
import { createHmac } from 'node:crypto'
import type { ChannelKind } from '../db/schema/schema.ts'

/** Where a channel delivers to. Address and secret are encrypted at rest. */
export interface ChannelTarget {
  /** An e-mail address, an HTTP URL or a Telegram chat. */
  readonly address: string
  readonly secret: string | null
  /** A Bot API server other than Telegram's own. */
  readonly server: string | null
}

/** A message for people and for programs. */
export interface ChannelMessage {
  /** The same at every attempt. */
  readonly id: string
  readonly title: string
  readonly text: string
  /** The notifications as JSON, for webhooks. */
  readonly payload: object
}

export interface HttpRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface HttpResponse {
  readonly status: number
  readonly body: string
}

interface HttpChannel {
  buildRequest(target: ChannelTarget, message: ChannelMessage, nowMs: number): HttpRequest
  /** Why the message was not accepted, or null if it was. */
  problem(response: HttpResponse): string | null
  /** When to retry, if the response body says so. */
  retryAfterMs?(response: HttpResponse): number | null
}

const json = { 'content-type': 'application/json; charset=utf-8' }

function hmac(key: string | Buffer, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64')
}

/** Truncates to this many bytes of UTF-8, at the end of a character. */
export function truncateToBytes(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text
  const cut = Buffer.from(text)
    .subarray(0, maxBytes - 3)
    .toString()
  return `${cut.replace(/\uFFFD+$/, '')}…`
}

function plainText({ title, text }: ChannelMessage, maxBytes: number): string {
  return truncateToBytes(`${title}\n\n${text}`, maxBytes)
}

function parseObject({ body }: HttpResponse): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

function statusProblem({ status }: HttpResponse): string | null {
  return status >= 200 && status < 300 ? null : `HTTP ${status}`
}

/** For services that always respond with 200 and report errors as a number in the body. */
function codeProblem(response: HttpResponse, codes: readonly string[], messageField: string): string | null {
  const failed = statusProblem(response)
  if (failed !== null) return failed
  const fields = parseObject(response)
  const code = codes.map((name) => fields[name]).find((value) => value !== undefined)
  if (code === 0) return null
  return `${JSON.stringify(code) ?? 'no code'} ${typeof fields[messageField] === 'string' ? fields[messageField] : ''}`.trim()
}

/**
 * Standard Webhooks 1.0: the signature covers id, time and body; receivers reject old times and known ids.
 */
const webhook: HttpChannel = {
  buildRequest({ address, secret }, { id, payload }, nowMs) {
    const timestamp = String(Math.floor(nowMs / 1000))
    const body = JSON.stringify(payload)
    const key = Buffer.from((secret ?? '').replace(/^whsec_/, ''), 'base64')
    const signature = `v1,${hmac(key, `${id}.${timestamp}.${body}`)}`
    const signed = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature }
    return { url: address, headers: { ...json, ...signed }, body }
  },
  problem: statusProblem,
}

/** Custom bots. `sign` is an HMAC of the empty string, with time and secret as the key. */
const feishu: HttpChannel = {
  buildRequest({ address, secret }, message, nowMs) {
    const timestamp = String(Math.floor(nowMs / 1000))
    const signed = secret === null ? {} : { timestamp, sign: hmac(`${timestamp}\n${secret}`, '') }
    const text = truncateToBytes(message.text, 15_000)
    const content = { post: { zh_cn: { title: message.title, content: [[{ tag: 'text', text }]] } } }
    return { url: address, headers: json, body: JSON.stringify({ ...signed, msg_type: 'post', content }) }
  },
  problem: (response) => codeProblem(response, ['code', 'StatusCode'], 'msg'),
}

/**
 * Custom robots. `sign` is an HMAC of time and secret, with the secret as the key, and is sent in the URL.
 */
const dingtalk: HttpChannel = {
  buildRequest({ address, secret }, message, nowMs) {
    const url = new URL(address)
    if (secret !== null) {
      url.searchParams.set('timestamp', String(nowMs))
      url.searchParams.set('sign', hmac(secret, `${nowMs}\n${secret}`))
    }
    const body = JSON.stringify({ msgtype: 'text', text: { content: plainText(message, 15_000) } })
    return { url: url.href, headers: json, body }
  },
  problem: (response) => codeProblem(response, ['errcode'], 'errmsg'),
}

/** Group robots, whose secret is part of their URL. At most 2,048 bytes of text. */
const wecom: HttpChannel = {
  buildRequest({ address }, message) {
    const body = JSON.stringify({ msgtype: 'text', text: { content: plainText(message, 2048) } })
    return { url: address, headers: json, body }
  },
  problem: (response) => codeProblem(response, ['errcode'], 'errmsg'),
}

function escapeEntities(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** Incoming webhooks, whose secret is part of their URL. `text` is what push notifications show. */
const slack: HttpChannel = {
  buildRequest({ address }, message) {
    const [title, text] = [truncateToBytes(message.title, 150), truncateToBytes(message.text, 2900)]
    const blocks = [
      { type: 'header', text: { type: 'plain_text', text: title, emoji: false } },
      { type: 'section', text: { type: 'plain_text', text, emoji: false } },
    ]
    return { url: address, headers: json, body: JSON.stringify({ text: escapeEntities(title), blocks }) }
  },
  problem: (response) =>
    response.status === 200 && response.body.trim() === 'ok'
      ? null
      : `HTTP ${response.status} ${response.body.slice(0, 100)}`.trim(),
}

const telegramServer = 'https://api.telegram.org'

/** A bot's message to a chat. The secret is the bot's token. At most 4,096 characters. */
const telegram: HttpChannel = {
  buildRequest({ address, secret, server }, message) {
    const url = `${server ?? telegramServer}/bot${secret ?? ''}/sendMessage`
    const text = plainText(message, 4000)
    const body = JSON.stringify({ chat_id: address, text, link_preview_options: { is_disabled: true } })
    return { url, headers: json, body }
  },
  problem(response) {
    const { ok, description } = parseObject(response)
    if (ok === true) return null
    return `HTTP ${response.status} ${typeof description === 'string' ? description : ''}`.trim()
  },
  retryAfterMs(response) {
    const { parameters } = parseObject(response)
    const hasRetryAfter = typeof parameters === 'object' && parameters !== null && 'retry_after' in parameters
    return hasRetryAfter && typeof parameters.retry_after === 'number' ? parameters.retry_after * 1000 : null
  },
}

export const httpChannels: Readonly<Record<Exclude<ChannelKind, 'email'>, HttpChannel>> = {
  webhook,
  feishu,
  dingtalk,
  wecom,
  slack,
  telegram,
}

export const channelKinds = ['email', 'webhook', 'feishu', 'dingtalk', 'wecom', 'slack', 'telegram'] as const
