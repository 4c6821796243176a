// Random products of every variant for CPUs against the reference, with a fence beside every
// operand.

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/reference.h"
#include "tools/testing/random_cases.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::FencedWorkspace;
using testing::RandomCase;
using testing::RandomCases;
using testing::SumTolerance;
using testing::Values;
using Doubles = std::vector<double>;

constexpr TensorFormat kFormat = TensorFormat::kNHWC;  // of a matrix, any

GemmSpec RandomSpec(RandomCase& random) {
  const auto size = [&] { return random.Between(1, random.Seldom(6) ? 300 : 40); };
  GemmSpec spec = {.m = size(),
                   .n = size(),
                   .k = random.Seldom(20) ? 0 : size(),
                   .transpose_a = random.Flip(),
                   .transpose_b = random.Flip(),
                   .accumulate = random.Seldom(3),
                   .dtype = random.Floating()};
  if (spec.accumulate) return spec;
  spec.epilogue = {random.Flip(), random.Flip(), random.Flip(), random.Flip()};
  spec.column_sums = !spec.transpose_b && random.Seldom(4);
  return spec;
}

TEST(RandomGemmTest, ProductsEqualTheReference) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  for (RandomCases cases(300); RandomCase* random = cases.Next();) {
    const GemmSpec spec = RandomSpec(*random);
    const std::string_view variant = random->Pick<std::string_view>({"tile", "blis"});
    random->Name(std::string(variant) + " " + spec.ToString());
    random->SetThreads();
    const auto gemm = *CreateGemm(*context, spec, variant);
    // The primitive of a whole batch serves a smaller one.
    const int64_t m = random->Seldom(4) ? random->Between(0, spec.m) : spec.m;
    const auto [n, k] = std::pair(spec.n, spec.k);

    const auto matrix = [&](int64_t rows, int64_t columns) {
      return random->Operand(spec.dtype, {rows, columns}, kFormat);
    };
    const Tensor a = spec.transpose_a ? matrix(k, m) : matrix(m, k);
    const Tensor b = spec.transpose_b ? matrix(n, k) : matrix(k, n);
    const Tensor c = matrix(m, n);
    const EpilogueOperands operands = {.bias = random->Dense(spec.dtype, {n}),
                                       .scale = random->Dense(spec.dtype, {n}),
                                       .addend = matrix(m, n),
                                       .column_sums = random->Dense(spec.dtype, {n})};
    const Doubles left = Values(a), right = Values(b), addend = Values(operands.addend);
    const Doubles bias = Values(operands.bias), scale = Values(operands.scale);
    Doubles expected = Values(c), sums(size_t(n), 0);
    reference::Gemm(spec.transpose_a, spec.transpose_b, m, n, k, left.data(),
                    spec.transpose_a ? m : k, right.data(), spec.transpose_b ? k : n,
                    spec.accumulate, expected.data(), n);
    for (size_t i = 0; i < expected.size(); ++i) {
      const size_t column = i % size_t(n);
      if (spec.epilogue.scale) expected[i] *= scale[column];
      if (spec.epilogue.bias) expected[i] += bias[column];
      if (spec.epilogue.add) expected[i] += addend[i];
      if (spec.epilogue.relu) expected[i] = expected[i] < 0 ? 0 : expected[i];
    }
    for (size_t i = 0; i < right.size() && spec.column_sums; ++i) sums[i % size_t(n)] += right[i];

    const FencedWorkspace workspace = random->Workspace(gemm->workspace_bytes());
    ASSERT_EQ(gemm->Run(a, b, c, operands, workspace), absl::OkStatus());
    const double walk = 1 + .4 * std::sqrt(double(k));
    const double tolerance = random->integers() ? 0 : (2 + walk) * SumTolerance(spec.dtype, k);
    ASSERT_TRUE(Close(Values(c), expected, tolerance));
    if (spec.column_sums) {
      ASSERT_TRUE(Close(Values(operands.column_sums), sums, tolerance));
    }
  }
}

}  // namespace
}  // namespace dtnn
