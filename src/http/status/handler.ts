/** Serves the public status to everybody. Its data and the documents rendered from it are cached for a few seconds. */
import type { AppContext } from '../app-context.ts'
import { pageHeaders } from '../public-pages/frame.ts'
import type { StatusPath } from '../public-pages/paths.ts'
import { publicData, servePublicPage, type PublicRequest } from '../public-pages/serve.ts'
import { publicUrlOf } from '../public-urls.ts'
import { RenderedDocuments } from '../rendered-documents.ts'
import { statusJson, renderRss } from './feeds.ts'
import { statusMessages } from './locales.ts'
import { renderStatusPage } from './page.ts'
import { createStatusReader, type PublicStatus } from './state.ts'
import { statusStyle } from './style.ts'

const contentTypes = {
  '/status.json': 'application/json; charset=utf-8',
  '/status.rss': 'application/rss+xml; charset=utf-8',
} as const

export function createStatusHandler(ctx: AppContext) {
  const readStatus = createStatusReader(ctx)
  const documents = new RenderedDocuments()

  function renderBody(status: PublicStatus, { path, language }: PublicRequest<StatusPath>): string {
    if (path === '/status') return renderStatusPage(status, language, ctx.branding.current)
    const messages = statusMessages[language]
    if (path === '/status.json') return JSON.stringify(statusJson(status, messages))
    return renderRss(status, messages, `${publicUrlOf(ctx.config)}/status`)
  }

  return (request: Request, path: StatusPath): Promise<Response> =>
    servePublicPage(request, path, async (asked) => {
      const snapshot = await readStatus()
      const { language } = asked
      const document = documents.get(snapshot, `${path} ${language} ${ctx.branding.version}`, () =>
        renderBody(snapshot, asked),
      )
      const headers =
        path === '/status'
          ? pageHeaders(language, statusStyle)
          : { 'content-type': contentTypes[path], ...publicData }
      return { document, headers }
    })
}
