"""Write the JSON schemas and the reference page of the configuration."""

from reproduction.configuration.reference import files
from reproduction.places import CHECKOUT

if __name__ == "__main__":
    for path, text in files().items():
        (CHECKOUT / path).write_text(text, encoding="utf-8")
