"""A survey on the workers of a Dask cluster, local or existing; each measures one batch of texts at a time.

Workers open the model themselves, from the same path, once. A worker that is lost loses its batch only, which
another one measures again. The rows travel as bytes; their order does not matter.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from attnviz.errors import FieldError, InputError, Message, must_be
from attnviz.model.spec.experiment import Experiment
from attnviz.study.survey.measure import measure, open_model
from attnviz.study.survey.plan import Plan
from attnviz.study.survey.store import encoded
from attnviz.study.survey.texts import Text

BATCH = 8
"""Texts of a task: at most this many are measured again after a loss."""
AHEAD = 2
"""Tasks that wait for each worker."""
RETRIES = 3
"""Trials of a batch whose workers are lost, after the first."""
NEEDS_CERTIFICATES = Message(
    "A tls:// scheduler needs certificates, which distributed.comm.tls of Dask's configuration must name."
)
NEEDS_DASK = Message("Workers need the packages dask and distributed: pip install 'attnviz[cluster]'.")

Row = tuple[int, str, bytes]
"""Number and key of a text, and its rows as an Arrow stream."""


@dataclass(frozen=True)
class Where:
    """`workers` processes on this machine, each with `memory` bytes at most; or those of a `scheduler`.

    A scheduler elsewhere is refused without TLS, as its workers run what they are sent; `is_insecure` accepts
    it. Dask's own settings (`distributed.comm.tls`) say which certificates are used.
    """

    workers: int = 1
    memory: int = 0
    scheduler: str = ""
    is_insecure: bool = False

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise FieldError("workers", self.workers, must_be("a whole number from 1"))
        if not self.scheduler:
            return
        try:
            address = urlsplit(self.scheduler)
            is_address = address.scheme in ("tcp", "tls") and address.hostname and address.port
        except ValueError:  # a port above 65535, half of a bracket
            is_address = False
        if not is_address:
            raise FieldError("scheduler", self.scheduler, must_be("an address such as tls://host:8786"))
        if address.scheme == "tcp" and not self.is_insecure and not _is_here(str(address.hostname)):
            wanted = must_be("a tls:// address, or --insecure be given: its workers run what they are sent")
            raise FieldError("scheduler", self.scheduler, wanted)


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def measured_on(where: Where, plan: Plan, texts: Sequence[Text]) -> Iterator[Row]:
    """The rows of every text, in the order in which they are measured.

    Raises `InputError` without Dask, for a scheduler that cannot be reached, and what `measure` raises.
    """
    try:
        from distributed import as_completed
    except ModuleNotFoundError:
        raise InputError(NEEDS_DASK) from None
    batches = [tuple(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]
    if not batches:
        return
    with _client(where) as client:
        waiting = iter(batches)
        n_workers = max(len(client.scheduler_info()["workers"]), 1)

        def submitted(batch: tuple[Text, ...]) -> Any:
            return client.submit(measure_batch, plan, batch, pure=False, retries=RETRIES)

        first = [submitted(batch) for batch in islice(waiting, AHEAD * n_workers)]
        done = as_completed(first, loop=client.loop)
        for future in done:
            yield from future.result()
            future.release()
            following = next(waiting, None)
            if following is not None:
                done.add(submitted(following))


def _client(where: Where) -> Any:
    from distributed import Client, LocalCluster, Security

    if where.scheduler:
        try:
            settings = Security().get_connection_args("client")
        except (OSError, ValueError):  # a certificate that does not exist, or is none
            settings = {}
        if where.scheduler.startswith("tls:") and settings.get("ssl_context") is None:
            raise InputError(NEEDS_CERTIFICATES)
        try:
            return Client(where.scheduler, timeout="10s", set_as_default=False)
        except (OSError, TimeoutError) as error:
            said = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(
                Message("The scheduler {name} must answer; got {error}.", name=where.scheduler, error=said)
            ) from None
    cluster = LocalCluster(
        n_workers=where.workers,
        threads_per_worker=1,
        processes=True,
        memory_limit=where.memory or "auto",
        dashboard_address=None,
        silence_logs=40,
    )
    return _Owned(Client(cluster, set_as_default=False), cluster)


class _Owned:
    """A client that closes the cluster that was begun for it."""

    def __init__(self, client: Any, cluster: Any) -> None:
        self._client, self._cluster = client, cluster

    def __enter__(self) -> Any:
        return self._client.__enter__()

    def __exit__(self, *error: object) -> None:
        self._client.__exit__(*error)
        self._cluster.close()


def measure_batch(plan: Plan, texts: tuple[Text, ...]) -> list[Row]:
    """The rows of some texts; runs in a worker."""
    model = _opened(plan)
    return [(text.number, text.key, encoded(plan, measure(plan, model, text))) for text in texts]


@lru_cache(maxsize=1)
def _opened(plan: Plan) -> Experiment:
    """The model of the present survey: a worker opens it once, and lets go of the one before."""
    return open_model(plan)
