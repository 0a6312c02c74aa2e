"""Pages as a reader sees them: in a headless Chromium, in a frame as wide as a screen."""

import html
import json
import os
import re
import shutil
import subprocess

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# Measured by the page itself when it has been loaded, and told to the page of the frame.
MEASURE = """<script>
const complaints = [];
addEventListener("error", event => complaints.push(event.message || event.target.src), true);
addEventListener("load", () => parent.postMessage(JSON.stringify({
    complaints,
    requested: performance.getEntriesByType("resource").map(each => each.name),
    pictures: [...document.images].map(image => ({
        complete: image.complete, wide: image.naturalWidth, alternative: image.alt,
        shown: image.width / Math.min(image.naturalWidth, 700)})),
    width: document.documentElement.scrollWidth,
    ends: [...document.querySelectorAll(".answer td")]
        .map(cell => cell.getBoundingClientRect().right),
    levels: [...document.querySelectorAll("h1,h2,h3,h4")].map(each => Number(each.tagName[1]))
}), "*"));
</script>"""
FRAME = """<iframe src="page.html" width="{width}" height="800" style="border: 0"></iframe>
<script>addEventListener("message", event => {{document.body.textContent = event.data}})</script>"""


def path():
    """Path of a Chromium; None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def seen(page, width, folder):
    """What a browser sees of a page on a screen so many pixels wide; see `MEASURE`."""
    text = page.read_text(encoding="utf-8")
    (folder / "page.html").write_text(text.replace(">", f">{MEASURE}", 1), encoding="utf-8")
    (folder / "frame.html").write_text(FRAME.format(width=width))
    # As root Chromium starts without its sandbox only.
    options = ["--headless", *(["--no-sandbox"] if os.geteuid() == 0 else []), "--disable-gpu"]
    options += [f"--user-data-dir={folder / 'profile'}", "--window-size=1400,900"]
    options += ["--virtual-time-budget=20000", "--dump-dom"]
    call = [path(), *options, (folder / "frame.html").as_uri()]
    shown = subprocess.run(call, capture_output=True, text=True, check=True, timeout=300).stdout
    return json.loads(html.unescape(re.search(r"(?s)<body>(.*)</body>", shown)[1]))
