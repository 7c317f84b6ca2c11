"""The partition is convex, complete and as coarse as its rules allow."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mlirtrt_nb.passes.clustering.partition import MERGES, partition, settled_partition, topological_order

BENEFITS = {"trt": 3, "host": 1}


@st.composite
def graphs(draw):
    """A random dataflow graph: backends, and for each node some earlier nodes that it reads."""
    count = draw(st.integers(1, 24))
    backends = draw(st.lists(st.sampled_from(["trt", "host", "none"]), min_size=count, max_size=count))
    producers = [
        sorted(draw(st.sets(st.integers(0, node - 1), max_size=3))) if node else [] for node in range(count)
    ]
    return backends, producers


def is_acyclic(clusters, producers):
    """Whether the condensed graph has an order, found independently by repeated removal of sources."""
    pairs = {(clusters[p], clusters[n]) for n, sources in enumerate(producers) for p in sources}
    edges = {(a, b) for a, b in pairs if a != b}
    left = set(clusters)
    while left:
        free = {c for c in left if not any(b == c and a in left for a, b in edges)}
        if not free:
            return False
        left -= free
    return True


@given(graphs(), st.sampled_from(MERGES))
@settings(max_examples=300, deadline=None)
def test_clusters_never_close_a_cycle_and_never_mix_backends(graph, merge):
    """Whatever the graph, clusters can be run one after another, and each has one backend."""
    backends, producers = graph
    clusters = partition(backends, producers, BENEFITS, merge=merge)
    assert is_acyclic(clusters, producers)
    for cluster in set(clusters):
        members = [n for n, c in enumerate(clusters) if c == cluster]
        assert len({backends[n] for n in members}) == 1
        assert backends[members[0]] in BENEFITS or len(members) == 1


@given(graphs())
@settings(max_examples=150, deadline=None)
def test_no_two_clusters_of_the_first_backend_could_still_be_joined(graph):
    """With merging on, joining any two remaining clusters of the best backend would close a cycle."""
    backends, producers = graph
    clusters = partition(backends, producers, {"trt": 3})
    roots = sorted({c for n, c in enumerate(clusters) if backends[n] == "trt"})
    for first in roots:
        for second in roots:
            if first < second:
                joined = [first if c == second else c for c in clusters]
                assert not is_acyclic(joined, producers)


def test_a_detour_through_another_backend_keeps_two_clusters_apart():
    """trt -> host -> trt with a direct edge beside it: the two trt nodes cannot share an engine."""
    clusters = partition(["trt", "host", "trt"], [[], [0], [0, 1]], BENEFITS)
    assert len(set(clusters)) == 3


def test_parallel_branches_of_one_backend_share_a_cluster():
    """Two trt branches from one input become one engine, and stay two when merging is off."""
    backends, producers = ["trt", "trt", "none"], [[], [], [0, 1]]
    assert len(set(partition(backends, producers, BENEFITS))) == 2
    assert len(set(partition(backends, producers, BENEFITS, merge="none"))) == 3


@given(graphs(), st.integers(1, 6))
@settings(max_examples=150, deadline=None)
def test_no_cluster_of_engines_is_smaller_than_asked_for(graph, least):
    """Small clusters go to the host, what stays is large enough, and the clusters still have an order."""
    backends, producers = graph
    clusters, settled = settled_partition(backends, producers, BENEFITS, least=least, small=("trt", "host"))
    assert is_acyclic(clusters, producers)
    for before, after in zip(backends, settled, strict=True):
        assert after == before or (before, after) == ("trt", "host")
    for cluster in set(clusters):
        members = [n for n, c in enumerate(clusters) if c == cluster]
        assert len({settled[n] for n in members}) == 1
        assert settled[members[0]] != "trt" or len(members) >= least


def test_small_clusters_join_their_neighbours_on_the_host():
    """A single trt node between two host nodes makes one host part of all three, not three parts."""
    backends, producers = ["host", "trt", "host"], [[], [0], [1]]
    assert len(set(partition(backends, producers, BENEFITS))) == 3
    clusters, settled = settled_partition(backends, producers, BENEFITS, least=2, small=("trt", "host"))
    assert len(set(clusters)) == 1 and settled == ["host"] * 3


@given(graphs())
@settings(max_examples=150, deadline=None)
def test_the_order_puts_each_cluster_after_all_that_it_reads(graph):
    """Running clusters in `topological_order` never reads a value before it is made."""
    backends, producers = graph
    clusters = partition(backends, producers, BENEFITS)
    order = topological_order(clusters, producers)
    assert sorted(order) == sorted(set(clusters))
    position = {cluster: n for n, cluster in enumerate(order)}
    for node, sources in enumerate(producers):
        for source in sources:
            assert position[clusters[source]] <= position[clusters[node]]


def test_a_chain_of_twenty_thousand_nodes_is_one_cluster_in_linear_time():
    """Size alone must not slow the partition: a long chain finishes within the test's patience."""
    count = 20_000
    clusters = partition(["trt"] * count, [[n - 1] if n else [] for n in range(count)], BENEFITS)
    assert len(set(clusters)) == 1
