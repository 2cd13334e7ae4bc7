/** A chat with one model, or two side by side: streamed responses with tokens and cost, and the call as code. */
import { Button, Checkbox, NativeSelect, Textarea, TextInput } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { sendChat, type ChatResponse, type ChatMessage } from '../../api/chat.ts'
import type { OfferedModel } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { offeredModelsQuery } from '../../api/account-queries.ts'
import { submitHandler, useAction } from '../../components/forms/use-action.ts'
import { CodeBlock } from '../../components/code/code-block.tsx'
import { RequestTimes } from '../../components/code/request-times.tsx'
import { isDecimal, isInteger } from '../../components/forms/field-values.ts'
import { QueryBoundary } from '../../components/feedback/query-boundary.tsx'
import { EmptyState, ErrorMessage } from '../../components/feedback/empty-state.tsx'
import { Page } from '../../components/layout/page.tsx'
import { CopyButton, Money } from '../../components/tables/format-cells.tsx'
import { queryClient, useSession } from '../../api/session.ts'

const route = getRouteApi('/shell/playground')

export function Playground() {
  const t = useMessages('portal').playground
  return (
    <Page title={t.title} lead={t.lead}>
      <QueryBoundary options={offeredModelsQuery}>
        {({ data }) =>
          chatModels(data).length === 0 ? (
            <EmptyState title={t.noModels} />
          ) : (
            <PlaygroundContent models={chatModels(data)} />
          )
        }
      </QueryBoundary>
    </Page>
  )
}

interface ChatParameters {
  readonly system: string
  readonly temperature: string
  readonly maxTokens: string
}

function chatModels(models: readonly OfferedModel[]): readonly OfferedModel[] {
  return models.filter(({ operations }) => operations.includes('chat'))
}

function PlaygroundContent({ models }: { readonly models: readonly OfferedModel[] }) {
  const t = useMessages('portal').playground
  const navigate = route.useNavigate()
  const { model = models[0]?.id ?? '', beside } = route.useSearch()
  const [parameters, setParameters] = useState<ChatParameters>({ system: '', temperature: '', maxTokens: '' })
  const [question, setQuestion] = useState('')
  const [questions, setQuestions] = useState<readonly string[]>([])
  const [chatId, setChatId] = useState(0)
  const options = models.map(({ id }) => ({ value: id, label: id }))
  const send = (): void => {
    if (question.trim() === '') return
    setQuestions((before) => [...before, question.trim()])
    setQuestion('')
  }
  /** Another model starts a new chat, so that no request is repeated and charged unasked. */
  const startOver = (search: { model: string; beside?: string | undefined }): void => {
    setQuestions([])
    setChatId((before) => before + 1)
    void navigate({ search })
  }
  const set = (name: keyof ChatParameters) => (event: { currentTarget: { value: string } }) => {
    const { value } = event.currentTarget
    setParameters((before) => ({ ...before, [name]: value }))
  }
  const columns = beside === undefined ? [model] : [model, beside]
  return (
    <>
      <div className="filters">
        <NativeSelect
          label={t.model}
          data={options}
          value={model}
          onChange={(event) => startOver({ model: event.currentTarget.value, beside })}
        />
        {beside !== undefined && (
          <NativeSelect
            label={t.second}
            data={options}
            value={beside}
            onChange={(event) => startOver({ model, beside: event.currentTarget.value })}
          />
        )}
        <TextInput
          label={t.temperature}
          placeholder="0–2"
          value={parameters.temperature}
          onChange={set('temperature')}
        />
        <TextInput
          label={t.maxTokens}
          placeholder={t.modelDefault}
          value={parameters.maxTokens}
          onChange={set('maxTokens')}
        />
        <Checkbox
          label={t.sideBySide}
          checked={beside !== undefined}
          onChange={(event) =>
            startOver({ model, beside: event.currentTarget.checked ? (models[1]?.id ?? model) : undefined })
          }
        />
      </div>
      <Textarea
        label={t.system}
        rows={1}
        autosize={false}
        value={parameters.system}
        onChange={set('system')}
      />
      <div className={columns.length > 1 ? 'columns' : ''}>
        {columns.map((column, at) => (
          <Conversation
            key={`${chatId} ${at} ${column}`}
            model={column}
            questions={questions}
            parameters={parameters}
          />
        ))}
      </div>
      <form className="row inline-form" onSubmit={submitHandler(async () => send())}>
        <Textarea
          aria-label={t.question}
          placeholder={t.question}
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
          {t.send}
        </Button>
        {questions.length > 0 && (
          <Button variant="default" onClick={() => startOver({ model, beside })}>
            {t.clear}
          </Button>
        )}
      </form>
    </>
  )
}

interface ConversationProps {
  readonly model: string
  readonly questions: readonly string[]
  readonly parameters: ChatParameters
}

/** The chat with one model. A question is sent when its turn is mounted. */
function Conversation({ model, questions, parameters }: ConversationProps) {
  const t = useMessages('portal').playground
  const [responses, setResponses] = useState<readonly string[]>([])
  const history: ChatMessage[] = []
  if (parameters.system.trim() !== '') history.push({ role: 'system', content: parameters.system.trim() })
  for (const [at, response] of responses.entries()) {
    history.push({ role: 'user', content: questions[at] ?? '' }, { role: 'assistant', content: response })
  }
  return (
    <section className="stack" aria-label={model}>
      {questions.length === 0 && <p className="empty-state">{t.empty}</p>}
      {questions.map((text, at) => (
        <Turn
          key={`${at} ${text}`}
          model={model}
          text={text}
          parameters={parameters}
          history={history.slice(0, (parameters.system.trim() === '' ? 0 : 1) + at * 2)}
          onResponse={(response) => setResponses((before) => [...before.slice(0, at), response])}
        />
      ))}
    </section>
  )
}

interface TurnProps {
  readonly model: string
  readonly text: string
  readonly parameters: ChatParameters
  readonly history: readonly ChatMessage[]
  readonly onResponse: (response: string) => void
}

function Turn({ model, text, parameters, history, onResponse }: TurnProps) {
  const t = useMessages('portal').playground
  const { platform } = useSession()
  const [streamedText, setStreamedText] = useState('')
  const [response, setResponse] = useState<ChatResponse | null>(null)
  const [isCode, setCode] = useState(false)
  const abortController = useRef<AbortController | null>(null)
  const messages: readonly ChatMessage[] = [...history, { role: 'user', content: text }]
  const request = {
    model,
    messages,
    ...(isDecimal(parameters.temperature) ? { temperature: Number(parameters.temperature) } : {}),
    ...(isInteger(parameters.maxTokens) ? { maxTokens: Number(parameters.maxTokens) } : {}),
  }
  const send = useAction(async () => {
    abortController.current = new AbortController()
    const result = await sendChat({
      ...request,
      signal: abortController.current.signal,
      onText: setStreamedText,
    })
    setResponse(result)
    onResponse(result.text)
    await queryClient.invalidateQueries({ queryKey: ['account'] })
  })
  const hasStarted = useRef(false)
  const start = (element: HTMLElement | null): void => {
    if (element === null || hasStarted.current) return
    hasStarted.current = true
    void send.run()
  }
  const [baseUrl = ''] = platform.base_urls
  return (
    <article className="panel stack" ref={start}>
      <p className="message-text muted">{text}</p>
      <p className="message-text" aria-live="polite" aria-busy={send.isRunning}>
        {streamedText}
        {send.isRunning && <span className="typing-cursor" />}
      </p>
      {send.error && <ErrorMessage error={send.error} retry={() => void send.run()} />}
      <div className="row muted">
        {send.isRunning && (
          <button type="button" className="link" onClick={() => abortController.current?.abort()}>
            {t.stop}
          </button>
        )}
        {response !== null && (
          <>
            {response.cost !== null && <Money amount={response.cost} />}
            <span>{t.tokens(response.promptTokens, response.completionTokens)}</span>
            <RequestTimes id={response.requestId} />
            <CopyButton text={response.requestId} />
          </>
        )}
        <button type="button" className="link" onClick={() => setCode(!isCode)}>
          {t.asCode}
        </button>
      </div>
      {isCode && <CodeBlock text={curlCommand(baseUrl, request)} />}
    </article>
  )
}

function curlCommand(
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
