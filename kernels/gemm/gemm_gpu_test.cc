#include <vector>

#include "gtest/gtest.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/reference.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using testing::IntegerTensor;
using testing::Put;

// The columns 2 .. of a wider matrix: a view with a pitch.
Tensor Middle(const Tensor& wide) {
  return wide.Channels(2, wide.shape()[1] - 3, TensorFormat::kNHWC);
}

// Small integers, so that every order of summation is exact. C has a pitch, or is dense.
template <typename T>
void ExpectReference(DeviceContext& context, Gemm& gemm, const GemmSpec& spec, bool pitched) {
  const auto [m, n, k] = std::tuple(spec.m, spec.n, spec.k);
  const Shape a_shape = spec.transpose_a ? Shape{k, m + 3} : Shape{m, k + 3};
  const Tensor a = IntegerTensor(spec.dtype, a_shape, 1);
  const Tensor b =
      IntegerTensor(spec.dtype, spec.transpose_b ? Shape{n, k + 3} : Shape{k, n + 3}, 2);
  const auto c_of = [&](const Tensor& c) { return pitched ? Middle(c) : c; };
  const Tensor c = IntegerTensor(spec.dtype, {m, pitched ? n + 3 : n}, 3),
               addend = IntegerTensor(spec.dtype, {m, n}, 4);
  const Tensor bias = IntegerTensor(spec.dtype, {n}, 5), scale = IntegerTensor(spec.dtype, {n}, 6);
  const Tensor device_c = Put(context, c);
  const Tensor sums = Put(context, bias);
  const EpilogueOperands operands = {Put(context, bias), Put(context, scale), Put(context, addend),
                                     sums};
  const size_t bytes = gemm.workspace_bytes();
  const std::shared_ptr<Buffer> memory = *Buffer::Allocate(context.device(), bytes + 1);
  ASSERT_EQ(gemm.Run(Middle(Put(context, a)), Middle(Put(context, b)), c_of(device_c), operands,
                     {memory->data(), bytes}),
            absl::OkStatus());

  const Tensor expected = c_of(c);
  T* to = expected.data<T>();
  reference::Gemm(spec.transpose_a, spec.transpose_b, m, n, k, Middle(a).data<T>(), a.RowPitch(),
                  Middle(b).data<T>(), b.RowPitch(), spec.accumulate, to, c.RowPitch());
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T& value = to[i * c.RowPitch() + j];
      if (spec.epilogue.scale) value *= scale.data<T>()[j];
      if (spec.epilogue.bias) value += bias.data<T>()[j];
      if (spec.epilogue.add) value += addend.data<T>()[i * n + j];
      if (spec.epilogue.relu) value = std::max(value, T(0));
    }
  }
  EXPECT_TRUE(testing::Close(Get(context, device_c), c, 0)) << spec.ToString();
  if (!spec.column_sums) return;
  const Tensor expected_sums = testing::ZeroTensor(spec.dtype, {n});
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t j = 0; j < n; ++j) {
      expected_sums.data<T>()[j] += Middle(b).data<T>()[p * b.RowPitch() + j];
    }
  }
  EXPECT_TRUE(testing::Close(Get(context, sums), expected_sums, 0)) << spec.ToString();
}

std::vector<GemmSpec> Specs(DType dtype) {
  std::vector<GemmSpec> specs;
  for (const auto& [m, n, k] :
       {std::tuple(1, 1, 1), std::tuple(5, 7, 3), std::tuple(64, 10, 129), std::tuple(3, 33, 0)}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        GemmSpec spec = {.m = m,
                         .n = n,
                         .k = k,
                         .transpose_a = ta,
                         .transpose_b = tb,
                         .dtype = dtype,
                         .epilogue = {}};
        specs.push_back(spec);
        spec.epilogue = {.bias = true};
        specs.push_back(spec);
        spec.epilogue = {.bias = true, .relu = true};
        specs.push_back(spec);
        spec.epilogue = {.bias = true, .scale = true, .add = true};
        specs.push_back(spec);
        spec.epilogue = {};
        spec.accumulate = true;
        specs.push_back(spec);
        if (tb) continue;
        spec.accumulate = false;
        spec.column_sums = true;
        specs.push_back(spec);
      }
    }
  }
  return specs;
}

void ExpectReferenceOf(DeviceContext& context, Gemm& gemm, const GemmSpec& spec) {
  DispatchFloating(spec.dtype, [&]<typename T>(T) {
    for (const bool pitched : {true, false}) ExpectReference<T>(context, gemm, spec, pitched);
  });
}

class GemmGpuTest : public ::testing::TestWithParam<DType> {};

TEST_P(GemmGpuTest, EqualsReferenceOnASimulatedGpu) {
  const std::unique_ptr<DeviceContext> gpu = *DeviceContext::Create(Device::Simulated(0));
  for (const GemmSpec& spec : Specs(GetParam())) {
    ExpectReferenceOf(*gpu, **CreateGemm(*gpu, spec), spec);
  }
}

TEST_P(GemmGpuTest, EqualsReferenceOnAGpu) {
  DTNN_GPU_OR_SKIP(gpu);
  for (const GemmSpec& spec : Specs(GetParam())) {
    for (const char* const variant : {"cublaslt", "cublas", "plain"}) {
      const bool lt = variant == std::string_view("cublaslt");
      const bool for_lt =
          spec.epilogue == Epilogue{.bias = !spec.column_sums} && !spec.accumulate && spec.k > 0;
      if (lt && !for_lt) continue;
      const auto gemm = CreateGemm(*gpu, spec, variant);
      // Not every cuBLASLt sums columns in every type.
      if (lt && spec.column_sums && absl::IsUnimplemented(gemm.status())) continue;
      ASSERT_EQ(gemm.status(), absl::OkStatus());
      ExpectReferenceOf(*gpu, **gemm, spec);
    }
  }
}

TEST_P(GemmGpuTest, RefusesWhatDoesNotFit) {
  const std::unique_ptr<DeviceContext> gpu = *DeviceContext::Create(Device::Simulated(0));
  const auto gemm =
      *CreateGemm(*gpu, {.m = 2, .n = 3, .k = 4, .dtype = GetParam(), .epilogue = {}});
  const Tensor host_a = IntegerTensor(GetParam(), {2, 4}, 1), a = Put(*gpu, host_a);
  const Tensor b = Put(*gpu, IntegerTensor(GetParam(), {4, 3}, 1));
  const Tensor c = Put(*gpu, IntegerTensor(GetParam(), {2, 3}, 1));
  EXPECT_EQ(gemm->Run(a, b, c, {}, {}), absl::OkStatus());
  EXPECT_EQ(gemm->Run(host_a, b, c, {}, {}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(gemm->Run(a, a, c, {}, {}).code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(, GemmGpuTest, ::testing::Values(DType::kFloat32, DType::kFloat64));

}  // namespace
}  // namespace dtnn
