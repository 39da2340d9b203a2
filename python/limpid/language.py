"""Language models: text is generated token by token. Text encoders: a text becomes a vector."""

from __future__ import annotations

import os
from typing import Any, Iterator, List, Mapping, Optional, Sequence, Union

from . import _core
from ._core import Array, Key, Model
from .nn import CharLm, Gpt, RecurrentLm

__all__ = ["LanguageModel", "TextEmbedder", "generate"]


class LanguageModel:
    """A model that continues sequences of tokens, with a cache of keys and values, or a recurrent network's state.

    What one sequence gives does not depend on the others. Used by one thread at a time.

    Parameters
    ----------
    net : Gpt, RecurrentLm, CharLm or Model
    params : mapping, optional
        Of a net.
    sequences : int
        At a time, at most.
    capacity : int
        Tokens of a sequence, at most; 0: the context length of a Gpt, any number for the others.

    Examples
    --------
    >>> import limpid as lp
    >>> net = lp.nn.Gpt(50, context=16, layers=1, width=8, heads=2)
    >>> lm = lp.LanguageModel(net, net.init(seed=0))
    >>> first = list(lm.generate([1, 2, 3], tokens=5))
    >>> first == list(lm.generate([1, 2, 3], tokens=5)), len(first)
    (True, 5)
    """

    def __init__(
        self, net: Any, params: Optional[Mapping[str, Any]] = None, *, sequences: int = 1, capacity: int = 0
    ) -> None:
        if isinstance(net, Model):
            self._writer = net._language_model(sequences, capacity)
            return
        makers = {Gpt: _core.gpt_writer, RecurrentLm: _core.recurrent_lm_writer, CharLm: _core.char_lm_writer}
        make = next((makers[kind] for kind in makers if isinstance(net, kind)), None)
        if make is None:
            names = "a Gpt, a RecurrentLm, a CharLm or a Model"
            raise TypeError(f"LanguageModel: expected {names}, not {type(net).__name__}")
        if params is None:
            raise TypeError("LanguageModel: the parameters are missing")
        self._writer = make(net.config(), params, sequences, capacity)

    @property
    def vocabulary(self) -> int:
        """How many tokens there are."""
        return self._writer.vocabulary

    @property
    def capacity(self) -> int:
        """Tokens of a sequence, at most."""
        return self._writer.capacity

    @property
    def places(self) -> int:
        """How many more sequences may join."""
        return self._writer.places

    def prepare(self) -> None:
        """Compiles every pass that a step may need, and takes the memory of the caches, before the first step."""
        self._writer.prepare()

    def join(self, tokens: Sequence[int] = ()) -> _core.Joined:
        """A sequence that its user continues, beside others: it takes a place until nobody holds it.

        Examples
        --------
        >>> import limpid as lp
        >>> net = lp.nn.Gpt(50, context=16, layers=1, width=8, heads=2)
        >>> lm = lp.LanguageModel(net, net.init(seed=0), sequences=2)
        >>> first, second = lm.join([1, 2, 3]), lm.join([4])
        >>> lm.step()
        >>> second.append(int(second.logits.argmax()))
        >>> first.ready, second.ready, len(second.tokens)
        (True, False, 2)
        """
        return self._writer.join([int(t) for t in tokens])

    def step(self) -> None:
        """Reads tokens of every sequence that has some to read; of many, the next chunk of them."""
        self._writer.step()

    def generate(
        self,
        prompt: Sequence[int],
        tokens: Optional[int] = None,
        *,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        key: Union[Key, int] = Key(0),
        vocabulary: int = 0,
        end: Union[int, Sequence[int], None] = None,
    ) -> Iterator[int]:
        """The tokens that follow the prompt, one after the other.

        Parameters
        ----------
        prompt : sequence of int
        tokens : int, optional
            At most so many; without an end unless told.
        temperature : float
            0: always the most likely token.
        top_k, top_p : int, float
            Only the k most likely tokens; only the most likely ones that have this probability together.
        key : Key or int
            Token i is drawn by ``key.fold_in(i)``.
        vocabulary : int
            Draws one of the first tokens alone; 0: any.
        end : int or sequence of int, optional
            The token or tokens that end the text; they are not given.
        """
        written = self._writer.begin(
            [int(t) for t in prompt], temperature, top_k, top_p, key if isinstance(key, Key) else Key(key), vocabulary
        )
        ends = () if end is None else (end,) if isinstance(end, int) else tuple(end)
        return _tokens(written, tokens, ends)


def _tokens(written: _core.Written, most: Optional[int], ends: Sequence[int]) -> Iterator[int]:
    drawn = 0
    while most is None or drawn < most:
        token = written.draw()
        if token in ends:
            return
        yield token
        drawn += 1


class TextEmbedder:
    """The embeddings of texts, or the logits of their classes, by a text encoder such as a BERT.

    The row of a text has the same bits alone and among any other texts.

    Parameters
    ----------
    model : Model or path
        A folder of Hugging Face, with what sentence-transformers adds, or a model made of one.
    threads : int
        That share the work of a call.

    Examples
    --------
    >>> import limpid as lp
    >>> embed = lp.TextEmbedder("all-MiniLM-L6-v2")  # doctest: +SKIP
    >>> vectors = embed(["A cat sits.", "A dog runs."])  # doctest: +SKIP
    >>> vectors.shape  # doctest: +SKIP
    (2, 384)
    """

    def __init__(self, model: Any, *, threads: int = 1) -> None:
        opened = model if isinstance(model, Model) else _core.open_model(os.fsdecode(model), {})
        self._embedder = _core.TextEmbedder(opened, threads)

    def __call__(self, texts: Sequence[Any], *, truncate: bool = False) -> Array:
        """A row for each text, f32 [n, size].

        Parameters
        ----------
        texts : sequence of str, or of sequences of int
            Texts, or their tokens.
        truncate : bool
            Whether a text of more tokens than the model takes loses its last ones; else it is refused.
        """
        if isinstance(texts, str):
            raise TypeError("TextEmbedder: expected a sequence of texts, not one text")
        if any(isinstance(text, str) for text in texts):
            return self._embedder.of_texts(list(texts), truncate)
        return self._embedder.of_tokens([[int(token) for token in text] for text in texts])

    def pairs(self, query: str, documents: Sequence[str], *, truncate: bool = False) -> Array:
        """The logits of the query with each document, read as one text by a cross-encoder: f32 [n, size].

        Parameters
        ----------
        query : str
            The first text of each pair.
        documents : sequence of str
            The second ones.
        truncate : bool
            Whether the longer text of a pair of more tokens than the model takes loses its last ones; else it is refused.
        """
        if isinstance(documents, str):
            raise TypeError("TextEmbedder: expected a sequence of documents, not one text")
        return self._embedder.of_pairs(query, list(documents), truncate)

    def tokens(self, text: str, *, truncate: bool = False) -> List[int]:
        """The tokens of a text, with those of the template, as the model was trained with."""
        return self._embedder.tokens(text, truncate)

    @property
    def labels(self) -> List[str]:
        """The names of the classes; empty if the model has none."""
        return self._embedder.labels

    @property
    def size(self) -> int:
        """The number of elements of a row: the width, or the number of classes."""
        return self._embedder.size

    @property
    def context(self) -> int:
        """The most tokens of a text."""
        return self._embedder.context


def generate(
    model: Model,
    prompt: Optional[str] = None,
    tokens: int = 500,
    *,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    seed: int = 0,
) -> Iterator[str]:
    """Generates text with a model that has a tokenizer: an iterator over parts of the text.

    The same model, prompt, options and seed give the text of ``limpid generate``.
    """
    tokenizer = model._tokenizer()
    start = tokenizer._prompt(prompt)
    context = model._context()
    capacity = 0 if context is None else min(context, len(start) + tokens)
    lm = LanguageModel(model, capacity=capacity)
    drawn = lm.generate(
        start,
        tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        key=Key(seed),
        vocabulary=len(tokenizer),
        end=tokenizer.ends,
    )
    return _characters(tokenizer, drawn)


def _characters(tokenizer: _core.Tokenizer, tokens: Iterator[int]) -> Iterator[str]:
    stream = _core.CharacterStream()
    for token in tokens:
        text = stream.take(tokenizer.decode([token]))
        if text:
            yield text
    rest = stream.rest()
    if rest:
        yield rest
