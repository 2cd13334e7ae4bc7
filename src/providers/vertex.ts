/**
 * Gemini on Google Cloud (Vertex AI): Gemini's format under a project's address, with a token that a service account
 * signs in for; Anthropic's models there in their own (vertex-claude.ts). The credential is the account's key file as JSON, or an API key of Vertex's express mode.
 *
 * The address is `https://{location}-aiplatform.googleapis.com/v1` (`https://aiplatform.googleapis.com/v1` is the
 * location "global"), whose project is the key file's; or one that names it all,
 * `…/v1/projects/{project}/locations/{location}/publishers/google`.
 */
import { createPrivateKey, sign } from 'node:crypto'
import { credentialObject } from './credential.ts'
import { askGemini, geminiTranslation, googleStatus } from './google/gemini.ts'
import { numberIn, textIn, type Json } from './json-fields.ts'
import type { Call, Outgoing, Provider, SignIn } from './provider.ts'
import { isObject } from './usage.ts'
import { askClaude, claudeTranslation, isClaude } from './google/vertex-claude.ts'

const scope = 'https://www.googleapis.com/auth/cloud-platform'
const tokenAddress = 'https://oauth2.googleapis.com/token'
const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const lifetimeSeconds = 3600

/** The key file of a service account; `null` for an API key. */
function accountOf(credential: string): Json | null {
  return credential.startsWith('{') ? credentialObject(credential) : null
}

function needed(account: Json, name: string): string {
  const value = textIn(account, name)
  if (value === undefined) throw new Error(`The credential has no ${name}.`)
  return value
}

function base64url(json: Json): string {
  return Buffer.from(JSON.stringify(json)).toString('base64url')
}

/** A signed claim to be the account (RFC 7523). */
function assertionOf(account: Json, audience: string, nowMs: number): string {
  const issuedAt = Math.floor(nowMs / 1000)
  const head = base64url({ alg: 'RS256', typ: 'JWT', kid: textIn(account, 'private_key_id') })
  const email = needed(account, 'client_email')
  const claims = { iss: email, scope, aud: audience, iat: issuedAt, exp: issuedAt + lifetimeSeconds }
  const text = `${head}.${base64url(claims)}`
  const key = createPrivateKey(needed(account, 'private_key'))
  return `${text}.${sign('RSA-SHA256', Buffer.from(text), key).toString('base64url')}`
}

function tokenOf(body: unknown): { token: string; lifetimeMs: number } {
  const token = isObject(body) ? textIn(body, 'access_token') : undefined
  if (!isObject(body) || token === undefined) throw new Error('There is no token in the answer.')
  return { token, lifetimeMs: (numberIn(body, 'expires_in') ?? lifetimeSeconds) * 1000 }
}

/** The address with its project and location. */
function placeOf(baseUrl: string, account: Json | null): string {
  const place = baseUrl.replace(/\/publishers\/.*$/, '')
  if (account === null || place.includes('/projects/')) return place
  const location = /^([a-z0-9-]+)-aiplatform\./.exec(new URL(place).hostname)?.[1] ?? 'global'
  return `${place}/projects/${encodeURIComponent(needed(account, 'project_id'))}/locations/${location}`
}

/** As `placeOf`, with the publisher. */
function fullAddress(baseUrl: string, account: Json | null): string {
  return baseUrl.includes('/publishers/') ? baseUrl : `${placeOf(baseUrl, account)}/publishers/google`
}

function proofOf({ credential, token }: Call, account: Json | null): [string, string] {
  return account === null ? ['x-goog-api-key', credential] : ['authorization', `Bearer ${token ?? ''}`]
}

const common = {
  name: 'vertex',
  title: 'Google Vertex AI',
  baseUrl: 'https://aiplatform.googleapis.com/v1',
  signIn(call: Call): SignIn | null {
    const account = accountOf(call.credential)
    if (account === null) return null
    const url = textIn(account, 'token_uri') ?? tokenAddress
    const assertion = assertionOf(account, url, call.nowMs)
    const form = new URLSearchParams({ grant_type: grantType, assertion })
    const headers = [['content-type', 'application/x-www-form-urlencoded']] as const
    return { outgoing: { url, headers, body: [Buffer.from(form.toString())] }, tokenOf }
  },
  statusOf: googleStatus,
} satisfies Partial<Provider>

const claude: Provider = {
  ...common,
  speaks: 'messages',
  ask(call: Call): Outgoing {
    const account = accountOf(call.credential)
    return askClaude(call, placeOf(call.baseUrl, account), proofOf(call, account))
  },
  translation: claudeTranslation,
}

export const vertex: Provider = {
  ...common,
  ask(call: Call): Outgoing {
    const account = accountOf(call.credential)
    return askGemini(call, fullAddress(call.baseUrl, account), proofOf(call, account))
  },
  translation: geminiTranslation,
  dialectOf: (model) => (isClaude(model) ? claude : undefined),
}
