/**
 * Amazon's signature of a request (AWS Signature Version 4): pure, given the time.
 * Every header that is handed in is signed, and the host.
 */
import { createHash, createHmac } from 'node:crypto'

export interface AwsKey {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Of temporary keys. */
  readonly sessionToken: string | undefined
}

function hashOf(...pieces: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(piece)
  return hash.digest('hex')
}

function keyed(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

/** Each piece of the path, encoded once more than it is sent (every service but S3 wants that). */
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

/** The headers to send beside `headers`: the date, the session's token, the authorization. */
export function awsHeaders(
  request: {
    readonly url: URL
    readonly headers: readonly (readonly [name: string, value: string])[]
    readonly body: readonly Buffer[]
  },
  about: { readonly key: AwsKey; readonly region: string; readonly service: string; readonly nowMs: number },
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
    hashOf(...request.body),
  ].join('\n')

  const scope = `${day}/${region}/${service}/aws4_request`
  const toSign = ['AWS4-HMAC-SHA256', time, scope, hashOf(canonical)].join('\n')
  const dayKey = keyed(`AWS4${key.secretAccessKey}`, day)
  const signature = keyed(keyed(keyed(keyed(dayKey, region), service), 'aws4_request'), toSign).toString(
    'hex',
  )
  const proof = `Credential=${key.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`
  return [...added, ['authorization', `AWS4-HMAC-SHA256 ${proof}`]]
}
