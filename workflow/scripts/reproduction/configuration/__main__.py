"""Write the JSON schemas and the reference page of the configuration."""

import sys

from reproduction.configuration import ConfigurationError
from reproduction.configuration.reference import files
from reproduction.places import CHECKOUT

if __name__ == "__main__":
    try:
        made = files()
    except ConfigurationError as problem:
        sys.exit(f"Error: {problem}")
    for path, text in made.items():
        (CHECKOUT / path).parent.mkdir(parents=True, exist_ok=True)
        (CHECKOUT / path).write_text(text, encoding="utf-8")
