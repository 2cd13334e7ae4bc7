/** The frame of all public pages: one document without code, for light and dark mode, phones and screen readers. */
import { createHash } from 'node:crypto'
import { html as markup, raw } from 'hono/html'
import type { HtmlEscapedString } from 'hono/utils/html'
import type { Branding } from '../../branding/branding.ts'
import type { Language } from '../../notifications/locales/notification-texts.ts'
import { accentStyleUrl, publicBranding, type PublicBranding } from '../api/branding.ts'

/** Markup in which every inserted text is escaped. */
export type Markup = ReturnType<typeof markup>

// eslint-disable-next-line no-control-regex -- these are the characters that XML 1.0 forbids
const forbiddenCharacters = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g

/** HTML or XML as text; nothing that is inserted in our documents is a promise. */
export function toDocument(content: Markup): string {
  return (content as HtmlEscapedString).replaceAll(forbiddenCharacters, '')
}

/** Inline, allowed by its hash. Colours have a contrast of at least 4.5 in both modes. */
const frameStyle = `
:root{color-scheme:light dark;--ground:#fff;--card:#f6f7f9;--text:#1a1d21;--faint:#565d66;--line:#d5d9de;--accent:var(--brand-light)}
@media(prefers-color-scheme:dark){:root{--ground:#121417;--card:#1b1e23;--text:#e8eaed;--faint:#a5adb7;--line:#333941;--accent:var(--brand-dark)}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:52rem;padding:1rem;background:var(--ground);color:var(--text);font:16px/1.5 system-ui,"PingFang SC","Microsoft YaHei",sans-serif}
header,.line{display:flex;flex-wrap:wrap;gap:.25rem 1rem;justify-content:space-between;align-items:baseline}
h1{font-size:1.4rem;margin:.5rem 0}h2{font-size:1.1rem;margin:2rem 0 .5rem}h3{font-size:1rem;margin:0;overflow-wrap:anywhere}
a{color:var(--accent)}ul{list-style:none;margin:0;padding:0}p{margin:.25rem 0;overflow-wrap:anywhere;white-space:pre-line}
code{overflow-wrap:anywhere}.small{font-size:.85rem;color:var(--faint)}
.brand{display:flex;align-items:center;gap:.5rem;margin:0;color:var(--accent);font-weight:600}
.brand img{height:2rem;width:auto;max-width:8rem;object-fit:contain}
footer{margin:2rem 0;overflow-wrap:anywhere}footer ul{display:flex;flex-wrap:wrap;gap:.25rem 1rem}
`

const texts = {
  en: { terms: 'Terms of service', privacy: 'Privacy policy', support: 'Support: ', other: '简体中文' },
  'zh-CN': { terms: '服务条款', privacy: '隐私政策', support: '联系客服：', other: 'English' },
} as const

export type FrameTexts = (typeof texts)[Language]

export function frameTexts(language: Language): FrameTexts {
  return texts[language]
}

export interface PublicPage {
  /** With which the page links to its other language. */
  readonly path: string
  readonly language: Language
  readonly branding: Branding
  readonly title: string
  /** The page's heading. */
  readonly heading: string
  readonly style?: string
  readonly head?: Markup
  /** Beside the link to the other language. */
  readonly navigation?: Markup
  readonly main: Markup | readonly Markup[]
  readonly footer?: Markup
}

/** The headers of a page with this style of its own: no code, frames or other origins. */
export function pageHeaders(language: Language, style = ''): Record<string, string> {
  const hash = createHash('sha256')
    .update(frameStyle + style)
    .digest('base64')
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${hash}' 'self'`,
    "img-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    'content-language': language,
  }
}

function renderBrand({ name, logo }: PublicBranding): Markup | '' {
  if (name === null && logo === null) return ''
  const image = logo && markup`<img src="${logo.url}" width="${logo.width}" height="${logo.height}" alt="">`
  return markup`<p class="brand">${image ?? ''}${name ?? ''}</p>`
}

function renderLinks({ links, terms, privacy, support }: PublicBranding, language: Language): Markup {
  const t = texts[language]
  const all = [
    ...links,
    ...(terms === null ? [] : [{ label: t.terms, url: terms }]),
    ...(privacy === null ? [] : [{ label: t.privacy, url: privacy }]),
  ]
  const items = all.map(({ label, url }) => markup`<li><a href="${url}">${label}</a></li>`)
  const contact =
    support &&
    markup`<p>${t.support}<a href="${support.url}">${support.contact}</a> ${support.text ?? ''}</p>`
  return markup`${all.length === 0 ? '' : markup`<ul>${items}</ul>`}${contact ?? ''}`
}

export function renderPublicPage(page: PublicPage): string {
  const { path, language, branding, title, heading, style = '', head = '', main } = page
  const { navigation = '', footer = '' } = page
  const shown = publicBranding(branding)
  const other: Language = language === 'en' ? 'zh-CN' : 'en'
  const fullTitle = shown.name === null ? title : `${title} – ${shown.name}`
  const colors = accentStyleUrl(branding)
  return toDocument(markup`<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${fullTitle}</title>
${colors === null ? '' : markup`<link rel="stylesheet" href="${colors}">`}
${shown.logo === null ? '' : markup`<link rel="icon" href="${shown.logo.url}">`}
${head}<style>${raw(frameStyle + style)}</style></head>
<body>${renderBrand(shown)}<header><h1>${heading}</h1><nav><a href="${path}?lang=${other}" hreflang="${other}" lang="${other}">${texts[language].other}</a> ${navigation}</nav></header>
<main>${main}
</main><footer class="small">${footer}${renderLinks(shown, language)}</footer></body></html>
`)
}
