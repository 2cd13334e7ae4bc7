/**
 * The kinds of channels: what their address is, what their secret is for, and how a message is written for each, as the
 * services themselves document it. Texts go as plain text wherever a service has it, for they may hold anything.
 */
import { createHmac } from 'node:crypto'
import type { ChannelKind } from '../db/schema/schema.ts'

/** Where a channel leads; both are sealed at rest. */
export interface Target {
  /** An e-mail address, an http address, or a chat of Telegram. */
  readonly address: string
  readonly secret: string | null
  /** Of a Bot API server other than Telegram's own. */
  readonly server: string | null
}

/** What is to be said: in words, and for programs. */
export interface Message {
  /** The same at every try. */
  readonly id: string
  readonly title: string
  readonly text: string
  /** JSON of the notices, for webhooks. */
  readonly payload: object
}

export interface Outgoing {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Answer {
  readonly status: number
  readonly body: string
}

interface HttpKind {
  outgoing(target: Target, message: Message, nowMs: number): Outgoing
  /** Why it was not taken, or null. */
  problem(answer: Answer): string | null
  /** When it may come again, where the answer's body tells it. */
  retryAfterMs?(answer: Answer): number | null
}

const json = { 'content-type': 'application/json; charset=utf-8' }

function hmac(key: string | Buffer, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64')
}

/** Cut to so many bytes of UTF-8, at a character's end. */
export function cutToBytes(text: string, most: number): string {
  if (Buffer.byteLength(text) <= most) return text
  const cut = Buffer.from(text)
    .subarray(0, most - 3)
    .toString()
  return `${cut.replace(/\uFFFD+$/, '')}…`
}

function plain({ title, text }: Message, mostBytes: number): string {
  return cutToBytes(`${title}\n\n${text}`, mostBytes)
}

function objectIn({ body }: Answer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

function statusProblem({ status }: Answer): string | null {
  return status >= 200 && status < 300 ? null : `HTTP ${status}`
}

/** Services that answer 200 whatever happened, and tell it by a number. */
function codeProblem(answer: Answer, codes: readonly string[], words: string): string | null {
  const failed = statusProblem(answer)
  if (failed !== null) return failed
  const told = objectIn(answer)
  const code = codes.map((name) => told[name]).find((value) => value !== undefined)
  if (code === 0) return null
  return `${JSON.stringify(code) ?? 'no code'} ${typeof told[words] === 'string' ? told[words] : ''}`.trim()
}

/** Standard Webhooks 1.0: the signature covers id, time and body; receivers refuse old times and known ids. */
const webhook: HttpKind = {
  outgoing({ address, secret }, { id, payload }, nowMs) {
    const timestamp = String(Math.floor(nowMs / 1000))
    const body = JSON.stringify(payload)
    const key = Buffer.from((secret ?? '').replace(/^whsec_/, ''), 'base64')
    const signature = `v1,${hmac(key, `${id}.${timestamp}.${body}`)}`
    const signed = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature }
    return { url: address, headers: { ...json, ...signed }, body }
  },
  problem: statusProblem,
}

/** Custom bots; `sign` is made with time and secret as the key, over nothing. */
const feishu: HttpKind = {
  outgoing({ address, secret }, message, nowMs) {
    const timestamp = String(Math.floor(nowMs / 1000))
    const signed = secret === null ? {} : { timestamp, sign: hmac(`${timestamp}\n${secret}`, '') }
    const text = cutToBytes(message.text, 15_000)
    const content = { post: { zh_cn: { title: message.title, content: [[{ tag: 'text', text }]] } } }
    return { url: address, headers: json, body: JSON.stringify({ ...signed, msg_type: 'post', content }) }
  },
  problem: (answer) => codeProblem(answer, ['code', 'StatusCode'], 'msg'),
}

/** Custom robots; `sign` is made with the secret as the key, over time and secret, and goes into the address. */
const dingtalk: HttpKind = {
  outgoing({ address, secret }, message, nowMs) {
    const url = new URL(address)
    if (secret !== null) {
      url.searchParams.set('timestamp', String(nowMs))
      url.searchParams.set('sign', hmac(secret, `${nowMs}\n${secret}`))
    }
    const body = JSON.stringify({ msgtype: 'text', text: { content: plain(message, 15_000) } })
    return { url: url.href, headers: json, body }
  },
  problem: (answer) => codeProblem(answer, ['errcode'], 'errmsg'),
}

/** Group robots, whose secret is in their address; at most 2,048 bytes of text. */
const wecom: HttpKind = {
  outgoing({ address }, message) {
    const body = JSON.stringify({ msgtype: 'text', text: { content: plain(message, 2048) } })
    return { url: address, headers: json, body }
  },
  problem: (answer) => codeProblem(answer, ['errcode'], 'errmsg'),
}

function withEntities(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** Incoming webhooks, whose secret is in their address. `text` is what notifications show. */
const slack: HttpKind = {
  outgoing({ address }, message) {
    const [title, text] = [cutToBytes(message.title, 150), cutToBytes(message.text, 2900)]
    const blocks = [
      { type: 'header', text: { type: 'plain_text', text: title, emoji: false } },
      { type: 'section', text: { type: 'plain_text', text, emoji: false } },
    ]
    return { url: address, headers: json, body: JSON.stringify({ text: withEntities(title), blocks }) }
  },
  problem: (answer) =>
    answer.status === 200 && answer.body.trim() === 'ok'
      ? null
      : `HTTP ${answer.status} ${answer.body.slice(0, 100)}`.trim(),
}

const telegramServer = 'https://api.telegram.org'

/** A bot's message to a chat; the secret is the bot's token. At most 4,096 characters. */
const telegram: HttpKind = {
  outgoing({ address, secret, server }, message) {
    const url = `${server ?? telegramServer}/bot${secret ?? ''}/sendMessage`
    const text = plain(message, 4000)
    const body = JSON.stringify({ chat_id: address, text, link_preview_options: { is_disabled: true } })
    return { url, headers: json, body }
  },
  problem(answer) {
    const { ok, description } = objectIn(answer)
    if (ok === true) return null
    return `HTTP ${answer.status} ${typeof description === 'string' ? description : ''}`.trim()
  },
  retryAfterMs(answer) {
    const { parameters } = objectIn(answer)
    const isTold = typeof parameters === 'object' && parameters !== null && 'retry_after' in parameters
    return isTold && typeof parameters.retry_after === 'number' ? parameters.retry_after * 1000 : null
  },
}

export const httpKinds: Readonly<Record<Exclude<ChannelKind, 'email'>, HttpKind>> = {
  webhook,
  feishu,
  dingtalk,
  wecom,
  slack,
  telegram,
}

export const channelKinds = ['email', 'webhook', 'feishu', 'dingtalk', 'wecom', 'slack', 'telegram'] as const
