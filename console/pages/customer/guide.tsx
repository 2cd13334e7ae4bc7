/** The customer's guide, with this deployment's base URLs and one of its models filled in. */
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useMessages } from '../../locales/messages.ts'
import { overviewQuery } from '../../api/account-queries.ts'
import { CodeBlock, CodeSnippets } from '../../components/code/code-block.tsx'
import { WithInlineCode } from '../../components/code/inline-code.tsx'
import { Page, Section } from '../../components/layout/page.tsx'
import { CopyButton } from '../../components/tables/format-cells.tsx'
import { clientApps } from '../../components/code/snippets.ts'
import { Table } from '../../components/tables/table.tsx'
import { useBaseUrls } from '../../api/session.ts'

const sections = ['first', 'stream', 'errors', 'retries', 'limits', 'prices', 'safety', 'apps'] as const

export function Guide() {
  const t = useMessages('guide')
  const baseUrls = useBaseUrls()
  const model = useQuery(overviewQuery).data?.example_model ?? t.anyModel
  const [baseUrl] = baseUrls
  return (
    <Page title={t.title} lead={t.lead}>
      <nav className="row" aria-label={t.contents}>
        {sections.map((section) => (
          <a key={section} href={`#${section}`} className="tag">
            {t[section].title}
          </a>
        ))}
      </nav>
      <div className="prose">
        <GuideSection section="first">
          <div className="row">
            {baseUrls.map((url) => (
              <CopyButton key={url} text={url} />
            ))}
          </div>
          <CodeSnippets baseUrl={baseUrl} model={model} secret={null} />
        </GuideSection>
        <GuideSection section="stream">
          <CodeBlock text={streamingExample(baseUrl, model)} />
        </GuideSection>
        <GuideSection section="errors">
          <ErrorTable />
        </GuideSection>
        <GuideSection section="retries" />
        <GuideSection section="limits" />
        <GuideSection section="prices">
          <CodeBlock text={`curl ${baseUrl}/balance -H "Authorization: Bearer $SLUICE_KEY"`} />
        </GuideSection>
        <GuideSection section="safety" />
        <GuideSection section="apps">
          <Table
            label={t.apps.title}
            rows={clientApps}
            rowId={({ name }) => name}
            columns={[
              { header: t.apps.app, primary: true, cell: ({ name }) => name },
              { header: t.apps.where, cell: ({ settingsPath }) => <span lang="en">{settingsPath}</span> },
              {
                header: t.apps.address,
                cell: ({ wantsVersion }) => (
                  <CopyButton text={wantsVersion ? baseUrl : baseUrl.replace(/\/v1$/, '')} />
                ),
              },
            ]}
          />
        </GuideSection>
      </div>
    </Page>
  )
}

interface GuideSectionProps {
  readonly section: (typeof sections)[number]
  readonly children?: ReactNode
}

function GuideSection({ section, children }: GuideSectionProps) {
  const { title, text } = useMessages('guide')[section]
  return (
    <div id={section}>
      <Section title={title}>
        {text.map((paragraph) => (
          <p key={paragraph}>
            <WithInlineCode text={paragraph} />
          </p>
        ))}
        {children}
      </Section>
    </div>
  )
}

function ErrorTable() {
  const { errors } = useMessages('guide')
  return (
    <Table
      label={errors.title}
      rows={errors.table}
      rowId={({ code }) => code}
      columns={[
        { header: errors.status, numeric: true, cell: ({ status }) => status },
        { header: errors.code, primary: true, cell: ({ code }) => <code>{code}</code> },
        { header: errors.meaning, cell: ({ meaning }) => <WithInlineCode text={meaning} /> },
        { header: errors.whatToDo, cell: ({ whatToDo }) => <WithInlineCode text={whatToDo} /> },
      ]}
    />
  )
}

function streamingExample(baseUrl: string, model: string): string {
  return `curl -N ${baseUrl}/chat/completions \\
  -H "Authorization: Bearer $SLUICE_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{
    "model": "${model}",
    "stream": true,
    "stream_options": {"include_usage": true},
    "messages": [{"role": "user", "content": "Hello!"}]
  }'`
}
