/**
 * Parses values of request headers. Callers choose every byte of them, so each parser takes linear time: no expression
 * that can match the same spaces in several ways.
 */

function splitList(text: string, separator: string): string[] {
  return text.split(separator).map((part) => part.trim())
}

/** The credentials of `Authorization: Bearer …` (RFC 6750); undefined for another scheme or without credentials. */
export function parseBearer(authorization: string): string | undefined {
  const scheme = 'bearer '
  if (authorization.slice(0, scheme.length).toLowerCase() !== scheme) return undefined
  const credentials = authorization.slice(scheme.length).trim()
  return credentials === '' ? undefined : credentials
}

/** The first available coding that `Accept-Encoding` accepts (RFC 9110, 12.5.3); `null`: none, send it uncompressed. */
export function negotiateEncoding<Coding extends string>(
  acceptEncoding: string | undefined,
  available: readonly Coding[],
): Coding | null {
  const accepted = new Set(
    splitList((acceptEncoding ?? '').toLowerCase(), ',').flatMap((part) => {
      const [name = '', ...parameters] = splitList(part, ';')
      return parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)) ? [] : [name]
    }),
  )
  return available.find((coding) => accepted.has(coding)) ?? null
}

/** Whether `If-None-Match` lists this entity tag. */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  return ifNoneMatch !== undefined && splitList(ifNoneMatch, ',').includes(etag)
}
