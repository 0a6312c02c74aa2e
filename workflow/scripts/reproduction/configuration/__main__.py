"""Write the JSON schemas and the reference page of the configuration."""

from pathlib import Path

from reproduction.configuration.reference import files

ROOT = Path(__file__).resolve().parents[4]

if __name__ == "__main__":
    for path, text in files().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8")
