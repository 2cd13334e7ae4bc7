/** The language of a public page. */
import { languages, type Language } from '../../notifications/locales/notification-texts.ts'

/** By `?lang=`, otherwise the preferred language in `Accept-Language` that is available. */
export function negotiateLanguage(requested: string | null, accepted: string | null): Language {
  const known = (tag: string): Language | undefined => {
    const lower = tag.trim().toLowerCase()
    if (lower.startsWith('zh')) return 'zh-CN'
    return languages.find((language) => lower === language || lower.startsWith(`${language}-`))
  }
  const named = requested === null ? undefined : known(requested)
  if (named !== undefined) return named
  const preferences = (accepted ?? '')
    .slice(0, 500)
    .split(',')
    .map((part) => {
      const [tag = '', ...options] = part.split(';')
      const quality = options.map((option) => /^\s*q=([\d.]+)\s*$/.exec(option)?.[1]).find(Boolean)
      return { tag, quality: Number(quality ?? 1) }
    })
  const best = preferences.toSorted((left, right) => right.quality - left.quality)
  return best.map(({ tag }) => known(tag)).find((language) => language !== undefined) ?? 'en'
}
