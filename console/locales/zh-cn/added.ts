import type { added as english } from '../en/added.ts'

export const added: typeof english = {
  headers: '附加请求头',
  headersHint: '每行一个“名称: 值”，随每个请求发送。加密保存，之后不再显示。',
  headersStored: (names) => `已保存：${names}。留空则保持不变，填写后将全部替换。`,
  removeHeaders: '删除已保存的请求头',
  body: '附加请求字段',
  bodyHint: 'JSON 对象，请求中没有的字段会自动补上',
  responses: 'Responses API',
  passedThrough: '原样转发给上游',
  translated: '转换为对话补全',
}
