/** Ask a model, or two side by side: the answer as it comes, its tokens and cost, and the same call as code. */
import { Button, Checkbox, NativeSelect, Textarea, TextInput } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { ask, type ChatAnswer, type ChatMessage } from '../../api/chat.ts'
import type { OfferedModel } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { offeredQuery } from '../../api/account-queries.ts'
import { submitting, useAction } from '../../components/forms/use-action.ts'
import { Code } from '../../parts/code.tsx'
import { isDecimal, isWhole } from '../../components/forms/fields.tsx'
import { durationText } from '../../components/format.ts'
import { Asked } from '../../components/feedback/query-boundary.tsx'
import { Nothing, Refused } from '../../components/feedback/empty-state.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Copyable, Money } from '../../components/tables/format-cells.tsx'
import { queries, useSession } from '../../api/session.ts'

const route = getRouteApi('/shell/playground')

export function Playground() {
  const words = useWords('customer').playground
  return (
    <Page title={words.title} lead={words.lead}>
      <Asked options={offeredQuery}>
        {({ data }) => (data.length === 0 ? <Nothing title={words.noModels} /> : <Desk models={data} />)}
      </Asked>
    </Page>
  )
}

interface Terms {
  readonly system: string
  readonly temperature: string
  readonly maxTokens: string
}

function Desk({ models }: { readonly models: readonly OfferedModel[] }) {
  const words = useWords('customer').playground
  const navigate = route.useNavigate()
  const { model = models[0]?.id ?? '', beside } = route.useSearch()
  const [terms, setTerms] = useState<Terms>({ system: '', temperature: '', maxTokens: '' })
  const [question, setQuestion] = useState('')
  const [asked, setAsked] = useState<readonly string[]>([])
  const [round, setRound] = useState(0)
  const choices = models.map(({ id }) => ({ value: id, label: id }))
  const send = (): void => {
    if (question.trim() === '') return
    setAsked((before) => [...before, question.trim()])
    setQuestion('')
  }
  /** Another model starts anew: nobody pays for an answer that was not asked for. */
  const startOver = (search: { model: string; beside?: string | undefined }): void => {
    setAsked([])
    setRound((before) => before + 1)
    void navigate({ search })
  }
  const set = (name: keyof Terms) => (event: { currentTarget: { value: string } }) => {
    const { value } = event.currentTarget
    setTerms((before) => ({ ...before, [name]: value }))
  }
  const shown = beside === undefined ? [model] : [model, beside]
  return (
    <>
      <div className="filters">
        <NativeSelect
          label={words.model}
          data={choices}
          value={model}
          onChange={(event) => startOver({ model: event.currentTarget.value, beside })}
        />
        {beside !== undefined && (
          <NativeSelect
            label={words.second}
            data={choices}
            value={beside}
            onChange={(event) => startOver({ model, beside: event.currentTarget.value })}
          />
        )}
        <TextInput
          label={words.temperature}
          placeholder="0–2"
          value={terms.temperature}
          onChange={set('temperature')}
        />
        <TextInput
          label={words.maxTokens}
          placeholder={words.usual}
          value={terms.maxTokens}
          onChange={set('maxTokens')}
        />
        <Checkbox
          label={words.sideBySide}
          checked={beside !== undefined}
          onChange={(event) =>
            startOver({ model, beside: event.currentTarget.checked ? (models[1]?.id ?? model) : undefined })
          }
        />
      </div>
      <Textarea
        label={words.system}
        rows={1}
        autosize={false}
        value={terms.system}
        onChange={set('system')}
      />
      <div className={shown.length > 1 ? 'columns' : ''}>
        {shown.map((each, at) => (
          <Conversation key={`${round} ${at} ${each}`} model={each} asked={asked} terms={terms} />
        ))}
      </div>
      <form className="row test-row" onSubmit={submitting(async () => send())}>
        <Textarea
          aria-label={words.question}
          placeholder={words.question}
          rows={2}
          value={question}
          onChange={(event) => setQuestion(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
            event.preventDefault()
            send()
          }}
        />
        <Button type="submit" disabled={question.trim() === ''}>
          {words.send}
        </Button>
        {asked.length > 0 && (
          <Button variant="default" onClick={() => startOver({ model, beside })}>
            {words.clear}
          </Button>
        )}
      </form>
    </>
  )
}

interface ConversationProps {
  readonly model: string
  readonly asked: readonly string[]
  readonly terms: Terms
}

/** What was asked of one model and what it said. A question is sent when its turn comes into sight. */
function Conversation({ model, asked, terms }: ConversationProps) {
  const words = useWords('customer').playground
  const [answers, setAnswers] = useState<readonly string[]>([])
  const history: ChatMessage[] = []
  if (terms.system.trim() !== '') history.push({ role: 'system', content: terms.system.trim() })
  for (const [at, answer] of answers.entries()) {
    history.push({ role: 'user', content: asked[at] ?? '' }, { role: 'assistant', content: answer })
  }
  return (
    <section className="stack" aria-label={model}>
      {asked.length === 0 && <p className="nothing">{words.empty}</p>}
      {asked.map((text, at) => (
        <Turn
          key={`${at} ${text}`}
          model={model}
          text={text}
          terms={terms}
          history={history.slice(0, (terms.system.trim() === '' ? 0 : 1) + at * 2)}
          told={(answer) => setAnswers((before) => [...before.slice(0, at), answer])}
        />
      ))}
    </section>
  )
}

interface TurnProps {
  readonly model: string
  readonly text: string
  readonly terms: Terms
  readonly history: readonly ChatMessage[]
  readonly told: (answer: string) => void
}

function Turn({ model, text, terms, history, told }: TurnProps) {
  const words = useWords('customer').playground
  const { platform } = useSession()
  const [soFar, setSoFar] = useState('')
  const [answer, setAnswer] = useState<ChatAnswer | null>(null)
  const [isCode, setCode] = useState(false)
  const ending = useRef<AbortController | null>(null)
  const messages: readonly ChatMessage[] = [...history, { role: 'user', content: text }]
  const order = {
    model,
    messages,
    ...(isDecimal(terms.temperature) ? { temperature: Number(terms.temperature) } : {}),
    ...(isWhole(terms.maxTokens) ? { maxTokens: Number(terms.maxTokens) } : {}),
  }
  const send = useAction(async () => {
    ending.current = new AbortController()
    const reply = await ask({ ...order, signal: ending.current.signal, onText: setSoFar })
    setAnswer(reply)
    told(reply.text)
    await queries.invalidateQueries({ queryKey: ['own'] })
  })
  const isBegun = useRef(false)
  const begin = (element: HTMLElement | null): void => {
    if (element === null || isBegun.current) return
    isBegun.current = true
    void send.run()
  }
  const [baseUrl = ''] = platform.base_urls
  return (
    <article className="panel stack" ref={begin}>
      <p className="answer quiet">{text}</p>
      <p className="answer" aria-live="polite" aria-busy={send.isRunning}>
        {soFar}
        {send.isRunning && <span className="cursor" />}
      </p>
      {send.error && <Refused error={send.error} retry={() => void send.run()} />}
      <div className="row quiet">
        {send.isRunning && (
          <button type="button" className="link" onClick={() => ending.current?.abort()}>
            {words.stop}
          </button>
        )}
        {answer !== null && (
          <>
            {answer.cost !== null && <Money amount={answer.cost} />}
            <span>{words.tokens(answer.promptTokens, answer.completionTokens)}</span>
            <span>{words.times(durationText(answer.firstTokenMs), durationText(answer.durationMs))}</span>
            <Copyable text={answer.requestId} />
          </>
        )}
        <button type="button" className="link" onClick={() => setCode(!isCode)}>
          {words.asCode}
        </button>
      </div>
      {isCode && <Code text={curlOf(baseUrl, order)} />}
    </article>
  )
}

function curlOf(
  baseUrl: string,
  { maxTokens, ...order }: { model: string; messages: readonly ChatMessage[]; maxTokens?: number },
): string {
  const body = { ...order, ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }) }
  const json = JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`)
  return `curl ${baseUrl}/chat/completions \\
  -H "Authorization: Bearer $SLUICE_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${json}'`
}
