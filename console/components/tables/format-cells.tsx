/** Renders single values: money, times, ids, status. */
import { useEffect, useState, type ReactNode } from 'react'
import { currentLanguage, useLanguage, useMessages } from '../../locales/messages.ts'
import { usePlatform } from '../../api/session.ts'
import { formatDateTime, formatMoney, formatRelativeTime } from '../format.ts'
import { copyText } from '../../clipboard.ts'
import { Icon } from '../layout/icon.tsx'

export function useCurrency(): string {
  return usePlatform()?.currency ?? 'CNY'
}

/** The exact amount with two decimals and the others small and grey, unless it is less than one: then they matter. */
export function Money({ amount }: { readonly amount: string }) {
  const exact = formatMoney(amount, useCurrency())
  const cents = exact.indexOf('.') + 3
  const rest = exact.slice(cents)
  const isMinor = Math.abs(Number(amount)) >= 1
  return (
    <span className="num">
      {exact.slice(0, cents)}
      <span className={isMinor ? 'fraction minor' : 'fraction'} data-digits={rest.length}>
        {rest}
      </span>
    </span>
  )
}

/** In place of an amount that is not known, with the reason on hover. */
export function UnknownAmount({ reason }: { readonly reason: string }) {
  return (
    <span className="num muted" role="img" aria-label={reason} title={reason}>
      –
    </span>
  )
}

export interface KnownMoneyProps {
  /** null: unknown. */
  readonly amount: string | null
  /** How many of the requests have an unknown cost. */
  readonly withoutCost: number
}

/** A sum of costs or margins, which is unknown if one of them is. */
export function KnownMoney({ amount, withoutCost }: KnownMoneyProps) {
  const t = useMessages('shell')
  return amount === null ? <UnknownAmount reason={t.unknownCost(withoutCost)} /> : <Money amount={amount} />
}

/** A model's name, which is empty if a request was rejected before its model was known. */
export function ModelName({ model }: { readonly model: string }) {
  const t = useMessages('shell')
  return model === '' ? <span className="muted">{t.unknownModel}</span> : model
}

const tickMs = 30_000

/** Relative time, with the exact time on hover. */
export function RelativeTime({ at }: { readonly at: string | null }) {
  const language = useLanguage()
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), tickMs)
    return () => clearInterval(timer)
  }, [])
  if (at === null) return <span className="muted">–</span>
  const ms = Date.parse(at)
  // A time after the last tick is not in the future.
  const reference = ms > now && ms - now <= tickMs ? ms : now
  return (
    <time dateTime={at} title={formatDateTime(ms, language)} className="nowrap">
      {formatRelativeTime(ms, reference, language)}
    </time>
  )
}

export function formatExactTime(at: string, timeZone?: string): string {
  return formatDateTime(Date.parse(at), currentLanguage(), timeZone)
}

const copiedMs = 1500

/** A text that is copied on click. */
export function CopyButton({ text, children }: { readonly text: string; readonly children?: ReactNode }) {
  const t = useMessages('shell')
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return undefined
    const timer = setTimeout(() => setCopied(false), copiedMs)
    return () => clearTimeout(timer)
  }, [isCopied])
  const copy = async (button: HTMLElement): Promise<void> => {
    const isDone = await copyText(text)
    setCopied(isDone)
    if (!isDone) window.getSelection()?.selectAllChildren(button)
  }
  return (
    <button
      type="button"
      className="copyable"
      title={isCopied ? t.copied : `${t.copy} ${text}`}
      onClick={(event) => {
        event.stopPropagation()
        void copy(event.currentTarget)
      }}
    >
      <code>{children ?? text}</code>
      <Icon name={isCopied ? 'check' : 'copy'} />
      <span className="visually-hidden" role="status">
        {isCopied ? t.copied : ''}
      </span>
    </button>
  )
}

/** Long ids differ in their last characters. */
export function ShortId({ id }: { readonly id: string }) {
  const short = id.length > 14 ? `${id.slice(0, id.indexOf('_') + 1)}…${id.slice(-6)}` : id
  return <CopyButton text={id}>{short}</CopyButton>
}

/** A text from elsewhere that can be copied; a dash if there is none. */
export function CopyableText({ text }: { readonly text: string | null }) {
  return text === null ? '–' : <CopyButton text={text} />
}

export type Tone = 'success' | 'warning' | 'danger' | 'neutral' | 'info'

const toneIcons: Readonly<Record<Tone, 'check' | 'alert' | 'close' | 'dot' | 'info'>> = {
  success: 'check',
  warning: 'alert',
  danger: 'close',
  neutral: 'dot',
  info: 'info',
}

/** Status is shown as text, icon and colour, so that it never depends on one of them. */
export function StatusLabel({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return (
    <span className={`status ${tone}`}>
      <Icon name={toneIcons[tone]} />
      {children}
    </span>
  )
}
