"""Draws the graph of the I/O paths as SVG: from load to volume, with a column for each entity kind."""

from __future__ import annotations

from collections import defaultdict

from markupsafe import Markup

from sanpath.views.html import svg
from sanpath.views.html.path_graph import Edge, Node, PathGraph

_WIDTH, _HEIGHT = 112.0, 46.0
_ROW_HEIGHT = 84.0
_COLUMN_GAP, _LABELLED_GAP = 26.0, 124.0
"""Distance between two columns, without and with labelled cables between them."""
_MAX_LETTERS = 17
"""Maximum characters in a box."""

Places = dict[str, tuple[float, float]]
"""Entity → coordinates of its upper left corner."""


def path_drawing(graph: PathGraph) -> Markup | None:
    """The drawing. None: there is nothing to draw."""
    if not graph.nodes:
        return None
    places, size = _places(graph)
    description = "; ".join(graph.chains) or "No path between the load and its volumes is known."
    edges = sorted(graph.edges.values(), key=lambda e: e.limits)
    return svg.picture(
        "topology",
        "I/O paths from load to volume",
        description,
        size,
        *(_line(edge, graph, places) for edge in edges),
        *(_box(node, *places[entity]) for entity, node in graph.nodes.items()),
        *(_label(edge, graph, places) for edge in edges if edge.label or edge.busy),
    )


def _places(graph: PathGraph) -> tuple[Places, tuple[float, float]]:
    """Positions of all entities, near those on the left that they are linked to, and the size of the drawing."""
    columns: defaultdict[int, list[str]] = defaultdict(list)
    for entity, node in graph.nodes.items():
        columns[node.column].append(entity)
    rows = max(len(entities) for entities in columns.values())
    labelled = {graph.nodes[edge.first].column for edge in graph.edges.values() if edge.label}
    places: Places = {}
    x = 8.0
    for column in sorted(columns):
        before = {e: [places[a][1] for a, b, _ in graph.edges if b == e and a in places] for e in columns[column]}
        ordered = sorted(columns[column], key=lambda e: sum(before[e]) / len(before[e]) if before[e] else 0.0)
        top = 12 + (rows - len(ordered)) * _ROW_HEIGHT / 2
        places.update({e: (x, top + row * _ROW_HEIGHT) for row, e in enumerate(ordered)})
        right = x + _WIDTH
        x = right + (_LABELLED_GAP if column in labelled else _COLUMN_GAP)
    return places, (right + 8, 8 + rows * _ROW_HEIGHT)


def _box(node: Node, x: float, y: float) -> Markup:
    css = "node limits" if node.limits else "node"
    return svg.element(
        "g",
        svg.element("title", f"{node.kind} {node.name}"),
        svg.element("rect", x=x, y=y, width=_WIDTH, height=_HEIGHT, rx=6, class_=css),
        svg.element("text", node.kind, x=x + _WIDTH / 2, y=y + 16, class_="tick middle"),
        svg.element("text", _cut(node.name), x=x + _WIDTH / 2, y=y + 34, class_="name middle"),
        *(
            svg.element("text", note, x=x + _WIDTH / 2, y=y + _HEIGHT + 14 + 13 * n, class_="note middle")
            for n, note in enumerate(node.notes)
        ),
    )


def _line(edge: Edge, graph: PathGraph, places: Places) -> Markup:
    """A line that is level at the end with its label and bends near the other end."""
    (x1, y1), (x2, y2) = places[edge.first], places[edge.second]
    x1, y1, y2 = x1 + _WIDTH, y1 + _HEIGHT / 2, y2 + _HEIGHT / 2
    bend = min(_COLUMN_GAP, x2 - x1)
    if _labelled_end(edge, graph) == edge.first:
        turn = x2 - bend / 2
        path_data = f"M{x1:.0f} {y1:.0f}H{x2 - bend:.0f}C{turn:.0f} {y1:.0f} {turn:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"
    else:
        turn = x1 + bend / 2
        path_data = f"M{x1:.0f} {y1:.0f}C{turn:.0f} {y1:.0f} {turn:.0f} {y2:.0f} {x1 + bend:.0f} {y2:.0f}H{x2:.0f}"
    state = "unseen" if not edge.reported else "idle" if edge.loaded is False else "loaded"
    return svg.element("path", d=path_data, class_=f"edge {'limits' if edge.limits else state}")


def _labelled_end(edge: Edge, graph: PathGraph) -> str:
    """The end of an edge with fewer lines, where labels do not overlap."""
    left = sum(1 for e in graph.edges.values() if e.second == edge.second)
    right = sum(1 for e in graph.edges.values() if e.first == edge.first)
    return edge.first if left >= right else edge.second


def _label(edge: Edge, graph: PathGraph, places: Places) -> Markup:
    end = _labelled_end(edge, graph)
    y = places[end][1] + _HEIGHT / 2
    # The label is above the level part of the line.
    offset = -_COLUMN_GAP if end == edge.first else _COLUMN_GAP
    x = (places[edge.first][0] + _WIDTH + places[edge.second][0] + offset) / 2
    css = "note middle" if edge.limits else "tick edge-label middle"
    below = [*edge.busy.split(", "), *(["LIMIT"] if edge.limits else [])]
    return Markup("").join(
        svg.element("text", text, x=x, y=y + down, class_=css)
        for text, down in ((edge.label, -7), *((text, 16 + 13 * n) for n, text in enumerate(below)))
        if text
    )


def _cut(name: str) -> str:
    return name if len(name) <= _MAX_LETTERS else f"…{name[1 - _MAX_LETTERS :]}"
