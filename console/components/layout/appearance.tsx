/** Switches the language and the colour scheme. */
import { setLanguage, useLanguage, useMessages, type Language } from '../../locales/messages.ts'
import { setColorScheme, useColorScheme } from '../../styles/color-scheme.ts'
import { Icon } from './icon.tsx'

/** Two plain buttons, for pages where a menu component would weigh too much. */
export function AppearanceSwitch() {
  const t = useMessages('auth')
  const language = useLanguage()
  const scheme = useColorScheme()
  const otherLanguage: Language = language === 'en' ? 'zh-CN' : 'en'
  const otherScheme = scheme === 'dark' ? 'light' : 'dark'
  return (
    <div className="row">
      <button
        type="button"
        className="ghost"
        lang={otherLanguage}
        onClick={() => void setLanguage(otherLanguage)}
      >
        <Icon name="globe" /> {t.language[otherLanguage]}
      </button>
      <button
        type="button"
        className="ghost"
        aria-label={t.scheme[otherScheme]}
        title={t.scheme[otherScheme]}
        onClick={() => setColorScheme(otherScheme)}
      >
        <Icon name={otherScheme === 'dark' ? 'moon' : 'sun'} />
      </button>
    </div>
  )
}
