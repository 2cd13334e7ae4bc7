/** What all public pages have in common: methods, language, caching, compression and entity tags. */
import { apiError } from '../../errors.ts'
import type { Language } from '../../notifications/locales/notification-texts.ts'
import { matchesEtag } from '../header-values.ts'
import type { EncodedDocument } from '../rendered-documents.ts'
import { negotiateLanguage } from './language.ts'

export interface PublicRequest<Path> {
  readonly path: Path
  readonly query: URLSearchParams
  readonly language: Language
}

/** `undefined`: not found. */
type Found = PublicDocument | undefined

export interface PublicDocument {
  readonly document: { encode(acceptEncoding: string | null): Promise<EncodedDocument> }
  /** With the content type. */
  readonly headers: Readonly<Record<string, string>>
}

const commonHeaders = {
  'cache-control': 'public, max-age=5',
  vary: 'accept-language, accept-encoding',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

/** Public data: programs and pages of any origin may read it. */
export const publicData = { 'access-control-allow-origin': '*' }

/** Responds with what `read` returns. */
export async function servePublicPage<Path>(
  { url, method, headers: requested }: Request,
  path: Path,
  read: (request: PublicRequest<Path>) => Found | Promise<Found>,
): Promise<Response> {
  if (method !== 'GET' && method !== 'HEAD') {
    const error = apiError('method_not_allowed', { message: 'Method not allowed. Use GET.' })
    return Response.json(error.toBody(), { status: error.status, headers: { allow: 'GET, HEAD' } })
  }
  const { searchParams: query } = new URL(url)
  const language = negotiateLanguage(query.get('lang'), requested.get('accept-language'))
  const found = await read({ path, query, language })
  if (found === undefined) throw apiError('not_found')
  const { bytes, headers: encoding, etag } = await found.document.encode(requested.get('accept-encoding'))
  const headers = { ...commonHeaders, ...found.headers, etag }
  if (matchesEtag(requested.get('if-none-match') ?? undefined, etag))
    return new Response(null, { status: 304, headers })
  return new Response(method === 'HEAD' ? null : bytes, { headers: { ...headers, ...encoding } })
}
