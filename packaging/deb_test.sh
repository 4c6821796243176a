#!/usr/bin/env bash
# What is in the Debian packages, and that it works when it is unpacked.
# usage: deb_test.sh DTNN DEVELOPMENT LIBRARY PYTHON VERSION
set -euo pipefail

if ! command -v dpkg-deb >/dev/null; then
  echo "SKIPPED: dpkg-deb is not installed: this is not a Debian system"
  exit 0
fi
root=$TEST_TMPDIR/root
failed=false
check() {
  "${@:2}" && return
  echo "FAILED: $1" >&2
  failed=true
}
for package in "$1" "$2" "$3" "$4"; do
  dpkg-deb --field "$package"
  check "version" test "$(dpkg-deb --field "$package" Version)" = "$5"
  for file in $(dpkg-deb --fsys-tarfile "$package" | tar -t | grep -v '/$'); do
    check "$file is in one package" test ! -e "$root/$file"
  done
  dpkg-deb --extract "$package" "$root"
done

check "programs need MPI" grep -q "libopenmpi3 .*openmpi-bin" <<<"$(dpkg-deb --field "$1" Depends)"
check "and recommend the data of the first run" \
  test "$(dpkg-deb --field "$1" Recommends)" = dataset-fashion-mnist
check "the library does not" grep -vq openmpi <<<"$(dpkg-deb --field "$3" Depends)"
check "the library needs protobuf" grep -q libprotobuf <<<"$(dpkg-deb --field "$3" Depends)"
check "what is linked with it needs no older one" \
  grep -qx "libdtnn 0 libdtnn0 (>= $5)" <<<"$(dpkg-deb --info "$3" shlibs)"
check "headers need Abseil's" grep -q libabsl-dev <<<"$(dpkg-deb --field "$2" Depends)"
check "/usr/bin has one program" test "$(ls "$root/usr/bin")" = dtnn
check "programs start" test "$("$root/usr/lib/dtnn/bin/predict" --version)" = "predict (DTNN) $5"
man=$root/usr/share/man/man1
check "the manual page lists the programs" zgrep -qx '.BR dtnn\\-predict (1)' "$man/dtnn.1.gz"
check "with what they do" zgrep -qx 'predicts how training scales' "$man/dtnn.1.gz"
for package in dtnn libdtnn0 libdtnn-dev python3-dtnn; do
  check "$package has notices" grep -q '^Copyright:' "$root/usr/share/doc/$package/licenses/librandom123-dev"
done
check "all files are packaged" test -e "$root/usr/lib/cmake/dtnn/dtnn-train.cmake"

sed "s#^\(bin\|list\)=#&$root#" "$root/usr/bin/dtnn" >"$TEST_TMPDIR/dtnn"
check "dtnn starts them" test "$(sh "$TEST_TMPDIR/dtnn" inspect --version)" = "inspect (DTNN) $5"
check "with this version" test "$(sh "$TEST_TMPDIR/dtnn" --version)" = "dtnn $5"
for program in $(ls "$root/usr/lib/dtnn/bin"); do
  check "$program has a line" grep -q "^  $program  *[a-z]" <<<"$(sh "$TEST_TMPDIR/dtnn" --help)"
  page=$(gunzip <"$man/dtnn-$program.1.gz")
  check "$program has a page" grep -q "^dtnn.-${program//_/.} .- [a-z]" <<<"$page"
  check "that says how it is called here" grep -q "^\(mpirun .*\)\?dtnn $program" <<<"$page"
done
option='\fB\-\-batch\-size\fR=\fISAMPLES\fR'
check "a page has options" grep -qxF "$option" <<<"$(gunzip <"$man/dtnn-predict.1.gz")"
check "and documents where they are" grep -qF ': /usr/share/doc/dtnn/docs/serving.md.' \
  <<<"$(sh "$TEST_TMPDIR/dtnn" serve --help)"
check "in manual pages too" grep -qF /usr/share/doc/dtnn/docs/serving.md <<<"$(gunzip <"$man/dtnn-serve.1.gz" | sed 's/\\-/-/g')"
check "texts name commands that are there" grep -q '^  dtnn serve --model-file=mine.safetensors$' \
  <<<"$(sh "$TEST_TMPDIR/dtnn" serve --help)"
check "of other programs too" grep -q '; dtnn convert_imagenet makes .npz files' \
  <<<"$(sh "$TEST_TMPDIR/dtnn" check_dataset --dataset=imagenet --dataset-path="$TEST_TMPDIR" || true)"
check "and none of Bazel" test "$(strings "$root"/usr/lib/dtnn/bin/* | grep -c 'bazel run //apps:[a-z]')" = 0

# offers WHAT WORD...: what bash offers for the last word, a line each.
sed "s#bin=/usr#bin=$root/usr#" "$root/usr/share/bash-completion/completions/dtnn" >"$TEST_TMPDIR/completion"
offers() {
  bash -uc 'source "$0"; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _dtnn; printf "%s\n" "${COMPREPLY[@]-}"' \
    "$TEST_TMPDIR/completion" dtnn "$@" | tr '\n' ' '
}
check "bash completes programs" test "$(offers qu)" = "quantize "
check "and options" test "$(offers predict --model-f)" = "--model-file= "
check "and their values" test "$(offers benchmark --progress = b)" = "bar "
check "programs that launch starts" test "$(offers launch -n 2 -- bench)" = "benchmark "
check "and their values" test "$(offers launch -n 2 -- benchmark --progress = b)" = "bar "
check "but not of what is no program" test "$(offers ../predict --model-f)" = " "
check "zsh's is where Debian's zsh looks" grep -qx '#compdef dtnn' \
  "$root/usr/share/zsh/vendor-completions/_dtnn"

python=$(dpkg-deb --field "$4" Depends)
check "Python needs this Python" grep -q "python3 (>= 3.*python3 (<< 3.*python3-numpy.*libprotobuf" <<<"$python"
said=$(PYTHONPATH=$root/usr/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -c '
import dtnn, sys
print(dtnn.__file__, dtnn.__version__, dtnn.load(sys.argv[1]).name)' models/run/testdata/model.safetensors)
check "and works" test "$said" = "$root/usr/lib/python3/dist-packages/dtnn/__init__.py $5 simplecnn"

examples=$root/usr/share/doc/libdtnn-dev/examples
check "the examples" test "$(ls "$examples" | tr '\n' ' ')" = "README.md c cmake library pkg-config predict "
check "the documents" test -s "$root/usr/share/doc/dtnn/docs/first-lesson.md"
check "of clusters too" test -s "$root/usr/share/doc/dtnn/examples/deploy/ranks.slurm"
check "links of pages, also of NEWS" python3 packaging/check_links.py "$root/usr/share/doc"
check "commands are those of dtnn" grep -qx 'dtnn predict --model-file=mine.safetensors cat.jpg' \
  "$root/usr/share/doc/dtnn/docs/onnx.md"
check "README says nothing of the sources" test "$(grep -c 'this installs\|setup\.sh\|bazel [a-z]* //' "$root/usr/share/doc/dtnn/README.md")" = 0
check "but where a GPU is used" grep -q '| `bazel run --config=cuda .* in the sources;' "$root/usr/share/doc/dtnn/README.md"
check "library.md names the examples" grep -q '`library/run`, built as \[installing' "$root/usr/share/doc/dtnn/docs/library.md"
check "all marks are read" test "$(grep -rl '<!-- \(sources\|end\|installed\)' "$root/usr/share/doc" | wc -l)" = 0
check "of launch, too" grep -qx 'dtnn launch -n 2 -- benchmark --parallel=data --model=.*' \
  "$root/usr/share/doc/dtnn/docs/ranks-without-mpi.md"
check "and none of Bazel" test "$(grep -rhE 'bazel run //apps:[a-z]|bazel-bin/apps/' "$root/usr/share/doc" |
  grep -vcE 'scale_model_check|wheel/\*')" = 0
for name in $(grep -rhoE '(^|`|\$ )dtnn [a-z_]+' "$root/usr/share/doc" | sed 's/.* //' | sort -u); do
  check "pages name the program $name" test -x "$root/usr/lib/dtnn/bin/$name"
done
for path in $(grep -rhoE '/usr/(share|lib|include)/[a-z0-9/._-]*dtnn[a-z0-9/._-]*[a-z]' "$root/usr/share/doc" | sort -u); do
  check "pages name $path" test -e "$root$path"
done
check "Python's" test -s "$root/usr/share/doc/python3-dtnn/examples/fashion_mnist.py"
cp -r "$examples/c" "$TEST_TMPDIR/c"
PKG_CONFIG_PATH=$(echo "$root"/usr/lib/*/pkgconfig) make -C "$TEST_TMPDIR/c"
check "a C program is linked with it" grep -q "usage: answer" \
  <<<"$("$TEST_TMPDIR/c/answer" 2>&1 || true)"
! $failed
