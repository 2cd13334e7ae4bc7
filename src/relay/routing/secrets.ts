/** The secrets of a call, which no text of an upstream may show. */
import { toBoundedText } from '../../lib/valid-text.ts'
import type { UpstreamCall } from '../../providers/provider.ts'

/** Of a text of an upstream. */
export const maxMessageLength = 2000
/** Plain words after "key" and "Bearer" are not secrets; a full stop at the end belongs to the sentence. */
const secretPattern =
  /\b(?:(?:sk|rk|pk|gsk|xai|key|Bearer)(?:[-_]| (?![a-z]{1,16}(?:-[a-z]{1,16})?\.*(?![\w\-.*])))|AIza)[\w\-.*]{7,}[\w\-*]/g

/** Between secrets, none of which contains it. */
const separator = '\0'
/** A shorter value of a header is no secret, and may be part of any text. */
const minHeaderSecretLength = 8

/** The secrets, and the parts of each that are secrets on their own, as in a pair of keys or a key file. */
function secretParts(secrets: string): string[] {
  const parts = secrets.replaceAll('\\n', '\n').split(/[\s":,{}\0]+/)
  const whole = secrets.split(separator).filter((secret) => secret !== '')
  return [...whole, ...parts.filter((part) => part.length >= 16)]
}

/** The secrets of a call: its credential, the token that it was exchanged for, and the added headers. */
export function secretsOf({
  credential,
  token,
  added,
}: Pick<UpstreamCall, 'credential' | 'token' | 'added'>): string {
  if (!added) return token === undefined ? credential : credential + separator + token
  const values = added.headers.map(([, value]) => value)
  const long = values.filter((value) => value.length >= minHeaderSecretLength)
  return [credential, token ?? '', ...long].join(separator)
}

/** The text without our credential, or anything that looks like one. */
export function redactSecrets(message: string, credential: string): string {
  let redacted = message
  if (credential !== '')
    for (const part of secretParts(credential)) redacted = redacted.replaceAll(part, '[removed]')
  return toBoundedText(redacted.replaceAll(secretPattern, '[removed]'), maxMessageLength)
}
