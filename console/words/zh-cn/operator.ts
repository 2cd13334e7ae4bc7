/** The operator's pages. Simplified Chinese. */
import type { operator as english } from '../en/operator.ts'

export const operator: typeof english = {
  upstreams: {
    title: '上游',
    lead: '提供模型的地方：供应商、地址与凭据。排在前面的先尝试。',
    add: '添加上游',
    addTitle: '添加上游',
    editTitle: (name: string) => `修改 ${name}`,
    none: '还没有上游',
    noneLead: '上游是您在某个供应商处的账户。先添加一个，再提供它的模型。',
    name: '名称',
    nameHint: '您和各项记录中使用的名称',
    provider: '供应商',
    baseUrl: '地址',
    baseUrlHint: '该供应商的客户端所用的地址',
    credential: '凭据',
    credentialHint: '加密保存，不再显示',
    credentialKept: '留空则保留现有凭据',
    priority: '优先级',
    priorityHint: '数值小的先尝试',
    weight: '权重',
    weightHint: '同一优先级之间的比例',
    state: '状态',
    on: '使用中',
    off: '已关闭',
    enable: '启用',
    disable: '关闭',
    models: '模型',
    changed: '更改时间',
    test: '测试',
    testModel: '用于测试的模型',
    testModelHint: '供应商自己的模型名',
    addAndTest: '保存并测试',
    addOff: '先以关闭状态保存并测试；测试通过并启用后，请求才会到达。',
    passed: (ms: string) => `已在 ${ms} 内应答。`,
    failedTest: '测试失败。启用之前不会向它发送请求。',
    useNow: '启用',
    advanced: '超时等设置',
    connectMs: '连接（毫秒）',
    firstTokenMs: '首个词元（毫秒）',
    idleMs: '流中静默（毫秒）',
    answerMs: '完整应答（毫秒）',
    onAbort: '调用方离开时',
    cancel: '结束请求',
    drain: '读到结束',
    deleteTitle: (name: string) => `删除 ${name}？`,
    deleteEffect: (models: number) =>
      models === 0
        ? '没有模型使用它。其凭据将被销毁。'
        : `仍有 ${models} 个模型使用它，请先更改这些模型的路由。`,
    deleted: '上游已删除。',
    disableTitle: (name: string) => `关闭 ${name}？`,
    disableEffect: (models: string) =>
      models === ''
        ? '没有模型使用它。'
        : `不再向它发送新请求。以下模型使用它：${models}。进行中的请求不受影响。`,
    disabled: '不再向它发送新请求。',
    enabled: '从现在起可以接收请求。',
  },
}
