/** How single values are shown everywhere: money, times, ids, states. */
import { useEffect, useState, type ReactNode } from 'react'
import { language as currentLanguage, useLanguage, useWords } from '../../language.ts'
import { usePlatform } from '../../api/session.ts'
import { exactText, moneyText, relativeText, roundMoneyText } from '../format.ts'
import { Icon } from '../layout/icon.tsx'

export function useCurrency(): string {
  return usePlatform()?.currency ?? 'CNY'
}

/** Exact; `round` for tiles, with the exact amount on hover. */
export function Money({ amount, round = false }: { readonly amount: string; readonly round?: boolean }) {
  const currency = useCurrency()
  const exact = moneyText(amount, currency)
  if (!round) return <span className="num">{exact}</span>
  return (
    <span className="num" title={exact}>
      {roundMoneyText(amount, currency)}
    </span>
  )
}

const tickMs = 30_000

/** How long ago; the exact time on hover. */
export function When({ at }: { readonly at: string | null }) {
  const language = useLanguage()
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), tickMs)
    return () => clearInterval(timer)
  }, [])
  if (at === null) return <span className="quiet">–</span>
  const ms = Date.parse(at)
  // What happened since the last tick happened now.
  const reference = ms > now && ms - now <= tickMs ? ms : now
  return (
    <time dateTime={at} title={exactText(ms, language)} className="nowrap">
      {relativeText(ms, reference, language)}
    </time>
  )
}

export function exactTime(at: string): string {
  return exactText(Date.parse(at), currentLanguage())
}

const shownMs = 1500

/** A text and the click that copies it. */
export function Copyable({ text, children }: { readonly text: string; readonly children?: ReactNode }) {
  const words = useWords('shell')
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return undefined
    const timer = setTimeout(() => setCopied(false), shownMs)
    return () => clearTimeout(timer)
  }, [isCopied])
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
  }
  return (
    <button
      type="button"
      className="copyable"
      title={isCopied ? words.copied : `${words.copy} ${text}`}
      onClick={(event) => {
        event.stopPropagation()
        void copy()
      }}
    >
      <code>{children ?? text}</code>
      <Icon name={isCopied ? 'check' : 'copy'} />
      <span className="unseen" role="status">
        {isCopied ? words.copied : ''}
      </span>
    </button>
  )
}

/** The end of a long id is what tells it apart. */
export function ShortId({ id }: { readonly id: string }) {
  const short = id.length > 14 ? `${id.slice(0, id.indexOf('_') + 1)}…${id.slice(-6)}` : id
  return <Copyable text={id}>{short}</Copyable>
}

export type Tone = 'good' | 'warn' | 'bad' | 'quiet' | 'accent'

const iconOf: Readonly<Record<Tone, 'check' | 'alert' | 'close' | 'dot' | 'info'>> = {
  good: 'check',
  warn: 'alert',
  bad: 'close',
  quiet: 'dot',
  accent: 'info',
}

/** A state is a word, an icon and a colour, so that none of them has to be enough. */
export function State({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return (
    <span className={`state ${tone}`}>
      <Icon name={iconOf[tone]} />
      {children}
    </span>
  )
}
