/** Serves the public status to everybody. Its data and the documents rendered from it are cached for a few seconds. */
import { apiError } from '../../errors.ts'
import type { FetchHandler } from '../server/fetch-listener.ts'
import type { AppContext } from '../app-context.ts'
import { RenderedDocuments } from '../rendered-documents.ts'
import { publicUrlOf } from '../public-urls.ts'
import { statusJson, renderRss } from './feeds.ts'
import { renderStatusPage } from './page.ts'
import { statusPathOf, type StatusPath } from './paths.ts'
import { createStatusReader, type PublicStatus } from './state.ts'
import { statusContentSecurityPolicy } from './style.ts'
import { negotiateLanguage, statusMessages } from './locales.ts'

const commonHeaders = {
  'cache-control': 'public, max-age=5',
  vary: 'accept-language, accept-encoding',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

const contentTypes: Readonly<Record<StatusPath, string>> = {
  '/status': 'text/html; charset=utf-8',
  '/status.json': 'application/json; charset=utf-8',
  '/status.rss': 'application/rss+xml; charset=utf-8',
}

export function createStatusHandler(ctx: AppContext): FetchHandler {
  const readStatus = createStatusReader(ctx)
  const documents = new RenderedDocuments()

  function renderBody(
    path: StatusPath,
    status: PublicStatus,
    language: ReturnType<typeof negotiateLanguage>,
  ): string {
    if (path === '/status') return renderStatusPage(status, language)
    const messages = statusMessages[language]
    if (path === '/status.json') return JSON.stringify(statusJson(status, messages))
    return renderRss(status, messages, `${publicUrlOf(ctx.config)}/status`)
  }

  return async ({ url, method, headers }) => {
    const { pathname, searchParams } = new URL(url)
    const path = statusPathOf(pathname)
    if (path === undefined) throw apiError('not_found')
    if (method !== 'GET' && method !== 'HEAD') {
      const error = apiError('method_not_allowed', { message: 'Method not allowed. Use GET.' })
      return Response.json(error.toBody(), { status: error.status, headers: { allow: 'GET, HEAD' } })
    }
    const language = negotiateLanguage(searchParams.get('lang'), headers.get('accept-language'))
    const snapshot = await readStatus()
    const document = documents.get(snapshot, `${path} ${language}`, () =>
      renderBody(path, snapshot, language),
    )
    const encoded = await document.encode(headers.get('accept-encoding'))
    // Public data: monitors and pages of any origin may read it.
    const extraHeaders =
      path === '/status'
        ? { 'content-security-policy': statusContentSecurityPolicy, 'content-language': language }
        : { 'access-control-allow-origin': '*' }
    const responseHeaders = {
      ...commonHeaders,
      ...extraHeaders,
      ...encoded.headers,
      'content-type': contentTypes[path],
    }
    return new Response(method === 'HEAD' ? null : encoded.bytes, { headers: responseHeaders })
  }
}
