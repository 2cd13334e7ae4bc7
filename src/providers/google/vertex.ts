/**
 * Google Cloud's Vertex AI: Gemini's format under a project's URL, with an access token of a service account;
 * Anthropic's models have their own format (vertex-claude.ts). The credential is the account's key file as JSON, or an
 * API key of Vertex's express mode.
 *
 * The base URL is `https://{location}-aiplatform.googleapis.com/v1` (`https://aiplatform.googleapis.com/v1` is the
 * location "global"), with the project from the key file; or the full
 * `…/v1/projects/{project}/locations/{location}/publishers/google`.
 */
import { createPrivateKey, sign } from 'node:crypto'

import { anthropicTranslation } from '../anthropic/anthropic-response.ts'
import { vertexEmbeddings } from './google-embeddings.ts'
import { geminiTranslation } from './gemini-response.ts'
import { buildGeminiRequest, googleEffectiveStatus } from './gemini.ts'
import { getNumber, getString, isObject, parseCredentialJson, type Json } from '../json-fields.ts'
import type { UpstreamCall, OutgoingRequest, Provider, TokenRequest } from '../provider.ts'
import { buildClaudeRequest, isClaude } from './vertex-claude.ts'

const scope = 'https://www.googleapis.com/auth/cloud-platform'
const defaultTokenUrl = 'https://oauth2.googleapis.com/token'
const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const lifetimeSeconds = 3600

/** The key file of a service account; `null` for an API key. */
function parseServiceAccount(credential: string): Json | null {
  return credential.startsWith('{') ? parseCredentialJson(credential) : null
}

function requireField(account: Json, name: string): string {
  const value = getString(account, name)
  if (value === undefined) throw new Error(`The credential has no \`${name}\`.`)
  return value
}

function base64url(json: Json): string {
  return Buffer.from(JSON.stringify(json)).toString('base64url')
}

/** A signed assertion of the account's identity (RFC 7523). */
function signAssertion(account: Json, audience: string, nowMs: number): string {
  const issuedAt = Math.floor(nowMs / 1000)
  const head = base64url({ alg: 'RS256', typ: 'JWT', kid: getString(account, 'private_key_id') })
  const email = requireField(account, 'client_email')
  const claims = { iss: email, scope, aud: audience, iat: issuedAt, exp: issuedAt + lifetimeSeconds }
  const text = `${head}.${base64url(claims)}`
  const key = createPrivateKey(requireField(account, 'private_key'))
  return `${text}.${sign('RSA-SHA256', Buffer.from(text), key).toString('base64url')}`
}

function parseToken(body: unknown): { token: string; lifetimeMs: number } {
  const token = isObject(body) ? getString(body, 'access_token') : undefined
  if (!isObject(body) || token === undefined) throw new Error('The response has no access token.')
  return { token, lifetimeMs: (getNumber(body, 'expires_in') ?? lifetimeSeconds) * 1000 }
}

/** The URL with project and location. */
function projectUrl(baseUrl: string, account: Json | null): string {
  const root = baseUrl.replace(/\/publishers\/.*$/, '')
  if (account === null || root.includes('/projects/')) return root
  const location = /^([a-z0-9-]+)-aiplatform\./.exec(new URL(root).hostname)?.[1] ?? 'global'
  return `${root}/projects/${encodeURIComponent(requireField(account, 'project_id'))}/locations/${location}`
}

/** As `projectUrl`, with the publisher. */
function publisherUrl(baseUrl: string, account: Json | null): string {
  return baseUrl.includes('/publishers/') ? baseUrl : `${projectUrl(baseUrl, account)}/publishers/google`
}

function authHeader({ credential, token }: UpstreamCall, account: Json | null): [string, string] {
  return account === null ? ['x-goog-api-key', credential] : ['authorization', `Bearer ${token ?? ''}`]
}

const vertexBase = {
  name: 'vertex',
  title: 'Google Vertex AI',
  baseUrl: 'https://aiplatform.googleapis.com/v1',
  buildTokenRequest(call: UpstreamCall): TokenRequest | null {
    const account = parseServiceAccount(call.credential)
    if (account === null) return null
    const url = getString(account, 'token_uri') ?? defaultTokenUrl
    const assertion = signAssertion(account, url, call.nowMs)
    const form = new URLSearchParams({ grant_type: grantType, assertion })
    const headers = [['content-type', 'application/x-www-form-urlencoded']] as const
    return { request: { url, headers, body: [Buffer.from(form.toString())] }, parseToken }
  },
  effectiveStatus: googleEffectiveStatus,
} satisfies Partial<Provider>

const claude: Provider = {
  ...vertexBase,
  nativeFormat: 'messages',
  buildRequest(call: UpstreamCall): OutgoingRequest {
    const account = parseServiceAccount(call.credential)
    return buildClaudeRequest(call, projectUrl(call.baseUrl, account), authHeader(call, account))
  },
  translation: anthropicTranslation,
}

function addressOf(call: UpstreamCall): { url: string; authHeader: [string, string] } {
  const account = parseServiceAccount(call.credential)
  return { url: publisherUrl(call.baseUrl, account), authHeader: authHeader(call, account) }
}

/** Of the `text-embedding` models; those of Gemini take one text at a time. */
const maxEmbeddingInputs = 250

export const vertex: Provider = {
  ...vertexBase,
  buildRequest(call: UpstreamCall): OutgoingRequest {
    const account = parseServiceAccount(call.credential)
    return buildGeminiRequest(call, publisherUrl(call.baseUrl, account), authHeader(call, account))
  },
  translation: geminiTranslation,
  embeddings: vertexEmbeddings(maxEmbeddingInputs, addressOf),
  forModel(model) {
    if (isClaude(model)) return claude
    return model.startsWith('gemini-embedding') ? geminiEmbedder : undefined
  },
}

const geminiEmbedder: Provider = { ...vertex, embeddings: vertexEmbeddings(1, addressOf) }
