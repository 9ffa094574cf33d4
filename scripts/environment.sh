# Sourced by the scripts that build and test in an environment of their own, below $work. PYTHON
# names the interpreter.

# Puts an environment with the test requirements of pyproject.toml and those of the build, without
# leakscore itself, at the head of PATH.
make_environment() {
  local venv=$work/venv
  [[ -d $venv ]] || "${PYTHON:-python3}" -m venv "$venv"
  export PATH="$venv/bin:$PATH"
  python - <<'END' >"$venv/requirements.txt"
import pathlib, re
text = pathlib.Path("pyproject.toml").read_text()
for key in ("requires", "dependencies", "test"):
    block = re.search(rf"^{key} = \[(.*?)\]$", text, flags=re.M | re.S)[1]
    print(*re.findall(r'"([^"]+)"', block), sep="\n")
END
  python -m pip install --quiet --disable-pip-version-check -r "$venv/requirements.txt"
}

# install_to FOLDER [pip arguments]: this checkout, with the C++ tests, in FOLDER/site; built in
# FOLDER/cmake, where a later call finds what need not be compiled again.
install_to() {
  local folder=$1
  shift
  rm -rf "$folder/site"
  python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
    --target "$folder/site" -C build-dir="$folder/cmake" -C cmake.define.LEAKSCORE_TESTS=ON "$@" .
}
