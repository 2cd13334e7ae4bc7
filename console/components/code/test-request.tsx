/** Sends one small, real request and shows its response, cost and id. */
import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { sendChat, type ChatResponse } from '../../api/chat.ts'
import { useMessages } from '../../locales/messages.ts'
import { queryClient } from '../../api/session.ts'
import { useAction } from '../forms/use-action.ts'
import { Icon } from '../layout/icon.tsx'
import { ErrorMessage } from '../feedback/empty-state.tsx'
import { CopyButton, Money } from '../tables/format-cells.tsx'
import { RequestTimes } from './request-times.tsx'

export function TestRequest({ model }: { readonly model: string }) {
  const t = useMessages('account').test
  const [response, setResponse] = useState<ChatResponse | null>(null)
  const send = useAction(async () => {
    setResponse(null)
    const messages = [{ role: 'user', content: t.question }] as const
    setResponse(await sendChat({ model, messages, maxTokens: 64 }))
    await queryClient.invalidateQueries({ queryKey: ['account'] })
  })
  return (
    <div className="stack">
      <Button
        variant="default"
        className="align-start"
        leftSection={<Icon name="play" />}
        loading={send.isRunning}
        onClick={() => void send.run()}
      >
        {t.send}
      </Button>
      {send.error && <ErrorMessage error={send.error} />}
      {response !== null && (
        <div className="panel stack" role="status">
          <p className="message-text">{response.text}</p>
          <div className="row muted">
            {response.cost !== null && <Money amount={response.cost} />}
            <span>{t.tokens(response.promptTokens, response.completionTokens)}</span>
            <RequestTimes id={response.requestId} />
            <CopyButton text={response.requestId} />
            <Link to="/usage/$id" params={{ id: response.requestId }}>
              {t.bill}
            </Link>
          </div>
        </div>
      )}
    </div>
  )
}
