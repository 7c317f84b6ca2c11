"""The partition view: a slider for the smallest cluster and a choice of merging over a Partition's card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..display.html import card_html
from ..display.partition import partition_card
from ..errors import MissingDependencyError
from ..reports.partition import Partition, partition

if TYPE_CHECKING:
    from ipywidgets import VBox

__all__ = ["PartitionView", "partition_view"]


class PartitionView:
    """A Partition that follows two controls. Without a kernel it shows the card that it had last.

    Attributes:
        partition: the Partition that is shown.
    """

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self._box: VBox | None = None

    def set(self, *, min_cluster_size: int | None = None, merge: str | None = None) -> Partition:
        """Show the partition by other settings, and return it. Raises OptionError."""
        self.partition = self.partition.with_settings(min_cluster_size=min_cluster_size, merge=merge)
        if self._box is not None:
            self._box.children[-1].value = self._repr_html_()
        return self.partition

    @property
    def widget(self) -> VBox:
        """The controls above the card, made when first asked for. Raises MissingDependencyError."""
        if self._box is None:
            self._box = self._made()
        return self._box

    def _made(self) -> VBox:
        try:
            import ipywidgets
        except ImportError:
            raise MissingDependencyError(
                "the partition view needs ipywidgets", hint="pip install ipywidgets; or use mt.partition(...)"
            ) from None
        from ..passes.clustering.partition import MERGES

        wide = {"description_width": "initial"}
        size = ipywidgets.IntSlider(
            value=self.partition.min_cluster_size,
            min=1,
            max=max(2, *(len(part.ops) for part in self.partition.parts), self.partition.min_cluster_size),
            description="smallest engine, in ops",
            continuous_update=False,
            style=wide,
        )
        merge = ipywidgets.Dropdown(
            value=self.partition.merge, options=MERGES, description="merge clusters", style=wide
        )
        size.observe(lambda change: self.set(min_cluster_size=change["new"]), "value")
        merge.observe(lambda change: self.set(merge=change["new"]), "value")
        return ipywidgets.VBox([ipywidgets.HBox([size, merge]), ipywidgets.HTML(self._repr_html_())])

    def __repr__(self) -> str:
        return f"<PartitionView of {self.partition!r}>"

    def _repr_html_(self) -> str:
        return card_html(partition_card(self.partition))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": str(self.partition), "text/html": self._repr_html_()}
        try:
            widget = self.widget
        except MissingDependencyError:
            return bundle
        return {**bundle, **widget._repr_mimebundle_(), "text/plain": str(self.partition)}


def partition_view(source: Any, **options: Any) -> PartitionView:
    """`mt.partition(source, **options)` with a slider and a choice over it; see `reports.partition`.

    Where there is no ipywidgets, it shows the same as static HTML.
    """
    made = source if isinstance(source, Partition) else partition(source, **options)
    return PartitionView(made)
