/**
 * Signs a request with AWS Signature Version 4: a pure function of the request, the key and the time. It signs all
 * given headers and the host.
 */
import { createHash, createHmac } from 'node:crypto'

export interface AwsAccessKey {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** For temporary keys. */
  readonly sessionToken: string | undefined
}

function sha256Hex(...pieces: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(piece)
  return hash.digest('hex')
}

function hmacSha256(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

/** Encodes each segment of the path once more, as every service except S3 requires. */
function canonicalPath(pathname: string): string {
  return pathname
    .split('/')
    .map((piece) =>
      encodeURIComponent(piece).replaceAll(
        /[!'()*]/g,
        (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
      ),
    )
    .join('/')
}

/** The headers to add: the date, the session token and the authorization. */
export function signAwsRequest(
  request: {
    readonly url: URL
    readonly headers: readonly (readonly [name: string, value: string])[]
    readonly body: readonly Buffer[]
  },
  about: {
    readonly key: AwsAccessKey
    readonly region: string
    readonly service: string
    readonly nowMs: number
  },
): [string, string][] {
  const { key, region, service, nowMs } = about
  const time = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d{3}/g, '')
  const day = time.slice(0, 8)
  const added: [string, string][] = [['x-amz-date', time]]
  if (key.sessionToken !== undefined) added.push(['x-amz-security-token', key.sessionToken])

  const signed = [...request.headers, ...added, ['host', request.url.host] as const]
    .map(([name, value]) => [name.toLowerCase(), value.trim().replaceAll(/ +/g, ' ')] as const)
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
  const names = signed.map(([name]) => name).join(';')
  const canonical = [
    'POST',
    canonicalPath(request.url.pathname),
    '',
    ...signed.map(([name, value]) => `${name}:${value}`),
    '',
    names,
    sha256Hex(...request.body),
  ].join('\n')

  const scope = `${day}/${region}/${service}/aws4_request`
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256Hex(canonical)].join('\n')
  const dayKey = hmacSha256(`AWS4${key.secretAccessKey}`, day)
  const signature = hmacSha256(
    hmacSha256(hmacSha256(hmacSha256(dayKey, region), service), 'aws4_request'),
    toSign,
  ).toString('hex')
  const authorization = `Credential=${key.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`
  return [...added, ['authorization', `AWS4-HMAC-SHA256 ${authorization}`]]
}
