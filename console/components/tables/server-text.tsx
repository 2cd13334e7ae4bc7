/** A text of the server, such as why a circuit is open, in the user's language if the console knows it. */
import { useLanguage } from '../../locales/messages.ts'
import { toChinese } from '../../locales/server-texts.ts'

export function useServerText(): (text: string) => string {
  return useLanguage() === 'zh-CN' ? toChinese : (text) => text
}

const chinese = /\p{Script=Han}/u

export function ServerText({ text }: { readonly text: string }) {
  const shown = useServerText()(text)
  return <span lang={chinese.test(shown) ? 'zh-CN' : 'en'}>{shown}</span>
}

/** Below what it explains. */
export function ServerNote({ text }: { readonly text: string | null }) {
  return (
    text !== null && (
      <small>
        <ServerText text={text} />
      </small>
    )
  )
}
