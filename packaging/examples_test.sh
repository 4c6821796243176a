#!/usr/bin/env bash
# The installed examples, built and run as docs/installing.md says; what they link.
# usage: examples_test.sh INSTALL MODEL IMAGE LAUNCH
set -euo pipefail

install=$PWD/$1 model=$PWD/$2 image=$PWD/$3 launch=$PWD/$4
prefix=$TEST_TMPDIR/prefix
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
failed=false
check() {
  "${@:2}" && return
  echo "FAILED: $1" >&2
  failed=true
}

for program in cmake pkg-config make; do
  if ! command -v $program >/dev/null; then
    echo "SKIPPED: $program is not installed; ./setup.sh --dev installs it"
    exit 0
  fi
done
"$install" --prefix="$prefix" --components=distributed  # train by another name
cp -r "$prefix/share/doc/dtnn/examples" "$TEST_TMPDIR"
cd "$TEST_TMPDIR/examples"

# C++ with CMake: a program that predicts, one that trains.
cmake -S cmake -B build -DCMAKE_PREFIX_PATH="$prefix"
cmake --build build --parallel 2
build/train "$TEST_TMPDIR/mine.safetensors"
build/answer "$TEST_TMPDIR/mine.safetensors" "$image" | tee answers
check "the model that was trained answers" grep -q "^$image: [0-9]* [0-9.]* %$" answers

# All give the same answer to the same model: C++ by CMake and by pkg-config, and C.
make -C pkg-config
make -C c
build/answer "$model" "$image" >answers
pkg-config/answer "$model" "$image" >others
check "pkg-config and CMake agree" diff answers others
cmake -S predict -B predict-build -DCMAKE_PREFIX_PATH="$prefix"
cmake --build predict-build
predict-build/answer "$model" "$image" >others
check "predict and cmake agree" diff answers others
c/answer "$model" "$image" | tee described
check "C and C++ agree" diff answers <(sed 1d described)
check "C describes the model" grep -q "^DTNN [0-9.]*, simplecnn: 4 x 4 x 1 (NHWC), 3 outputs, 2751 parameters$" described
check "C reports errors" test "$(c/answer none.npz "$image" 2>&1)" = "answer: none.npz: cannot be opened: No such file or directory"

# A program that predicts has nothing of training, of MPI, of gRPC, of a broker.
for program in build/answer pkg-config/answer c/answer "$prefix/lib/libdtnn.so"; do
  libraries=$(readelf --dynamic "$program")
  for unwanted in libmpi libprotoc libgrpc libmosquitto libssl libarchive libblis; do
    check "$program does not link $unwanted" test "${libraries/$unwanted/}" = "$libraries"
  done
done
nm --demangle build/answer >symbols
check "the predictor is there" grep -q "dtnn::Predictor::Load" symbols
for unwanted in StepEngine RuleOptimizer dtnn::Trainer; do
  check "no $unwanted in a program that predicts" test "$(grep -c "$unwanted" symbols)" = 0
done
nm --demangle build/train >symbols
check "names of what trains are as above" grep -q StepEngine symbols

# The programs of docs/library.md need no other headers than are installed.
cmake -S library -B library-build -DCMAKE_PREFIX_PATH="$prefix"
for program in library/{own_parts,run,train}.cc; do
  check "$program compiles" g++ -std=c++20 -fsyntax-only -I"$prefix/include/dtnn" "$program"
done
cmake --build library-build --target ranks
(cd library-build && "$launch" -n 2 -- ./ranks) | tee said
check "two ranks train one model" grep -q 'test accuracy [0-9.]* %$' said
check "and say it once" test "$(grep -c 'test accuracy' said)" = 1
check "which is saved" test -s library-build/ranks.safetensors
check "pkg-config has that name, too" test "$(pkg-config --libs dtnn-distributed)" = "$(pkg-config --libs dtnn-train)"
check "all programs are there" test "$(echo library/*.cc)" = \
  "library/own_parts.cc library/ranks.cc library/run.cc library/train.cc"

# A newer version than there is, and an older one, which before 1.0 is another.
for version in 0.99 0.0; do
  sed "s/dtnn [0-9.]*/dtnn $version/" -i cmake/CMakeLists.txt
  said=$(cmake -S cmake -B "other-$version" -DCMAKE_PREFIX_PATH="$prefix" 2>&1) &&
    check "version $version" false
  check "CMake says which version there is" grep -q 'dtnn-config.cmake, version: [0-9]' <<<"$said"
done
sed 's/dtnn 0.0/dtnn/' -i cmake/CMakeLists.txt

# A component that a program can do without, on a machine that lacks a library of Debian's for it.
mkdir optional
cat >optional/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(optional CXX)
find_package(dtnn REQUIRED COMPONENTS predict OPTIONAL_COMPONENTS distributed train)
message(STATUS "predict ${dtnn_predict_FOUND}, train ${dtnn_train_FOUND}, distributed ${dtnn_distributed_FOUND}")
END
said=$(cmake -S optional -B optional-build -DCMAKE_PREFIX_PATH="$prefix")
check "all components" grep -q 'predict TRUE, train TRUE, distributed TRUE' <<<"$said"
sed '/_dtnn_link_libraries "/s/;-l/;-lmissing;-l/' -i "$prefix/lib/cmake/dtnn/dtnn-train.cmake"
said=$(cmake -S optional -B optional-build -DCMAKE_PREFIX_PATH="$prefix")
check "without the optional ones" grep -q 'predict TRUE, train FALSE, distributed FALSE' <<<"$said"
said=$(cmake -S cmake -B lacking -DCMAKE_PREFIX_PATH="$prefix" 2>&1) && check "a library is missing" false
check "CMake says which library" grep -q 'component train needs the library missing' <<<"$said"

# What CMake says of a component that is not there.
"$install" --prefix="$prefix" --components=predict
said=$(cmake -S cmake -B without -DCMAKE_PREFIX_PATH="$prefix" 2>&1) && check "without train" false
check "CMake says which component is missing" grep -q "component train is not installed" <<<"$said"

echo "sizes in MB, without symbols:"
for program in build/answer build/train "$prefix/lib/libdtnn.so"; do
  strip -o stripped "$program"
  echo "  $(basename "$program") $(du -k stripped | awk '{ printf "%.1f", $1 / 1024 }')"
done
! $failed
