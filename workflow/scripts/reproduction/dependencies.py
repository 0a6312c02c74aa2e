"""Fingerprints of the code that a script runs, so that jobs run again when it changes.

Snakemake does not follow imports.  So each rule has the fingerprint of its code among its
parameters.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1]


@cache
def code(script, *chosen, folder=SCRIPTS):
    """Fingerprint of a script and of every module of the project that it needs, 16 digits.

    ``chosen`` are modules that it imports by a name that it is given at run time.  Comments,
    docstrings and layout do not count.
    """
    digest = hashlib.sha256()
    for path in needed(script, *chosen, folder=folder):
        name = str(path.relative_to(folder))
        # What the register says of a mechanism reaches a job by its settings, and the module of the
        # mechanism that it draws from is among those it names.
        if name != "geodp/mechanisms/registry.py":
            digest.update(f"{name}\n{_read(path)[0]}\n".encode())
    return digest.hexdigest()[:16]


def needed(script, *chosen, folder=SCRIPTS):
    """Files of a script and of the project's modules that it imports, directly or indirectly."""
    found, waiting = set(), [folder / script]
    for name in chosen:
        modules = _files(name, folder)
        if not any(file.stem == name.split(".")[-1] for file in modules):
            raise FileNotFoundError(f"there is no module {name} in {folder}: correct its name")
        waiting += modules
    while waiting:
        if (file := waiting.pop()) not in found:
            found.add(file)
            waiting += _imported(file, folder)
    return sorted(found)


@cache
def _read(path):
    """Digest of the syntax of a file without what only readers see, and its import statements.

    Not the syntax itself: trees of all files would slow the collection of garbage.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = [*ast.walk(tree)]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in nodes:
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    imports = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), imports


@cache
def _imported(path, folder):
    """Files named by the import statements of a file, those within functions included."""
    found = set()
    for node in _read(path)[1]:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            module = node.module
            if node.level:
                parents = path.relative_to(folder).parts[: -node.level]
                module = ".".join([*parents, *([module] if module else [])])
            # A name imported from a package may be one of its modules.
            names = [module, *(f"{module}.{alias.name}" for alias in node.names)]
        for name in names:
            found.update(_files(name, folder))
    return found


@cache
def _files(name, folder):
    """File of a module and of its packages, which importing it runs too."""
    parts = name.split(".")
    places = [folder.joinpath(*parts[:depth]) for depth in range(1, len(parts) + 1)]
    files = [file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")]
    return [file for file in files if file.is_file()]
