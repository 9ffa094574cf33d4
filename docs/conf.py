"""The site: `sphinx-build -W --keep-going -n -b html docs build/docs`."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

from PIL import Image
from sphinx.application import Sphinx

import leakscore
import leakscore_app

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "_ext"))

project = "leakscore"
author = "The leakscore maintainers"
copyright = f"2024-2026, {author}"
version = release = leakscore.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.linkcode",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
nitpicky, default_role = True, "autolink"
# Types that C++ and typing give no page to.
nitpick_ignore_regex = [("py:.*", r"leakscore\._.*"), ("py:.*", r"leakscore\..*\._.*")]
exclude_patterns = ["architecture.md", "gallery_src/**", "_static/**"]
templates_path = ["_templates"]
pygments_style = "a11y-high-contrast-light"

# Pages and their programs.
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb"}
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode, nb_execution_raise_on_error, nb_execution_timeout = "cache", True, 120
nb_execution_cache_path = str(ROOT / "build" / "docs-cache")
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# The API: a class and its methods are one page, so that every reference resolves.
autosummary_generate = True
# Pages for what a room lists, loaded on first use or not, and no other name.
autosummary_ignore_module_all, autosummary_imported_members = False, True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members, numpydoc_xref_param_type = False, False

# Inventories are committed (scripts/write_inventories): the site is built without network.
intersphinx_mapping = {
    "python": ("https://docs.python.org/3", "_inventories/python.inv"),
    "numpy": ("https://numpy.org/doc/stable", "_inventories/numpy.inv"),
    "scipy": ("https://docs.scipy.org/doc/scipy", "_inventories/scipy.inv"),
    "matplotlib": ("https://matplotlib.org/stable", "_inventories/matplotlib.inv"),
}

# MathJax lies in the site, and no page asks another server for anything.
mathjax_path = "mathjax/tex-svg.js"
mathjax3_config = {"options": {"enableMenu": False}, "svg": {"fontCache": "global"}}

sphinx_gallery_conf = {
    "examples_dirs": ["gallery_src"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "notebook_extensions": set(),
    "doc_module": ("leakscore", "leakscore_app"),
    "backreferences_dir": None,
    "matplotlib_animations": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 3,
    "thumbnail_size": (320, 200),
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("gallery_style.reset",),
    "within_subsection_order": "gallery_style.Order",
    "download_all_examples": False,
    "write_computation_times": False,  # a page with scripts from elsewhere
}

html_theme = "pydata_sphinx_theme"
html_title = "leakscore"
html_static_path = ["_static"]
html_css_files = ["leakscore.css"]
html_js_files = ["print.js"]
html_copy_source = html_show_sourcelink = False
html_use_index = html_domain_indices = False  # the search and the lists of rooms have it all
html_context = {"default_mode": "auto"}
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "primary_sidebar_end": [],  # no advertisements
    "collapse_navigation": True,  # a page lists its own branch only: a third of the size
    "back_to_top_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"**": ["sidebar-nav-bs"], "index": [], "gallery/index": []}


def setup(app: Sphinx) -> None:
    """Leave in the folder of the site what the site is made of."""
    if app.doctreedir == app.outdir / ".doctrees":
        app.doctreedir = type(app.doctreedir)(app.outdir.parent / "docs-doctrees")
    app.connect("build-finished", _slim)


# What no page uses, or only those who change the theme read.
_UNUSED = ["**/*.map", "**/fa-brands*", "**/fa-regular*", "webpack-macros.html"]
_UNUSED += ["broken_example.png", "no_image.png", "*badge_logo.svg"]
_OF_GALLERY = r'<link [^>]*/sg_gallery[^>]*>|<script src="[^"]*/sg-tags[^>]*></script>'


def _slim(app: Sphinx, _error: Exception | None) -> None:
    """Remove what is not used: 300 pages hold the same head and the same marks."""
    for pattern in _UNUSED:
        for path in app.outdir.glob(f"_static/{pattern}"):
            path.unlink()
    for path in app.outdir.glob("_images/*.png"):
        with Image.open(path) as picture:
            many = picture.mode != "P"
            few = picture.convert("RGBA").quantize(128, method=Image.Quantize.FASTOCTREE)
        if many:
            few.save(path, optimize=True)
    for path in app.outdir.glob("**/*.html"):
        page = path.read_text("utf-8")
        parts = re.split(r"(<pre.*?</pre>|<textarea.*?</textarea>)", page, flags=re.S)
        of_gallery = path.parent.name == "gallery"
        parts[::2] = [_without_marks(part, of_gallery=of_gallery) for part in parts[::2]]
        if (slim := "".join(parts)) != page:
            path.write_text(slim, "utf-8")


def _without_marks(page: str, *, of_gallery: bool) -> str:
    """Remove indentation, comments, and what neither a style nor a script looks for."""
    page = re.sub(r"<!--.*?-->", "", page, flags=re.S)
    page = re.sub(r'<span class="pre">(.*?)</span>', r"\1", page)
    page = page.replace('<a class="reference internal" href', "<a href")
    page = page.replace('<code class="docutils literal notranslate">', '<code class="literal">')
    page = re.sub(r' title="Link to this [a-z]+"', "", page)
    if not of_gallery:
        page = re.sub(_OF_GALLERY, "", page)
    return re.sub(r"\s*\n\s*", "\n", page)


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Return where the source of an object lies in the repository."""
    if domain != "py" or not info["module"]:
        return None
    value: object = sys.modules.get(info["module"])
    for part in info["fullname"].split("."):
        value = getattr(value, part, None)
    try:
        unwrapped = inspect.unwrap(value)  # type: ignore[arg-type]
        path, (lines, first) = inspect.getsourcefile(unwrapped), inspect.getsourcelines(unwrapped)
    except (TypeError, OSError, ValueError):
        return None
    packages = Path(leakscore.__file__).parents[1]
    if path is None or not Path(path).is_relative_to(packages):
        return None
    place = Path(path).relative_to(packages)
    last = first + len(lines) - 1
    return f"https://github.com/leakscore/leakscore/blob/v{release}/python/{place}#L{first}-L{last}"


def _functions(law: object) -> list[str]:
    """Return the functions of a law: of the object, or of its class."""
    own = [name for name in vars(law) if not name.startswith("_") and callable(getattr(law, name))]
    return own or [name for name in vars(type(law)) if not name.startswith("_")]


def _laws() -> dict[str, dict[str, object]]:
    """Return the functions of each law: objects, which autodoc takes for data."""
    from leakscore import distributions

    laws = {name: getattr(distributions, name) for name in distributions.__all__}
    return {
        f"leakscore.distributions.{name}": {
            "says": (inspect.getdoc(type(law)) or "").splitlines()[0],
            "functions": _functions(law),
        }
        for name, law in laws.items()
        if not inspect.isroutine(law) and not inspect.isclass(law)
    }


# Names without a page: arrays, of which Sphinx cannot format a signature (the page of types names
# them), and those of a room that the application's page lists.
_ARRAYS = ("Array", "Counts", "Doubles", "Flags", "Indices")
_unlisted = [f"leakscore.typing.{name}" for name in _ARRAYS]
_unlisted += [f"leakscore_app.report.{name}" for name in leakscore_app.__all__]
autosummary_context = {"laws": _laws(), "unlisted": _unlisted}
