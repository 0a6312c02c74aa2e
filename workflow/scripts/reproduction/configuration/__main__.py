"""Write the JSON schemas and the reference page of the configuration."""

import sys
from pathlib import Path

from reproduction.configuration import ConfigurationError
from reproduction.configuration.reference import files

ROOT = Path(__file__).resolve().parents[4]

if __name__ == "__main__":
    try:
        made = files()
    except ConfigurationError as problem:
        sys.exit(f"Error: {problem}")
    for path, text in made.items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8")
