/** A key as its owner and the operator see it: what it is called, how much of its caps is used, what can be done to it. */
import type { OwnKey } from '../contract.ts'
import { useWords } from '../language.ts'
import { Meter } from '../components/charts/chart.tsx'
import { confirm } from './confirm.tsx'
import { Money, State } from '../components/tables/format-cells.tsx'

export function KeyName({ its }: { readonly its: Pick<OwnKey, 'name' | 'prefix' | 'last_four'> }) {
  return (
    <>
      {its.name}
      <small>
        <code>
          {its.prefix}…{its.last_four}
        </code>
      </small>
    </>
  )
}

export function KeyState({ status }: { readonly status: OwnKey['status'] }) {
  const words = useWords('shell').status
  return <State tone={status === 'active' ? 'good' : 'quiet'}>{words[status]}</State>
}

/** The cap that is used up most. */
export function TightestCap({ its: { caps, spent } }: { readonly its: Pick<OwnKey, 'caps' | 'spent'> }) {
  const words = useWords('account').keys
  const all = [
    { name: words.perDay, cap: caps.daily, spent: spent.today },
    { name: words.perMonth, cap: caps.monthly, spent: spent.month },
    { name: words.forLife, cap: caps.total, spent: spent.total },
  ].flatMap(({ name, cap, spent: gone }) =>
    cap === null ? [] : [{ name, cap, share: Number(cap) === 0 ? 1 : Number(gone) / Number(cap) }],
  )
  const tightest = all.toSorted((one, other) => other.share - one.share)[0]
  if (tightest === undefined) return <span className="quiet">{words.noCap}</span>
  return (
    <Meter label={tightest.name} share={tightest.share}>
      <span>
        <Money amount={tightest.cap} /> {tightest.name}
      </span>
    </Meter>
  )
}

export interface KeyActsProps {
  readonly its: Pick<OwnKey, 'id' | 'name' | 'status' | 'spent'>
  /** Said first, where it could be anybody's. */
  readonly whose?: string
  /** The owner's way of changing something, or the operator's. */
  readonly change: (method: 'PATCH' | 'DELETE', path: string, body?: unknown) => Promise<unknown>
}

/** Switches it off and on, and ends it; both say what they do first. */
export function KeyActs({ its, whose, change }: KeyActsProps) {
  const words = useWords('account').keys
  const shell = useWords('shell')
  const isActive = its.status === 'active'
  const toggle = (): void =>
    confirm({
      title: isActive ? words.disableTitle(its.name) : words.enableTitle(its.name),
      effect: [whose, isActive ? words.disableEffect : words.enableEffect].join(' '),
      verb: isActive ? words.disable : words.enable,
      isHarmless: !isActive,
      carryOut: () => change('PATCH', `/keys/${its.id}`, { status: isActive ? 'disabled' : 'active' }),
      done: shell.saved,
    })
  const remove = (): void =>
    confirm({
      title: words.deleteTitle(its.name),
      effect: (
        <>
          {whose} {words.deleteEffect} {words.month}: <Money amount={its.spent.month} />
        </>
      ),
      verb: shell.remove,
      carryOut: () => change('DELETE', `/keys/${its.id}`),
      done: words.deleted,
    })
  return (
    <>
      {its.status !== 'expired' && (
        <button type="button" className="link" onClick={toggle}>
          {isActive ? words.disable : words.enable}
        </button>
      )}
      <button type="button" className="link bad" onClick={remove}>
        {shell.remove}
      </button>
    </>
  )
}
