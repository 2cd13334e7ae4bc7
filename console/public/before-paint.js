// Applies the last chosen colour scheme and language, or the browser's own, before the first paint.
;(function () {
  const root = document.documentElement
  const stored = (/** @type {string} */ name) => {
    try {
      return localStorage.getItem(name)
    } catch {
      return null
    }
  }
  const scheme = stored('sluice.scheme')
  const prefersDark = window.matchMedia('(prefers-color-scheme: dark)').matches
  const isDark = scheme === 'dark' || (scheme !== 'light' && prefersDark)
  root.setAttribute('data-mantine-color-scheme', isDark ? 'dark' : 'light')
  const language = stored('sluice.language') || navigator.language
  root.lang = language.toLowerCase().startsWith('zh') ? 'zh-CN' : 'en'
})()
