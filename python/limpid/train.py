"""Training runs: data, model, recipe, log, checkpoints and findings from one configuration.

>>> import limpid as lp
>>> run = lp.train.Run({"data": "moons", "epochs": 2})
>>> end = run.train()
>>> end["reason"]
'finished'
>>> run.model()([0.5, 0.25]).shape
(2,)
"""

from __future__ import annotations

import inspect
import json
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from . import _core
from ._core import Key
from ._params import Params
from ._transforms import trace as _trace
from .data import Split, load
from .nn import _apply_layer, _init_layer, _plain, _takes_key

__all__ = ["Run", "config_keys", "diagnose", "resume"]

Event = Dict[str, Any]
Path = Union[str, "os.PathLike[str]"]


def _type_of_one(examples: Any) -> str:
    """The type of an example of these, as text."""
    array = _core.asarray(examples)
    return f"{array.type.partition(chr(91))[0]}[{', '.join(map(str, array.shape[1:]))}]"


def _custom(network: Any, params: Any, loss: Any, frozen: Sequence[str], data: Sequence[Any], seed: int) -> Any:
    """The Functions of a network of one's own, as _core.Run takes them."""
    if not callable(network) or isinstance(network, type):
        raise TypeError(f"Run: network: expected a layer or code of (params, x), got {network!r}")
    if loss is not None and not callable(loss):
        raise TypeError(f"Run: loss: expected code of (output, target), got {loss!r}")
    is_layer = hasattr(network, "init")
    apply: Callable[[Any, Any, Any], Any]
    if params is None:
        if not is_layer:
            raise TypeError("Run: network: code has no initial parameters of its own: expected params, too")
        params = _init_layer(network, Key(seed))
    params = Params(params)
    if is_layer:
        takes_key = _takes_key(network)
        apply = lambda p, x, key: _apply_layer(network, p, x, key)
    else:
        takes_key = "key" in inspect.signature(network).parameters
        apply = lambda p, x, key: network(p, x) if key is None else network(p, x, key=key)
    train = data[0]
    x, target = _type_of_one(train.inputs), _type_of_one(train.targets)
    inference = _trace(lambda p, x: apply(p, x, None), params, x, name="model", names=["params", "x"], outputs=["y"])
    training = _trace(apply, params, x, "i64[]", name="model", names=["params", "x", "key"]) if takes_key else None
    output = inference.outputs[0][1]
    of_loss = None if loss is None else _trace(loss, output, target, name="loss", names=["output", "target"])
    return inference, training, of_loss, params, list(frozen)


class Run:
    """A training run.

    The bits of the model depend on the configuration and the data alone: not on threads, listeners,
    checkpoints or interruptions. Ctrl-C writes a checkpoint, from which `resume` continues.

    Parameters
    ----------
    config : mapping
        The keys of docs/reference/train.md: ``{"data": "moons", "optimizer": {"lr": 0.1}}``; what is not
        chosen suits the data.
    data : Split or sequence of Dataset, optional
        In memory, instead of the data set that the configuration names.
    folder : path, optional
        Where configuration, log, checkpoint and model are kept. Without it nothing is written.
    overwrite : bool
        The run that the folder holds.
    threads : int
        That share the work. No bit depends on it.
    network : layer or callable, optional
        One's own, instead of the one that the configuration describes: a layer of `lp.nn`, or code of
        (params, x) for one example x; with a parameter `key`, it is called with one in training, for dropout
        and other random numbers. The output is one example's: logits of the classes, or predictions.
    params : tree, optional
        Its initial parameters; those that a layer's ``init`` draws from the configuration's seed, unless told.
    loss : callable, optional
        Of (output, target) of one example; that of the task, unless told.
    frozen : sequence of str
        Names of parameters that are not trained.
    on_event, on_step : callable, optional
        Called with every event of the log, and with every step: dicts as a line of the log has them. The
        step is completed before an exception of theirs is raised; `train` writes a checkpoint first, too.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        data: Optional[Sequence[Any]] = None,
        *,
        folder: Optional[Path] = None,
        overwrite: bool = False,
        threads: int = 1,
        network: Any = None,
        params: Any = None,
        loss: Optional[Callable[[Any, Any], Any]] = None,
        frozen: Sequence[str] = (),
        on_event: Optional[Callable[[Event], Any]] = None,
        on_step: Optional[Callable[[Event], Any]] = None,
    ) -> None:
        if not isinstance(config, Mapping):
            raise TypeError(f"Run: expected a mapping such as {{'data': 'moons'}}, not {type(config).__name__}")
        if network is None and (params is not None or loss is not None or frozen):
            raise TypeError("Run: params, loss and frozen belong to a network of one's own: expected network, too")
        custom = None
        if network is not None:
            if data is None:
                data = load(config.get("data", "digits"))
            custom = _custom(network, params, loss, frozen, data, int(config.get("seed", 0)))
        self._run = _core.Run(json.dumps(dict(config), default=_plain), data, folder, overwrite, threads, custom)
        for name, code in (("on_event", on_event), ("on_step", on_step)):
            if code is not None and not callable(code):
                raise TypeError(f"Run: {name}: expected code, got {code!r}")
        if on_event is not None:
            self._run.on_event(on_event)
        if on_step is not None:
            self._run.on_step(on_step)

    def train(self, stop: Optional[Callable[[], bool]] = None) -> Event:
        """Steps until no step follows, or until `stop`, asked after each, says true.

        Returns
        -------
        dict
            The last event: reason, metrics of validation and test, seconds. After a `stop` the reason is
            "interrupted", and train() continues.
        """
        if stop is not None and not callable(stop):
            raise TypeError(f"train: stop: expected code, got {stop!r}")
        return self._run.train(stop)

    def start(self) -> None:
        """Begins; `train` does it, too."""
        self._run.start()

    def resume(self) -> None:
        """Continues from the folder's checkpoint, or after an interruption."""
        self._run.resume()

    def step(self) -> None:
        """One update, with the evaluation, diagnosis and checkpoint that are due."""
        self._run.step()

    def finish(self) -> Event:
        """Evaluates, writes the model and ends the log; after the last step."""
        return self._run.finish()

    def interrupt(self) -> Event:
        """Writes a checkpoint and ends the log; `resume` continues."""
        return self._run.interrupt()

    @property
    def done(self) -> bool:
        """Whether no step follows."""
        return self._run.done()

    @property
    def config(self) -> Dict[str, Any]:
        """The complete configuration."""
        return self._run.config()

    @property
    def data(self) -> Split:
        """The parts, as loaded."""
        return Split(*self._run.data())

    @property
    def findings(self) -> List[Event]:
        """What the doctor has found so far: rule, severity, symptom, cause, fix, remedies."""
        return self._run.findings()

    @property
    def epochs(self) -> List[Event]:
        """The epochs so far: metrics of training and validation."""
        return self._run.epochs()

    def diagnose(self) -> List[Event]:
        """What the doctor finds in the whole log as it is now."""
        return self._run.diagnose()

    def model(self) -> _core.Model:
        """The model as it is now."""
        return self._run.model()

    def _repr_html_(self) -> str:
        from . import _html

        return _html.run(self)


def resume(folder: Path, *, threads: int = 1, **arguments: Any) -> Run:
    """Continues the run of a folder from its checkpoint; `train` does the rest.

    Data in memory and a network of one's own are given again, as to `Run`.
    """
    run = Run(_core.read_config(folder), folder=folder, threads=threads, **arguments)
    run.resume()
    return run


def diagnose(run: Path) -> List[Event]:
    """What the doctor finds in a run's folder or log."""
    return _core.diagnose(run)


def config_keys() -> Dict[str, str]:
    """The keys of a configuration, with what they mean."""
    return dict(_core.config_keys())
