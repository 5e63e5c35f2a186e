from __future__ import annotations

import copy
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agentenv.errors import ConfigurationError, InfrastructureError
from agentenv.tasks.search import dense
from agentenv.tasks.search.base import Document
from agentenv.tasks.search.corpus import DocumentCorpus
from agentenv.tasks.search.dense import DenseRetriever
from tests.tasks.search.test_index import DOCUMENTS, HOSTILE

WIDTH = 64


def hashed_words(texts: Sequence[str]) -> np.ndarray:
    """A vector of hashed words: texts that share words lie near each other."""
    vectors = np.zeros((len(texts), WIDTH))
    for row, text in enumerate(texts):
        for word in text.lower().replace(".", " ").split():
            digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()
            vectors[row, digest[0] % WIDTH] += 1
    return vectors


def opened(cache: Path, documents: Sequence[Document] = DOCUMENTS, **options: Any) -> DenseRetriever:
    options = {"encoder": hashed_words, "name": "hashed", **options}
    return DenseRetriever.open(DocumentCorpus(documents), cache=cache, **options)


def ids(retriever: DenseRetriever, query: str, k: int) -> list[str]:
    return [hit.document.id for hit in retriever.search([query], k)[0]]


def test_the_nearest_come_first_whatever_the_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    documents = [Document(str(n), "", " ".join(map(str, rng.integers(0, 30, 5)))) for n in range(600)]
    queries = ["1 2 3", "7", "29 4"]
    passages = hashed_words([document.text for document in documents])
    wanted = hashed_words(queries)
    cosines = wanted @ (passages / np.linalg.norm(passages, axis=1, keepdims=True)).T
    cosines /= np.linalg.norm(wanted, axis=1, keepdims=True)
    for rows in (7, 65_536):
        monkeypatch.setattr(dense, "_ROWS", rows)
        found = opened(tmp_path, documents).search(queries, 10)
        for row, hits in zip(cosines, found, strict=True):
            assert [hit.score for hit in hits] == pytest.approx(np.sort(row)[::-1][:10].tolist(), abs=1e-6)
            assert [row[int(hit.document.id)] for hit in hits] == pytest.approx([hit.score for hit in hits], abs=1e-6)


def test_equal_scores_go_by_corpus_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "_ROWS", 4)
    documents = [Document(f"{(3 * n) % 10}", "", "same") for n in range(10)]
    assert ids(opened(tmp_path, documents), "same", 6) == [document.id for document in documents[:6]]


@pytest.mark.parametrize("query", HOSTILE.values(), ids=HOSTILE)
def test_every_query_is_answered(tmp_path: Path, query: str) -> None:
    found = opened(tmp_path).search([query], 9)[0]
    assert sorted(hit.document.id for hit in found) == ["a", "b", "c", "d"]


def test_vectors_are_made_once_for_each_corpus_encoder_and_prefix(tmp_path: Path) -> None:
    seen: list[str] = []

    def counting(texts: Sequence[str]) -> np.ndarray:
        seen.extend(texts)
        return hashed_words(texts)

    first = opened(tmp_path, encoder=counting, passage_prefix="passage: ")
    again = opened(tmp_path, encoder=counting, passage_prefix="passage: ", query_prefix="")
    assert (len(seen), first.fingerprint) == (len(DOCUMENTS), again.fingerprint)
    assert seen[0] == "passage: Oslo\nA city with hills. The hills of Oslo."
    others = [opened(tmp_path), opened(tmp_path, name="other"), opened(tmp_path, query_prefix="query: ")]
    assert len({first.fingerprint, *(other.fingerprint for other in others)}) == 4
    assert first.document("d") == DOCUMENTS[3]
    assert first.document("absent") is None
    assert copy.deepcopy(first).search(["hills"], 2) == first.search(["hills"], 2)


def test_an_empty_corpus_finds_nothing(tmp_path: Path) -> None:
    assert opened(tmp_path, []).search(["x", ""], 3) == [[], []]
    assert opened(tmp_path).search([], 3) == []


@pytest.mark.parametrize(
    "broken",
    [
        lambda texts: np.zeros(3),
        lambda texts: np.zeros((1, 3)),
        lambda texts: np.full((len(texts), 3), np.nan),
    ],
)
def test_an_encoder_that_fails_is_the_platforms_failure(tmp_path: Path, broken: dense.Encoder) -> None:
    with pytest.raises(InfrastructureError, match="finite vectors"):
        opened(tmp_path, encoder=broken)


def test_missing_packages_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ConfigurationError, match=r"needs sentence-transformers: .*agentenv-gym\[dense\]"):
        opened(tmp_path, encoder="intfloat/e5-base-v2")
    with pytest.raises(ConfigurationError, match=r"needs faiss-cpu: .*agentenv-gym\[dense\]"):
        opened(tmp_path, index="faiss:Flat")


def test_arguments_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="needs a name"):
        opened(tmp_path, name="")
    with pytest.raises(ConfigurationError, match="'exact' or 'faiss:FACTORY'"):
        opened(tmp_path, index="hnsw")
    with pytest.raises(ConfigurationError, match="k must be"):
        opened(tmp_path).search(["x"], 0)


@pytest.mark.parametrize("factory", ["Flat", "HNSW8,Flat"])
def test_faiss_finds_the_same_in_a_small_corpus(tmp_path: Path, factory: str) -> None:
    pytest.importorskip("faiss")
    exact = opened(tmp_path)
    approximate = opened(tmp_path, index=f"faiss:{factory}")
    assert exact.fingerprint != approximate.fingerprint
    assert ids(approximate, "hills of oslo", 1) == ids(exact, "hills of oslo", 1)
    with pytest.raises(ConfigurationError, match="cannot make"):
        opened(tmp_path, index="faiss:Nonsense")


def test_a_small_model_from_a_directory(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "oslo", "rome", "city", "hills"]
    raw = tokenizers.Tokenizer(tokenizers.models.WordLevel({w: n for n, w in enumerate(words)}, unk_token="[UNK]"))
    raw.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="[PAD]", unk_token="[UNK]")
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    plain = tmp_path / "plain"
    transformers.BertModel(config).save_pretrained(plain)
    tokenizer.save_pretrained(plain)
    retriever = opened(tmp_path, encoder=str(plain), name="")
    assert len(retriever.search(["oslo hills", "\ud800"], 2)[0]) == 2
