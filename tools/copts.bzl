"""What every C++ file of this repository is compiled with."""

STANDARD_COPTS = ["-std=c++20"]

# Results must not depend on which products a compiler happens to contract into an FMA: kernels that
# want one say so.
COPTS = STANDARD_COPTS + ["-ffp-contract=off"]

# Tests spend their time in the libraries that they test, so compiling them quickly is worth more
# than what the optimiser could gain: a fifth of the time of `bazel build //...`.
TEST_COPTS = ["-O1"]
