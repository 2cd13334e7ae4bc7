/** Ready-to-paste calls with this deployment's address and one of its models. */

export interface SnippetTerms {
  /** With its `/v1`. */
  readonly baseUrl: string
  readonly model: string
  /** The secret, right after it was made; else a name for it. */
  readonly secret: string | null
}

export const snippetNames = ['curl', 'Python', 'Node.js', 'Go'] as const
export type SnippetName = (typeof snippetNames)[number]

const keyName = 'SLUICE_KEY'

export function snippetOf(name: SnippetName, { baseUrl, model, secret }: SnippetTerms): string {
  switch (name) {
    case 'curl':
      return `curl ${baseUrl}/chat/completions \\
  -H "Authorization: Bearer ${secret ?? `$${keyName}`}" \\
  -H "Content-Type: application/json" \\
  -d '{
    "model": "${model}",
    "messages": [{"role": "user", "content": "Hello!"}]
  }'`
    case 'Python':
      return `${secret === null ? 'import os\n' : ''}from openai import OpenAI

client = OpenAI(
    base_url="${baseUrl}",
    api_key=${secret === null ? `os.environ["${keyName}"]` : `"${secret}"`},
)
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello!"}],
)
print(answer.choices[0].message.content)`
    case 'Node.js':
      return `import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: '${baseUrl}',
  apiKey: ${secret === null ? `process.env.${keyName}` : `'${secret}'`},
})
const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello!' }],
})
console.log(answer.choices[0].message.content)`
    case 'Go':
      return `client := openai.NewClient(
	option.WithBaseURL("${baseUrl}"),
	option.WithAPIKey(${secret === null ? `os.Getenv("${keyName}")` : `"${secret}"`}),
)
answer, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
	Model:    "${model}",
	Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hello!")},
})`
  }
}

/** Where common applications want address and key, in their own words. */
export const applications = [
  { name: 'Cherry Studio', way: 'Settings → Model Provider → OpenAI', wantsVersion: false },
  { name: 'LobeChat', way: 'Settings → Language Model → OpenAI', wantsVersion: true },
  { name: 'NextChat', way: 'Settings → Custom Endpoint', wantsVersion: false },
  { name: 'Open WebUI', way: 'Settings → Connections → OpenAI API', wantsVersion: true },
  { name: 'Cursor', way: 'Settings → Models → Override OpenAI Base URL', wantsVersion: true },
  { name: 'Continue', way: 'config.yaml: provider: openai, apiBase', wantsVersion: true },
] as const
