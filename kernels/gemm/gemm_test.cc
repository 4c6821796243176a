#include "kernels/gemm/gemm.h"

#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/amx/amx.h"
#include "kernels/gemm/gemm_variants.h"
#include "kernels/gemm/reference.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/count_allocations.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::IntegerTensor;
using testing::KeepsNaN;
using testing::NaNTensor;
using testing::Pitched;
using testing::RandomTensor;
using testing::Values;

constexpr TensorFormat kFormat = TensorFormat::kNHWC;  // of a matrix, any

class GemmTest : public ::testing::TestWithParam<std::string_view> {
 protected:
  std::unique_ptr<Gemm> Make(const GemmSpec& spec) {
    auto gemm = CreateGemm(*context_, spec, GetParam());
    EXPECT_TRUE(gemm.ok()) << gemm.status();
    return *std::move(gemm);
  }

  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
};

std::vector<std::string_view> CpuVariants() {
  std::vector<std::string_view> names;
  const auto context = *DeviceContext::Create(Device::Cpu());
  for (const std::string_view name : GemmVariants()) {
    if (CreateGemm(*context, {.m = 1, .n = 1, .k = 1}, name).ok()) names.push_back(name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Variants, GemmTest, ::testing::ValuesIn(CpuVariants()),
                         [](const auto& info) { return std::string(info.param); });

// With a workspace of its own.
absl::Status Multiply(Gemm& gemm, const Tensor& a, const Tensor& b, const Tensor& c,
                      const EpilogueOperands& operands = {}) {
  return gemm.Run(a, b, c, operands, testing::FencedWorkspace(gemm.workspace_bytes()));
}

struct Problem {
  Tensor a, b, c;
  EpilogueOperands operands;
};

Problem MakeProblem(const GemmSpec& spec, bool integers, bool pitched) {
  const auto make = [&](const Shape& shape, uint64_t seed) {
    const Tensor dense =
        integers ? IntegerTensor(spec.dtype, shape, seed) : RandomTensor(spec.dtype, shape, seed);
    return pitched && shape.rank() == 2 ? Pitched(dense, kFormat) : dense;
  };
  const auto [m, n, k] = std::tuple(spec.m, spec.n, spec.k);
  return {make(spec.transpose_a ? Shape{k, m} : Shape{m, k}, 1),
          make(spec.transpose_b ? Shape{n, k} : Shape{k, n}, 2),
          make({m, n}, 3),
          {.bias = make({n}, 4), .scale = make({n}, 5), .addend = make({m, n}, 6)}};
}

std::vector<double> Expected(const GemmSpec& spec, const Problem& x) {
  const std::vector<double> a = Values(x.a), b = Values(x.b), addend = Values(x.operands.addend);
  const std::vector<double> bias = Values(x.operands.bias), scale = Values(x.operands.scale);
  std::vector<double> c = Values(x.c);
  reference::Gemm(spec.transpose_a, spec.transpose_b, spec.m, spec.n, spec.k, a.data(),
                  spec.transpose_a ? spec.m : spec.k, b.data(), spec.transpose_b ? spec.k : spec.n,
                  spec.accumulate, c.data(), spec.n);
  for (size_t i = 0; i < c.size(); ++i) {
    const size_t column = i % size_t(spec.n);
    if (spec.epilogue.scale) c[i] *= scale[column];
    if (spec.epilogue.bias) c[i] += bias[column];
    if (spec.epilogue.add) c[i] += addend[i];
    if (spec.epilogue.relu) c[i] = c[i] < 0 ? 0 : c[i];
  }
  return c;
}

TEST_P(GemmTest, MatchesReferenceForEveryTransposeSizeAndPitch) {
  const int64_t sizes[][3] = {{1, 1, 1},    {1, 10, 128}, {64, 10, 33},  {7, 3, 2},
                              {65, 129, 9}, {36, 8, 784}, {130, 70, 41}, {31, 33, 300}};
  for (const auto& [m, n, k] : sizes) {
    for (int bits = 0; bits < 32; ++bits) {
      const GemmSpec spec = {.m = m,
                             .n = n,
                             .k = k,
                             .transpose_a = bool(bits & 1),
                             .transpose_b = bool(bits & 2),
                             .accumulate = bool(bits & 4),
                             .dtype = bits & 8 ? DType::kFloat64 : DType::kFloat32};
      SCOPED_TRACE(spec.ToString());
      const auto gemm = Make(spec);
      for (const bool integers : {true, false}) {
        const Problem x = MakeProblem(spec, integers, bits & 16);
        const std::vector<double> expected = Expected(spec, x);
        ASSERT_EQ(Multiply(*gemm, x.a, x.b, x.c), absl::OkStatus());
        const double tolerance = integers ? 0 : testing::SumTolerance(spec.dtype, k) * 2;
        ASSERT_TRUE(testing::Close(Values(x.c), expected, tolerance));
      }
    }
  }
}

TEST_P(GemmTest, EveryEpilogue) {
  // One thread; several, by rows and by columns; several cache blocks of rows and of columns.
  const int64_t sizes[][3] = {
      {13, 35, 6}, {150, 90, 70}, {20, 300, 100}, {600, 40, 5}, {3, 2100, 5}};
  for (const auto& [m, n, k] : sizes) {
    for (int bits = 0; bits < 16; ++bits) {
      const GemmSpec spec = {.m = m,
                             .n = n,
                             .k = k,
                             .epilogue = {.bias = bool(bits & 1),
                                          .scale = bool(bits & 2),
                                          .add = bool(bits & 4),
                                          .relu = bool(bits & 8)}};
      SCOPED_TRACE(spec.ToString());
      for (const bool pitched : {false, true}) {
        const Problem x = MakeProblem(spec, /*integers=*/true, pitched);
        const std::vector<double> expected = Expected(spec, x);
        ASSERT_EQ(Multiply(*Make(spec), x.a, x.b, x.c, x.operands), absl::OkStatus());
        ASSERT_TRUE(testing::Close(Values(x.c), expected, 0));
      }
    }
  }
}

TEST_P(GemmTest, SameBitsOnAnyNumberOfThreads) {
  const int64_t sizes[][3] = {{64, 128, 1568}, {1568, 128, 64}, {300, 20, 500}, {130, 190, 300}};
  for (const auto& [m, n, k] : sizes) {
    for (int bits = 0; bits < 4; ++bits) {
      const GemmSpec spec = {
          .m = m, .n = n, .k = k, .transpose_a = bool(bits & 1), .transpose_b = bool(bits & 2)};
      SCOPED_TRACE(spec.ToString());
      const auto gemm = Make(spec);
      std::vector<double> one;
      for (const int threads : {1, 2, 3, 4}) {
        SetNumThreads(threads);
        const Problem x = MakeProblem(spec, false, false);
        ASSERT_EQ(Multiply(*gemm, x.a, x.b, x.c), absl::OkStatus());
        if (threads == 1) one = Values(x.c);
        EXPECT_TRUE(one == Values(x.c)) << threads << " threads";
      }
    }
  }
}

TEST_P(GemmTest, SmallerBatchRunsOnTheSamePrimitive) {
  GemmSpec spec = {.m = 64, .n = 10, .k = 33, .epilogue = {.bias = true}};
  const auto gemm = Make(spec);
  for (const int64_t m : {64, 17, 1, 0}) {
    spec.m = m;
    const Problem x = MakeProblem(spec, true, false);
    const std::vector<double> expected = Expected(spec, x);
    ASSERT_EQ(Multiply(*gemm, x.a, x.b, x.c, x.operands), absl::OkStatus());
    EXPECT_TRUE(testing::Close(Values(x.c), expected, 0)) << m;
  }
}

TEST_P(GemmTest, SumsColumnsBesideTheProduct) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const auto& [m, n, k] : {std::tuple(1, 1, 1), {7, 1, 2}, {1, 33, 5}, {65, 70, 129}}) {
      GemmSpec spec = {.m = m, .n = n, .k = k, .transpose_a = true, .dtype = dtype};
      spec.column_sums = true;
      SCOPED_TRACE(spec.ToString());
      const auto gemm = Make(spec);
      EXPECT_EQ(gemm->variant(), GetParam());
      for (const int64_t batch : {k, 0}) {
        spec.k = batch;
        Problem x = MakeProblem(spec, /*integers=*/true, /*pitched=*/true);
        x.operands.column_sums = IntegerTensor(dtype, {n}, 7);
        const std::vector<double> expected = Expected(spec, x), b = Values(x.b);
        std::vector<double> sums(size_t(n), 0);
        for (size_t i = 0; i < b.size(); ++i) sums[i % size_t(n)] += b[i];
        ASSERT_EQ(Multiply(*gemm, x.a, x.b, x.c, x.operands), absl::OkStatus());
        EXPECT_EQ(Values(x.c), expected);
        EXPECT_EQ(Values(x.operands.column_sums), sums);
      }
      const Problem x = MakeProblem(spec, true, false);
      const absl::Status without = Multiply(*gemm, x.a, x.b, x.c, x.operands);
      EXPECT_EQ(without.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_NE(std::string(without.message()).find("the sums of columns"), std::string::npos);
    }
  }
}

TEST_P(GemmTest, EmptySumIsZeroOrWhatIsThere) {
  GemmSpec spec = {.m = 3, .n = 5, .k = 0};
  Problem x = MakeProblem(spec, true, false);
  ASSERT_EQ(Multiply(*Make(spec), x.a, x.b, x.c), absl::OkStatus());
  EXPECT_EQ(Values(x.c), std::vector<double>(15, 0.0));
  spec.accumulate = true;
  x = MakeProblem(spec, true, false);
  const std::vector<double> before = Values(x.c);
  ASSERT_EQ(Multiply(*Make(spec), x.a, x.b, x.c), absl::OkStatus());
  EXPECT_EQ(Values(x.c), before);
}

TEST_P(GemmTest, NaNInAnyOperandComesOutOfEveryEpilogue) {
  for (const auto& [m, n, k] : {std::tuple(1, 1, 1), {7, 3, 2}, {65, 70, 33}}) {
    GemmSpec spec = {.m = m, .n = n, .k = k};
    spec.epilogue = {.bias = true, .scale = true, .add = true, .relu = true};
    const auto gemm = Make(spec);
    for (int operand = 0; operand < 5; ++operand) {
      Problem x = MakeProblem(spec, true, false);
      Tensor* const operands[] = {&x.a, &x.b, &x.operands.bias, &x.operands.scale,
                                  &x.operands.addend};
      *operands[operand] = NaNTensor(spec.dtype, operands[operand]->shape());
      const std::vector<double> expected = Expected(spec, x);
      ASSERT_EQ(Multiply(*gemm, x.a, x.b, x.c, x.operands), absl::OkStatus());
      EXPECT_TRUE(KeepsNaN(Values(x.c), expected)) << spec.ToString() << " operand " << operand;
    }
  }
}

TEST_P(GemmTest, MismatchedShapesAreNamed) {
  const GemmSpec spec = {.m = 4, .n = 3, .k = 2, .epilogue = {.bias = true}};
  const auto gemm = Make(spec);
  const Tensor a = *Tensor::Zeros(DType::kFloat32, {4, 2}),
               c = *Tensor::Zeros(DType::kFloat32, {4, 3});
  const Tensor b = *Tensor::Zeros(DType::kFloat32, {2, 3}),
               bias = *Tensor::Zeros(DType::kFloat32, {3});
  EXPECT_EQ(Multiply(*gemm, a, b, c, {.bias = bias}), absl::OkStatus());

  const Tensor wrong = *Tensor::Zeros(DType::kFloat32, {5, 3});
  const absl::Status mismatch = Multiply(*gemm, a, wrong, c, {.bias = bias});
  EXPECT_EQ(mismatch.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(mismatch.message()).find("(4, 2) float32 times (5, 3) float32"),
            std::string::npos)
      << mismatch;
  const Tensor doubles = *Tensor::Zeros(DType::kFloat64, {2, 3});
  EXPECT_EQ(Multiply(*gemm, a, doubles, c, {.bias = bias}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Multiply(*gemm, a, b, c).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Multiply(*gemm, a, b, c, {.bias = c}).code(), absl::StatusCode::kInvalidArgument);
  const Tensor tall = *Tensor::Zeros(DType::kFloat32, {5, 2});
  EXPECT_EQ(Multiply(*gemm, tall, b, wrong, {.bias = bias}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(GemmCreateTest, PrefersTheFirstVariantThatApplies) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  EXPECT_EQ((*CreateGemm(*context, {.m = 1, .n = 1, .k = 1}))->variant(), "tile");
}

absl::StatusOr<std::unique_ptr<Gemm>> Invalid(DeviceContext&, const GemmSpec&) {
  return absl::InvalidArgumentError("another epilogue");
}
absl::StatusOr<std::unique_ptr<Gemm>> Unimplemented(DeviceContext&, const GemmSpec&) {
  return absl::UnimplementedError("no algorithm");
}
absl::StatusOr<std::unique_ptr<Gemm>> OldLibrary(DeviceContext&, const GemmSpec&) {
  return absl::FailedPreconditionError("an old library");
}

TEST(GemmCreateTest, OnlyRefusalsLeadToTheNextVariant) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto create = [&](const std::vector<GemmVariant>& variants) {
    return CreateFirst(variants, *context, {.m = 1, .n = 1, .k = 1});
  };
  const GemmVariant tile = {"tile", CreateTileGemm};
  const auto made = create({{"a", Invalid}, {"b", Unimplemented}, tile});
  ASSERT_EQ(made.status(), absl::OkStatus());
  EXPECT_EQ((*made)->variant(), "tile");
  EXPECT_EQ(create({{"a", Invalid}, {"b", OldLibrary}, tile}).status(),
            absl::FailedPreconditionError("an old library"));
  const absl::Status none = create({{"a", Invalid}, {"b", Unimplemented}}).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(none.message()).find("; a: another epilogue; b: no algorithm"),
            std::string::npos)
      << none;
}

TEST(GemmCreateTest, MultipliesBfloat16InTilesWhereThereIsAmx) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  for (int bits = 0; bits < 16; ++bits) {
    GemmSpec spec = {.m = 33,
                     .n = 40,
                     .k = 70,
                     .transpose_a = bool(bits & 1),
                     .transpose_b = bool(bits & 2),
                     .accumulate = bits / 4 == 1,
                     .dtype = DType::kBfloat16,
                     .wide_result = bits / 4 == 3};
    if (bits / 4 == 2) spec.epilogue = {.bias = true, .scale = true, .add = true, .relu = true};
    spec.column_sums = spec.wide_result && !spec.transpose_b;
    SCOPED_TRACE(spec.ToString());
    Problem x = MakeProblem(spec, /*integers=*/true, /*pitched=*/true);
    const auto wide = [](const Shape& shape) { return IntegerTensor(DType::kFloat32, shape, 7); };
    if (spec.wide_result) x.c = wide({spec.m, spec.n});
    x.operands.bias = wide({spec.n}), x.operands.scale = wide({spec.n});
    x.operands.column_sums = wide({spec.n});
    std::vector<double> expected = Expected(spec, x), sums(size_t(spec.n), 0);
    if (!spec.wide_result) {
      for (double& value : expected) value = double(Bfloat16(float(value)));
    }
    const auto gemm = *CreateGemm(*context, spec);
    const bool dots = DotRefusal().empty() && DotsAreFast();
    EXPECT_EQ(gemm->variant(), AmxRefusal().empty() ? "amx" : dots ? "dot" : "tile");
    ASSERT_EQ(Multiply(*gemm, x.a, x.b, x.c, x.operands), absl::OkStatus());
    EXPECT_TRUE(testing::Close(Values(x.c), expected, 0));
    if (!spec.column_sums) continue;
    const std::vector<double> b = Values(x.b);
    for (size_t i = 0; i < b.size(); ++i) sums[i % size_t(spec.n)] += b[i];
    EXPECT_EQ(Values(x.operands.column_sums), sums);
  }
}

TEST(GemmCreateTest, RefusesWhatNobodyCanDo) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto refusal = [&](const GemmSpec& spec) {
    const absl::Status status = CreateGemm(*context, spec).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << spec.ToString();
    return std::string(status.message());
  };
  EXPECT_EQ(refusal({.m = -1, .n = 2, .k = 3}), "gemm: negative size in m = -1, n = 2, k = 3");
  EXPECT_EQ(refusal({.m = 1, .n = -2, .k = 3}), "gemm: negative size in m = 1, n = -2, k = 3");
  EXPECT_EQ(refusal({.m = 1, .n = 2, .k = -3}), "gemm: negative size in m = 1, n = 2, k = -3");
  EXPECT_EQ(refusal({.m = 1, .n = 1, .k = 1, .dtype = DType::kInt32}),
            "gemm: dtype int32; only float32 and float64 are multiplied");
  EXPECT_EQ(refusal({.m = 1, .n = 1, .k = 1, .dtype = DType::kFloat64, .tf32 = true}),
            "gemm: TF32 is for float32, not for float64");
  const GemmSpec both = {.m = 1, .n = 2, .k = 3, .accumulate = true, .epilogue = {.relu = true}};
  EXPECT_EQ(refusal(both),
            "gemm: " + both.ToString() + " has both accumulate and an epilogue; choose one");
  for (const GemmSpec& spec :
       {GemmSpec{.m = 1, .n = 2, .k = 3, .transpose_b = true, .column_sums = true},
        GemmSpec{.m = 1, .n = 2, .k = 3, .accumulate = true, .column_sums = true}}) {
    EXPECT_EQ(refusal(spec), "gemm: " + spec.ToString() +
                                 " sums columns; B cannot be transposed then, nor C be added to");
  }
  const absl::Status unknown = CreateGemm(*context, {.m = 1, .n = 1, .k = 1}, "tyle").status();
  for (const char* name : {"tile, ", ", blis"}) {
    EXPECT_NE(std::string(unknown.message()).find(name), std::string::npos) << unknown;
  }
}

TEST(GemmCreateTest, RunsAllocateNothing) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  const GemmSpec spec = {
      .m = 200, .n = 90, .k = 300, .transpose_b = true, .epilogue = {.bias = true}};
  const auto gemm = *CreateGemm(*context, spec);
  const Problem x = MakeProblem(spec, true, false);
  const auto memory = *Buffer::Allocate(Device::Cpu(), gemm->workspace_bytes());
  const Workspace workspace = {memory->data(), memory->size()};
  SetNumThreads(2);
  ASSERT_EQ(gemm->Run(x.a, x.b, x.c, x.operands, workspace), absl::OkStatus());
  const testing::AllocationCounter counter;
  ASSERT_EQ(gemm->Run(x.a, x.b, x.c, x.operands, workspace), absl::OkStatus());
  EXPECT_EQ(counter.count(), 0);
}

TEST(GemmCreateTest, RefusesAWorkspaceThatIsTooSmall) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  const GemmSpec spec = {.m = 8, .n = 8, .k = 8};
  const auto gemm = *CreateGemm(*context, spec, "tile");
  const Problem x = MakeProblem(spec, true, false);
  EXPECT_NE(std::string(gemm->Run(x.a, x.b, x.c, {}, {}).message()).find("a workspace of 0 bytes"),
            std::string::npos);
}

TEST(GemmSpecTest, TokenTellsWhatIsNotDefault) {
  EXPECT_EQ((GemmSpec{.m = 64, .n = 128, .k = 1568}).ToString(), "m64n128k1568_nn_f32");
  EXPECT_EQ((GemmSpec{.m = 64,
                      .n = 128,
                      .k = 1568,
                      .transpose_b = true,
                      .epilogue = {.bias = true, .relu = true}})
                .ToString(),
            "m64n128k1568_nt_f32_bias_relu");
  EXPECT_EQ((GemmSpec{.m = 1,
                      .n = 2,
                      .k = 3,
                      .transpose_a = true,
                      .accumulate = true,
                      .dtype = DType::kFloat64})
                .ToString(),
            "m1n2k3_tn_f64_acc");
  EXPECT_EQ((GemmSpec{.m = 1, .n = 2, .k = 3, .column_sums = true}).ToString(),
            "m1n2k3_nn_f32_sums");
}

}  // namespace
}  // namespace dtnn
