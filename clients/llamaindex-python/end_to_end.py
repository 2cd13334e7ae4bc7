"""LlamaIndex's embeddings, unchanged except for the base URL and the API key; see client-program.ts."""

import asyncio
import sys
from pathlib import Path

import openai
from llama_index.core import Document, VectorStoreIndex
from llama_index.embeddings.openai import OpenAIEmbedding

sys.path.append(str(Path(__file__).parent.parent))
from scenario_loop import read_input, run_scenarios  # noqa: E402

context = read_input()
vector = [0.5, -0.5, 0.25]


def create(key="rich", model="text-embedding-3-small", **options):
    params = {"api_base": context["url"] + "/v1", "api_key": context[key], "max_retries": 0}
    return OpenAIEmbedding(model_name=model, **params, **options)


def texts(_family):
    embedding = create()
    assert embedding.get_text_embedding("one") == vector
    assert embedding.get_query_embedding("one") == vector
    assert create(embed_batch_size=2).get_text_embedding_batch(["one", "two", "three"]) == [vector] * 3
    assert asyncio.run(create().aget_text_embedding_batch(["one", "two"])) == [vector] * 2


def dimensions(_family):
    assert create(dimensions=3).get_text_embedding("one") == vector


def index(_family):
    documents = [Document(text="Paris is in France."), Document(text="Oslo is in Norway.")]
    retriever = VectorStoreIndex.from_documents(documents, embed_model=create()).as_retriever()
    assert len(retriever.retrieve("Where is Oslo?")) == 2


def errors(_family):
    for options, kind in (
        ({"key": "poor"}, openai.APIStatusError),
        ({"model": "other-plain"}, openai.NotFoundError),
    ):
        try:
            create(**options).get_text_embedding("one")
        except kind:
            continue
        raise AssertionError("nothing was raised")


run_scenarios(globals())
