/** The two choices about how the console looks: its language and its scheme. */
import { chooseLanguage, useLanguage, useWords, type Language } from '../../language.ts'
import { chooseScheme, useScheme } from '../../styles/color-scheme.ts'
import { Icon } from './icon.tsx'

/** For where menus would weigh too much: one button for each. */
export function Appearance() {
  const words = useWords('door')
  const language = useLanguage()
  const scheme = useScheme()
  const otherLanguage: Language = language === 'en' ? 'zh-CN' : 'en'
  const otherScheme = scheme === 'dark' ? 'light' : 'dark'
  return (
    <div className="row">
      <button
        type="button"
        className="plain"
        lang={otherLanguage}
        onClick={() => void chooseLanguage(otherLanguage)}
      >
        <Icon name="globe" /> {words.language[otherLanguage]}
      </button>
      <button
        type="button"
        className="plain"
        aria-label={words.scheme[otherScheme]}
        title={words.scheme[otherScheme]}
        onClick={() => chooseScheme(otherScheme)}
      >
        <Icon name={otherScheme === 'dark' ? 'moon' : 'sun'} />
      </button>
    </div>
  )
}
