"""The catalogue: shipped files, a user's own files over them, and one entry read at a time."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from planner.catalogue.documents import Document, Entry, data_directory
from planner.catalogue.figures import Record, Source
from planner.catalogue.gpu import Gpu
from planner.catalogue.models import Model
from planner.catalogue.names import Names, loosen
from planner.catalogue.price import Price, PriceKind
from planner.catalogue.problems import catalogue_error
from planner.catalogue.roots import FILES, OPTIONAL, ROOTS, late_record, merge
from planner.errors import CatalogueError, UnknownName, unknown_name

if TYPE_CHECKING:
    from planner.catalogue.effects import AcceptanceTable, Host, Speedup, TransferCurve
    from planner.catalogue.fabrics import LinkFamily
    from planner.catalogue.kernels import KernelRule
    from planner.catalogue.stacks import Stack

ENVIRONMENT = "PLANNER_CATALOGUE"
"""Environment variable with a user's own catalogue files, separated as in PATH."""

R = TypeVar("R", bound=Record)


def load_catalogue(
    path: str | os.PathLike[str] | None = None,
    extra: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
) -> Catalogue:
    """Open the catalogue; entries are parsed when they are asked for.

    Parameters
    ----------
    path : path, optional
        A directory with hardware.yaml, models.yaml, prices.yaml and stacks.yaml instead of the shipped one;
        or a single catalogue file, which then lies over the shipped ones as if given in `extra`.
    extra : path or iterable of path
        A user's own file or files. They lie over those of the environment variable `PLANNER_CATALOGUE`; the
        last one wins. They are read and checked here and now.

    Returns
    -------
    Catalogue
        Everything the files hold.

    Raises
    ------
    CatalogueError
        When a file cannot be read or a user's file is wrong.
    """
    from planner.catalogue.integrity import check_user_files

    own = [Path(name) for name in os.environ.get(ENVIRONMENT, "").split(os.pathsep) if name]
    directory = data_directory()
    if path is not None and Path(path).is_dir():
        directory = Path(path)
    elif path is not None:
        own.append(Path(path))
    files = [extra] if isinstance(extra, str | os.PathLike) else extra
    own.extend(Path(name) for name in files)
    catalogue = Catalogue(directory, own)
    if own:
        catalogue.warnings.extend(check_user_files(catalogue))
    return catalogue


class Catalogue:
    """GPUs, models, prices and stacks, by id or alias, with the user's own entries over the shipped ones.

    An entry that a user's file gives for an existing id is merged over it (see `roots.merge`). Price rows
    replace the row of the same GPU, provider, kind and date, and are added otherwise.
    """

    def __init__(self, directory: Path, own: Iterable[Path] = ()) -> None:
        self.directory = directory
        self.own = [Document(path) for path in own]
        self.warnings: list[str] = []
        self._shipped: dict[str, Document] = {}
        self._records: dict[tuple[str, str], Record] = {}
        self._lists: dict[str, list[Record]] = {}
        self._sources: dict[tuple[Path, str], Source] = {}
        self._names: dict[str, Names] = {}
        self._priced: dict[Path, dict[str, list[str]]] = {}

    # -- what is asked of it ---------------------------------------------------------------------------------

    def gpu(self, name: str) -> Gpu:
        """Return the accelerator of this id or alias; `UnknownName` with the nearest names otherwise."""
        return self._record("gpus", self.resolve("gpus", name), Gpu)

    def model(self, name: str) -> Model:
        """Return the model of this id or alias; `UnknownName` with the nearest names otherwise."""
        return self._record("models", self.resolve("models", name), Model).called(name)

    def stack(self, name: str) -> Stack:
        """Return the engine stack of this id or alias; `UnknownName` with the nearest names otherwise."""
        from planner.catalogue.stacks import Stack

        return self._record("stacks", self.resolve("stacks", name), Stack)

    def fabrics(self) -> dict[str, LinkFamily]:
        """Return the families of links by id, in the order of the files."""
        return {family.id: family for family in self._records_of("fabrics")}

    def gpu_ids(self) -> list[str]:
        """Return the ids of all accelerators in the order of the files."""
        return self.ids("gpus")

    def model_ids(self) -> list[str]:
        """Return the ids of all models in the order of the files."""
        return self.ids("models")

    def stack_ids(self) -> list[str]:
        """Return the ids of all engine stacks in the order of the files."""
        return self.ids("stacks")

    def gpus(self) -> list[Gpu]:
        """Return all accelerators in the order of the files."""
        return [self._record("gpus", key, Gpu) for key in self.gpu_ids()]

    def models(self) -> list[Model]:
        """Return all models in the order of the files."""
        return [self._record("models", key, Model) for key in self.model_ids()]

    def stacks(self) -> list[Stack]:
        """Return all engine stacks in the order of the files."""
        return self._records_of("stacks")

    def kernel_rules(self) -> list[KernelRule]:
        """Return the rules of kernel coverage in the order of the files."""
        return self._records_of("kernels")

    def host(self, engine: str) -> Host | None:
        """Return the host times of an engine by its id, or None where none are known."""
        return next((host for host in self._records_of("host") if host.id == engine), None)

    def acceptance_tables(self) -> list[AcceptanceTable]:
        """Return the acceptance of drafted tokens in the order of the files."""
        return self._records_of("acceptance")

    def speedups(self) -> list[Speedup]:
        """Return the measured gains of speculation in the order of the files."""
        return self._records_of("speedups")

    def transfer_curves(self) -> list[TransferCurve]:
        """Return the curves of KV transfer in the order of the files."""
        return self._records_of("transfers")

    def calibrated(self, root: str) -> list[Any]:
        """Return what a calibration left under `calibration`, `intervals` or `seen`, if there is one."""
        return self._records_of(root)

    def prices(self, gpu: str | None = None, kind: PriceKind | str | None = None) -> list[Price]:
        """Return prices in the order of the files, of one GPU or one kind if asked.

        Parameters
        ----------
        gpu : str, optional
            Id or alias of the accelerator.
        kind : PriceKind or str, optional
            The terms, such as "on-demand".

        Returns
        -------
        list of Price
            Empty when nobody quotes one.
        """
        if kind is not None and kind not in {known.value for known in PriceKind}:
            raise unknown_name("price kind", str(kind), [known.value for known in PriceKind])
        keys = self._price_keys() if gpu is None else [self.resolve("gpus", gpu)]
        rows = [price for key in keys for price in self.prices_of(key)]
        return [price for price in rows if kind is None or price.kind == kind]

    @cached_property
    def digest(self) -> str:
        """SHA-256 [hex] of the text of every file of this catalogue."""
        together = hashlib.sha256()
        for document in [*self._all_shipped(), *self.own]:
            together.update(document.sha256)
        return together.hexdigest()

    @property
    def short_digest(self) -> str:
        """The first 12 digits of `digest`."""
        return self.digest[:12]

    def validate(self) -> list[str]:
        """Parse every entry of every file and apply the integrity rules.

        Returns
        -------
        list of str
            The warnings.

        Raises
        ------
        CatalogueError
            For the first thing that is wrong.
        """
        from planner.catalogue.integrity import check_catalogue

        for document in [*self._all_shipped(), *self.own]:
            document.check()
        return check_catalogue(self)

    def ids_everywhere(self, root: str) -> list[str]:
        """Return the ids under a root key in whatever file it stands."""
        documents = [*self._all_shipped(), *self.own]
        return list(dict.fromkeys(key for document in documents for key in document.ids(root)))

    # -- names -----------------------------------------------------------------------------------------------

    def ids(self, root: str) -> list[str]:
        """Return the ids under a root key: shipped ones first, then a user's new ones."""
        return list(dict.fromkeys(key for document in self._documents(root) for key in document.ids(root)))

    def resolve(self, root: str, name: str) -> str:
        """Return the id that a name stands for.

        Parameters
        ----------
        root : str
            The root key, such as "gpus".
        name : str
            An id or an alias in any case; blanks, `_` and `-` are the same where nothing matches exactly.

        Returns
        -------
        str
            The id.

        Raises
        ------
        UnknownName
            With the nearest names, or with the candidates when the name stands for several.
        """
        kind = ROOTS[root].kind
        if not isinstance(name, str) or not name.strip():
            raise UnknownName(f"{kind} {name!r} is no name; an id or an alias of the catalogue is needed")
        found = self._candidates(root, name)
        if len(found) == 1:
            return found[0]
        if found:
            raise UnknownName(f"{kind} {name!r} may be any of {', '.join(found)}; name one of them")
        if root == "gpus":
            self._refuse_unmapped(name)
        raise unknown_name(kind, name, self._names_of(root).known())

    def _candidates(self, root: str, name: str) -> list[str]:
        """Return the ids that a name may stand for; one where it stands for it alone."""
        if any(document.has(root, name) for document in self._documents(root)):
            return [name]
        return list(self._names_of(root).candidates(name))

    def aliases(self, root: str, key: str) -> list[str]:
        """Return the other names of an entry, as the files write them."""
        found = (alias for document in self._documents(root) for alias in document.aliases_of(root, key))
        return list(dict.fromkeys(found))

    def _names_of(self, root: str) -> Names:
        if root not in self._names:
            self._names[root] = Names(root, self.ids(root), self._documents(root))
        return self._names[root]

    def _refuse_unmapped(self, name: str) -> None:
        for document in reversed(self._documents("unmapped")):
            for key in document.ids("unmapped"):
                if loosen(key) == loosen(name):
                    note = document.entry("unmapped", key).data
                    raise UnknownName(f"{name!r} stands for no single gpu of the catalogue: {note}")

    # -- records ---------------------------------------------------------------------------------------------

    def _record(self, root: str, key: str, record: type[R]) -> R:
        made = self._records.get((root, key))
        if made is None:
            entries = self.entries(root, key)
            data: Any = {}
            for entry in entries:
                data = merge(data, entry.data)
            made = self._records[root, key] = self._make(record, f"{root}.{key}", data, entries, {"id": key})
        assert isinstance(made, record)
        return made

    def _records_of(self, root: str) -> list[Any]:
        """Return all records of a root key whose record is imported late."""
        if root not in self._lists:
            record = late_record(root)
            assert record is not None
            self._lists[root] = [self._record(root, key, record) for key in self.ids(root)]
        return list(self._lists[root])

    def _make(
        self, record: type[R], shown: str, data: Any, entries: list[Entry], known: Mapping[str, Any]
    ) -> R:
        """Build a record from merged data, or say on which line of which file it cannot be."""
        last = entries[-1]
        if not isinstance(data, dict):
            raise CatalogueError(
                f"{last.piece.file}:{last.line_of(())}: {shown}: expected a mapping of fields"
            )
        context = {
            "sources": _Sources(self, entries),
            "default_source": data.get("source"),
            "default_date": data.get("date"),
        }
        if record is Gpu:
            data = {field: value for field, value in data.items() if field not in ("source", "date")}
        try:
            return record.model_validate({**data, **known}, context=context)
        except ValidationError as error:
            raise catalogue_error(error, record, shown, entries) from None

    def load_entry(self, root: str, key: str) -> Record | None:
        """Read one entry of any root key, raising `CatalogueError` for what is wrong with it.

        Returns
        -------
        Record or None
            None for entries that are lists or have no record of their own.
        """
        if root in ("gpus", "models"):
            return self._record(root, key, Gpu if root == "gpus" else Model)
        record = late_record(root)
        if record is not None:
            made: Record = self._record(root, key, record)
            return made
        if root == "prices":
            self.prices_of(self._gpu_key(key))
        elif root == "sources":
            for document in [*self._all_shipped(), *self.own]:
                self.source_in(document, key)
        return None

    def entries(self, root: str, key: str) -> list[Entry]:
        """Return the pieces an entry is merged from, the shipped one first."""
        return [document.entry(root, key) for document in self._documents(root) if document.has(root, key)]

    def _price_keys(self) -> list[str]:
        """Return the GPUs that have prices, by their ids; a GPU outside the catalogue keeps its name."""
        return list(dict.fromkeys(self._gpu_key(key) for key in self.ids("prices")))

    def priced_gpu(self, key: str) -> tuple[bool, str]:
        """Return whether a name that prices stand under is a GPU of the catalogue, and its id or the name."""
        found = self._candidates("gpus", key)
        return len(found) == 1, self._gpu_key(key)

    def _gpu_key(self, name: str) -> str:
        found = self._candidates("gpus", name)
        return found[0] if len(found) == 1 else name

    def prices_of(self, gpu: str) -> list[Price]:
        """Return the prices of one GPU by its id, a user's rows over the shipped ones."""
        rows: list[Price] = []
        for document in self._documents("prices"):
            keys = self._price_names(document).get(gpu, ())
            here = [price for key in keys for price in self._price_rows(document, key, gpu)]
            replaced = {price.identity for price in here}
            rows = [price for price in rows if price.identity not in replaced] + here
        return rows

    def _price_names(self, document: Document) -> dict[str, list[str]]:
        """Return under which names a file prices each GPU; a user's file may use any of its names."""
        if document.path not in self._priced:
            names: dict[str, list[str]] = {}
            for key in document.ids("prices"):
                gpu = self._gpu_key(key) if document in self.own else key
                names.setdefault(gpu, []).append(key)
            self._priced[document.path] = names
        return self._priced[document.path]

    def _price_rows(self, document: Document, key: str, gpu: str) -> list[Price]:
        entry = document.entry("prices", key)
        if not isinstance(entry.data, list):
            raise CatalogueError(
                f"{entry.piece.file}:{entry.line_of(())}: prices.{key}: expected a list of prices"
            )
        made = []
        for position, row in enumerate(entry.data):
            located = Entry(row, entry.piece, (*entry.prefix, position))
            made.append(self._make(Price, f"prices.{key}.{position}", row, [located], {"gpu": gpu}))
        return made

    # -- files -----------------------------------------------------------------------------------------------

    def _documents(self, root: str) -> list[Document]:
        """Return the files that may hold a root key, in the order in which they lie over each other."""
        shipped = ROOTS[root].file
        if shipped in OPTIONAL and not (self.directory / shipped).exists():
            return list(self.own)
        return [self._shipped_document(shipped), *self.own]

    def _shipped_document(self, file: str) -> Document:
        if file not in self._shipped:
            self._shipped[file] = Document(self.directory / file)
        return self._shipped[file]

    def _all_shipped(self) -> list[Document]:
        return [self._shipped_document(file) for file in FILES if (self.directory / file).exists()]

    def source_in(self, document: Document, key: str) -> Source | None:
        """Return a source of one file's `sources:` table, or None."""
        if not document.has("sources", key):
            return None
        where = (document.path, key)
        if where not in self._sources:
            entry = document.entry("sources", key)
            self._sources[where] = self._make(Source, f"sources.{key}", entry.data, [entry], {"id": key})
        return self._sources[where]

    def document_of(self, entry: Entry) -> Document:
        """Return the file that an entry stands in."""
        documents = [*self._shipped.values(), *self.own]
        return next(document for document in documents if str(document.path) == entry.piece.file)


class _Sources:
    """The sources an entry may name: those of its own file first, then those of the files over it."""

    def __init__(self, catalogue: Catalogue, entries: list[Entry]) -> None:
        self._catalogue = catalogue
        own_files = [catalogue.document_of(entry) for entry in reversed(entries)]
        self._documents = list(dict.fromkeys([*own_files, *reversed(catalogue.own)]))

    def source(self, key: str) -> Source | None:
        for document in self._documents:
            found = self._catalogue.source_in(document, key)
            if found is not None:
                return found
        return None

    def source_ids(self) -> list[str]:
        return [key for document in self._documents for key in document.ids("sources")]
