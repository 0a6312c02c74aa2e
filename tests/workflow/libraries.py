"""Which files of the project a script loads, and which its rule declares as its input."""

import json
import re
import subprocess
import sys

# Executes the import statements of each script and prints the project's files they loaded.
LOADER = """
import ast, json, pathlib, sys

folder = pathlib.Path.cwd()
sys.path.insert(0, str(folder))
loaded = {}
for name in sys.argv[1:]:
    tree = ast.parse((folder / name).read_text())
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            exec(compile(ast.Module([node], []), name, "exec"), {})
    files = {}
    for module in list(sys.modules):
        path = getattr(sys.modules[module], "__file__", None)
        if path and pathlib.Path(path).is_relative_to(folder):
            files[str(pathlib.Path(path).relative_to(folder))] = None
            # The next script has to load it afresh.
            del sys.modules[module]
    loaded[name] = sorted(files)
print(json.dumps(loaded))
"""

SCRIPTS = "workflow/scripts/"


def loaded_by(root, scripts):
    """The project's files that the imports of each script load, by script."""
    result = subprocess.run(
        [sys.executable, "-c", LOADER, *sorted(scripts)],
        cwd=root / SCRIPTS,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(result.stdout)


def measured_with(root, script, module):
    """The project's files that a script loads for one module of `reproduction.measurements`."""
    file = f"reproduction/measurements/{module.replace('.', '/')}.py"
    loaded = loaded_by(root, [f"{script}.py", file])
    return tuple(sorted({file, *(path for paths in loaded.values() for path in paths)}))


def declared_by(checkout, *targets):
    """The project's files that are inputs of each rule's jobs, by rule: a set with one entry each.

    Targets without a script are left out.
    """
    output = checkout.run("--dry-run", "--forceall", *targets)
    declared = {}
    for name, files in re.findall(r"(?m)^(?:local)?rule (\w+):\n +input: (.*)$", output):
        library = [
            file.removeprefix(SCRIPTS)
            for file in files.split(", ")
            if file.startswith(SCRIPTS) and file.endswith(".py")
        ]
        if name != "all":
            declared.setdefault(name, set()).add(tuple(sorted(library)))
    return declared
