"""Fingerprints of code: what counts, and what is followed."""

import pytest

from reproduction.dependencies import SCRIPTS, code, needed

SHAPES = '''def area(x):
    """The area."""
    if not x:
        return 0
    else:
        from tools import units
    return units.m(x)
'''
METRE = "class M:\n    size = 1\n\n\nm = M\n"
FILES = {
    "job.py": "from tools.shapes import area\n\nprint(area(2))\n",
    **{"other.py": "import json\n", "tools/__init__.py": "", "tools/shapes.py": SHAPES},
    "tools/units.py": "from . import metre\n\nm = metre.m\n",
    "tools/metre.py": METRE,
    "tools/kinds/__init__.py": "",
    "tools/kinds/round.py": "NAME = 1\n",
}


@pytest.fixture
def project(tmp_path_factory):
    """What writes the files, with some of them other than above, to a folder of its own."""

    def write(changed=()):
        folder = tmp_path_factory.mktemp("project")
        for name, text in (FILES | dict(changed)).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return folder

    return write


def test_imports_are_followed_within_functions_and_through_packages_and_names_are_known(project):
    folder = project()
    tools = {folder / f"tools/{name}.py" for name in ("__init__", "shapes", "units", "metre")}
    assert set(needed("job.py", folder=folder)) == tools | {folder / "job.py"}
    assert needed("other.py", folder=folder) == [folder / "other.py"]
    # Modules that are chosen by name are added.
    names = ["job.py"], ["job.py", "tools.kinds.round"]
    few, more = (set(needed(*each, folder=folder)) for each in names)
    assert more - few == {folder / "tools/kinds/__init__.py", folder / "tools/kinds/round.py"}
    assert code("job.py", folder=folder) != code("job.py", "tools.kinds.round", folder=folder)
    for name in ("tools.kinds.square", "tools.kinds.round.name", "nothing"):
        with pytest.raises(FileNotFoundError, match=f"no module {name} in"):
            code("job.py", name, folder=folder)


CODE = {
    "number": ("tools/metre.py", METRE.replace("1", "2")),
    "script": ("job.py", FILES["job.py"].replace("2", "3")),
    "package": ("tools/__init__.py", "NAME = 1\n"),
    "text that is no docstring": ("tools/metre.py", METRE.replace("= 1\n", '= 1\n    "x"\n')),
}


@pytest.mark.parametrize("name", CODE)
def test_code_changes_the_fingerprint(project, name):
    assert code("job.py", folder=project([CODE[name]])) != code("job.py", folder=project())


def test_what_only_readers_see_does_not_change_the_fingerprint(project):
    """Comments, layout and docstrings, and a file that nothing imports."""
    said = '"""Length."""\n# Why.\nclass M:\n    """Length."""\n\n    size = (1)\nm = M\n'
    changed = {"tools/metre.py": said, "tools/shapes.py": SHAPES.replace("The area.", "Area.")}
    changed["tools/kinds/round.py"] = "NAME = 2\n"
    assert code("job.py", folder=project(changed)) == code("job.py", folder=project())


# In the order of docs/architecture.md.
FOLDERS = ("promise", "run", "stages", "plan", "show", "ask")
PACKAGES = "geodp", *(f"geodp_release/{each}" for each in FOLDERS), "reproduction"


@pytest.mark.parametrize("index", range(len(PACKAGES)), ids=PACKAGES)
def test_packages_import_none_that_are_built_on_them(index):
    """Registries name classes of later packages in text, which is loaded on request."""
    later = {SCRIPTS / each for each in PACKAGES[index + 1 :]}
    for path in (SCRIPTS / PACKAGES[index]).rglob("*.py"):
        found = needed(path.relative_to(SCRIPTS))
        assert not [other for other in found if later & {*other.parents}], path
