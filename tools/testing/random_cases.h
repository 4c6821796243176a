// Random cases for tests of kernels, each drawn from its number alone: spec, sizes, pitches,
// threads and values.
//
//   for (RandomCases cases(300); RandomCase* random = cases.Next();) {
//     const PoolSpec spec = {.batch = random->Between(1, 4), ...};
//     random->Name(spec.ToString());
//     const Tensor x = random->Operand(spec.dtype, spec.InputShape(), spec.format);
//     ... run the kernel, compare with the reference ...
//   }
//
// The first failure ends the loop, and is printed with the number and name of its case; so is a
// signal, such as the SIGSEGV of an access beyond an operand (fenced.h). DTNN_RANDOM_CASES=100000
// runs so many of each instead, DTNN_RANDOM_FIRST=17 begins with number 17:
//
//   bazel test //kernels/... --test_env=DTNN_RANDOM_CASES=100000 --test_filter='*Random*'

#ifndef DTNN_TOOLS_TESTING_RANDOM_CASES_H_
#define DTNN_TOOLS_TESTING_RANDOM_CASES_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/philox.h"
#include "tensor/tensor.h"
#include "tools/testing/fenced.h"

namespace dtnn::testing {

class RandomCase {
 public:
  explicit RandomCase(uint64_t number);
  ~RandomCase();
  RandomCase(const RandomCase&) = delete;
  RandomCase& operator=(const RandomCase&) = delete;

  // What failures are printed with.
  void Name(std::string_view name);

  int64_t Between(int64_t low, int64_t high);  // inclusive
  bool Flip() { return Between(0, 1) == 1; }
  // One in `of`.
  bool Seldom(int64_t of) { return Between(1, of) == 1; }
  template <typename T>
  T Pick(std::initializer_list<T> values) {
    return values.begin()[Between(0, int64_t(values.size()) - 1)];
  }
  template <typename Container>
  auto PickFrom(const Container& values) {
    return *(std::begin(values) + Between(0, int64_t(std::size(values)) - 1));
  }
  DType Floating() { return Pick({DType::kFloat32, DType::kFloat64}); }
  TensorFormat Format() { return Pick({TensorFormat::kNHWC, TensorFormat::kNCHW}); }
  // 1 to 5, from now on.
  void SetThreads();

  // Small integers in one case of two, whose sums are exact, in the others real numbers in [-1, 1).
  bool integers() const { return integers_; }

  // Memory with a fence on one side: an activation, with a pitch or not; a vector or parameter; a
  // workspace.
  Tensor Operand(DType dtype, const Shape& shape, TensorFormat format);
  Tensor Dense(DType dtype, const Shape& shape);
  FencedWorkspace Workspace(size_t bytes);

 private:
  Fence RandomFence() { return Flip() ? Fence::kBehind : Fence::kBefore; }

  const uint64_t number_;
  const Philox stream_;
  uint64_t drawn_ = 0;
  bool integers_;
  std::optional<::testing::ScopedTrace> trace_;
};

class RandomCases {
 public:
  // So many, unless the environment says otherwise.
  explicit RandomCases(int64_t count);
  ~RandomCases();
  // Null when all are done, or one has failed.
  RandomCase* Next();

 private:
  uint64_t next_, end_;
  std::optional<RandomCase> current_;
};

}  // namespace dtnn::testing

#endif  // DTNN_TOOLS_TESTING_RANDOM_CASES_H_
