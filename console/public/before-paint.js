// Before the first paint: the scheme and the language that were chosen last, else the browser's own.
;(function () {
  const root = document.documentElement
  const kept = (/** @type {string} */ name) => {
    try {
      return localStorage.getItem(name)
    } catch {
      return null
    }
  }
  const scheme = kept('sluice.scheme')
  const prefersDark = window.matchMedia('(prefers-color-scheme: dark)').matches
  const isDark = scheme === 'dark' || (scheme !== 'light' && prefersDark)
  root.setAttribute('data-mantine-color-scheme', isDark ? 'dark' : 'light')
  const language = kept('sluice.language') || navigator.language
  root.lang = language.toLowerCase().startsWith('zh') ? 'zh-CN' : 'en'
})()
