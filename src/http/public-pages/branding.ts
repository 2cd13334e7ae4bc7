/** The operator's logo, colours and legal texts, served to everybody. */
import { html as markup } from 'hono/html'
import { renderAccentStyle } from '../../branding/accent-colors.ts'
import { isHttpsUrl } from '../../branding/branding.ts'
import { accentStyleUrl } from '../api/branding.ts'
import type { AppContext } from '../app-context.ts'
import { RenderedDocuments } from '../rendered-documents.ts'
import { frameTexts, pageHeaders, renderPublicPage } from './frame.ts'
import type { AssetPath, LegalPath } from './paths.ts'
import { servePublicPage, type PublicDocument, type PublicRequest } from './serve.ts'

/** A URL that names the content stays valid; without the current content's name, the browser asks each time. */
function assetHeaders(type: string, isCurrent: boolean): Record<string, string> {
  return {
    'content-type': type,
    'content-security-policy': "default-src 'none'; sandbox",
    'cache-control': isCurrent ? 'public, max-age=31536000, immutable' : 'public, no-cache',
  }
}

export function createBrandingHandler(ctx: AppContext) {
  const documents = new RenderedDocuments()

  function readLogo({ query }: PublicRequest<AssetPath>): PublicDocument | undefined {
    const { logo } = ctx.branding.current
    if (logo === null) return undefined
    const encoded = { bytes: Buffer.from(logo.data, 'base64'), headers: {}, etag: `"${logo.hash}"` }
    const headers = assetHeaders(logo.mediaType, query.get('v') === logo.hash)
    return { document: { encode: () => Promise.resolve(encoded) }, headers }
  }

  /** Empty without colours: the console always loads it. */
  function readColors({ path, query }: PublicRequest<AssetPath>): PublicDocument {
    const { version, current } = ctx.branding
    const url = accentStyleUrl(current)
    const document = documents.get(version, path, () => renderAccentStyle(current.colors))
    const headers = assetHeaders('text/css; charset=utf-8', url === `${path}?v=${query.get('v')}`)
    return { document, headers }
  }

  function readLegalText({ path, language }: PublicRequest<LegalPath>): PublicDocument | undefined {
    const { version, current: branding } = ctx.branding
    const field = path === '/terms' ? 'terms' : 'privacy'
    const text = branding[field]
    if (text === null || isHttpsUrl(text)) return undefined
    const heading = frameTexts(language)[field]
    const document = documents.get(version, `${path} ${language}`, () =>
      renderPublicPage({ path, language, branding, title: heading, heading, main: markup`<p>${text}</p>` }),
    )
    return { document, headers: pageHeaders(language) }
  }

  return {
    serveAsset: (request: Request, path: AssetPath) =>
      servePublicPage(request, path, path === '/branding/logo' ? readLogo : readColors),
    serveLegalText: (request: Request, path: LegalPath) => servePublicPage(request, path, readLegalText),
  }
}
