// The signs of an output serve the backward pass as the output itself does: the same bits.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using testing::NaNTensor;
using testing::Put;
using testing::RandomTensor;
using testing::Values;
using testing::ZeroTensor;

constexpr int64_t kSamples = 3, kChannels = 24;
const Shape kImages = {kSamples, 5, 7, kChannels};

BatchNormSpec SpecOf(DType dtype) {
  return {.batch = kSamples + 1,
          .positions = 35,
          .channels = kChannels,
          .dtype = dtype,
          .add = true,
          .relu = true};
}

class BatchNormSignsGpuTest
    : public ::testing::TestWithParam<std::tuple<Device, DType, /*vectors=*/bool>> {
 protected:
  void SetUp() override {
    DTNN_GPU_OR_SKIP_AT(gpu, std::get<0>(GetParam()));
    gpu_ = std::move(gpu);
  }
  // On the device: the view, and all of the memory that it is of. Unless the test is for vectors,
  // no vector of 16 bytes begins where its rows do.
  struct Images {
    Tensor whole, view;
  };
  Images Make(uint64_t seed) const {
    const int64_t more = vectors_ ? 0 : 3;
    const Tensor whole = Put(*gpu_, RandomTensor(dtype_, {kSamples, 5, 7, kChannels + more}, seed));
    return {whole, vectors_ ? whole : whole.Channels(1, kChannels, TensorFormat::kNHWC)};
  }
  std::vector<double> ValuesOf(const Tensor& tensor) const { return Values(Get(*gpu_, tensor)); }
  Tensor SignsOf(const BatchNorm& norm) const {
    return Put(*gpu_, *Tensor::Zeros(DType::kUint8, {kSamples, norm.signs_bytes()}));
  }

  // How the two passes are called: all at once, step by step, or with running statistics.
  enum class Way : uint8_t { kWhole, kSteps, kFrozen };
  // y, dy as it was cut, dx, and the gradients of gamma and beta.
  std::vector<std::vector<double>> Train(Way way, bool with_signs) const {
    const std::unique_ptr<BatchNorm> norm = *CreateBatchNorm(*gpu_, SpecOf(dtype_));
    const auto vector = [&](DType dtype, uint64_t seed) {
      return Put(*gpu_, RandomTensor(dtype, {kChannels}, seed));
    };
    const DType wide = WideOf(dtype_);
    const BatchStatistics statistics = {vector(DType::kFloat64, 1), vector(DType::kFloat64, 2)};
    const BatchNormParameters parameters = {{vector(wide, 3), 1}, {vector(wide, 4), 1}};
    const RunningStatistics running = {{vector(wide, 5), 1}, {vector(wide, 6), 1}};
    const BatchNormGradients gradients = {vector(wide, 7), vector(wide, 8)};
    const auto memory = *Buffer::Allocate(gpu_->device(), norm->workspace_bytes());
    const Workspace workspace = {memory->data(), norm->workspace_bytes()};
    const Images in = Make(11), added = Make(12), dout = Make(13), din = Make(14),
                 output = Make(15);
    const Tensor &x = in.view, &addend = added.view, &dy = dout.view, &dx = din.view;
    const Tensor& y = output.view;
    BatchNormOutput out = {y, with_signs ? SignsOf(*norm) : Tensor()};
    const auto forward = [&]() -> absl::Status {
      if (way == Way::kWhole) {
        return norm->Normalize(x, statistics, parameters, running, addend, out, workspace);
      }
      if (way == Way::kFrozen) {
        return norm->Infer(x, parameters, running, addend, out, workspace);
      }
      const absl::Status status = norm->Statistics(x, statistics, workspace);
      return status.ok() ? norm->Apply(x, statistics, parameters, addend, out, workspace) : status;
    };
    EXPECT_EQ(forward(), absl::OkStatus());
    const std::vector<double> written = ValuesOf(output.whole);
    if (with_signs) out.y = Put(*gpu_, NaNTensor(dtype_, kImages));  // is not read
    const auto backward = [&]() -> absl::Status {
      if (way == Way::kWhole) {
        return norm->Backward(x, out, dy, statistics, parameters, gradients, dx, false, workspace);
      }
      if (way == Way::kFrozen) {
        return norm->BackwardInfer(x, out, dy, parameters, running, dx, false, workspace);
      }
      const absl::Status status =
          norm->Gradients(x, out, dy, statistics, parameters, gradients, workspace);
      if (!status.ok()) return status;
      return norm->BackwardData(x, dy, statistics, parameters, gradients, kSamples * 35, dx, false,
                                workspace);
    };
    EXPECT_EQ(backward(), absl::OkStatus());
    return {written, ValuesOf(dout.whole), ValuesOf(din.whole), ValuesOf(gradients.gamma),
            ValuesOf(gradients.beta)};
  }

  const DType dtype_ = std::get<1>(GetParam());
  const bool vectors_ = std::get<2>(GetParam());
  std::unique_ptr<DeviceContext> gpu_;
};

TEST_P(BatchNormSignsGpuTest, TheSameBitsAsTheOutput) {
  for (const Way way : {Way::kWhole, Way::kSteps, Way::kFrozen}) {
    const auto by_output = Train(way, false), by_signs = Train(way, true);
    EXPECT_EQ(by_signs, by_output) << int(way);
    // Some elements are cut, others are not.
    const auto& output = by_output[0];
    const auto zeros = std::ranges::count(output, 0.0);
    EXPECT_GT(zeros, 0);
    EXPECT_LT(zeros, std::ssize(output));
  }
}

TEST_P(BatchNormSignsGpuTest, ABitPerElementWhichNaNSetsToo) {
  const std::unique_ptr<BatchNorm> norm = *CreateBatchNorm(*gpu_, SpecOf(dtype_));
  const int64_t per_byte = int64_t(16 / SizeOf(dtype_));
  ASSERT_EQ(norm->signs_bytes(), 35 * kChannels / per_byte);
  const auto vector = [&](double value) {
    const std::vector<double> values(kChannels, value);
    return ParameterView{Put(*gpu_, testing::TensorOf(WideOf(dtype_), {kChannels}, values)), 1};
  };
  std::vector<double> values = Values(RandomTensor(dtype_, kImages, 21));
  values[5] = std::numeric_limits<double>::quiet_NaN();
  values[6] = 0;
  const Tensor addend = Put(*gpu_, testing::TensorOf(dtype_, kImages, values));
  const Tensor y = Make(22).view, x = Put(*gpu_, ZeroTensor(dtype_, kImages));
  const Tensor signs = SignsOf(*norm);
  const auto memory = *Buffer::Allocate(gpu_->device(), norm->workspace_bytes());
  ASSERT_EQ(norm->Infer(x, {vector(1), vector(0)}, {vector(0), vector(1)}, addend, {y, signs},
                        {memory->data(), norm->workspace_bytes()}),
            absl::OkStatus());
  const Tensor bytes = Get(*gpu_, signs);
  for (size_t i = 0; i < values.size(); ++i) {
    const int byte = bytes.data<uint8_t>()[i / size_t(per_byte)];
    ASSERT_EQ(byte >> (i % size_t(per_byte)) & 1, !(values[i] <= 0)) << i << ": " << values[i];
  }
}

TEST_P(BatchNormSignsGpuTest, NoneWhereTheyWouldNotServe) {
  const auto bytes = [&](BatchNormSpec spec) {
    return (*CreateBatchNorm(*gpu_, spec))->signs_bytes();
  };
  BatchNormSpec spec = SpecOf(dtype_);
  spec.relu = false;
  EXPECT_EQ(bytes(spec), 0);
  spec = SpecOf(dtype_);
  spec.add = false;
  EXPECT_EQ(bytes(spec), 0);
  spec = SpecOf(dtype_);
  spec.format = TensorFormat::kNCHW;
  EXPECT_EQ(bytes(spec), 0);
  spec = SpecOf(dtype_);
  spec.channels = 23;
  EXPECT_EQ(bytes(spec), 0);
}

TEST_P(BatchNormSignsGpuTest, OthersAreRefused) {
  const std::unique_ptr<BatchNorm> norm = *CreateBatchNorm(*gpu_, SpecOf(dtype_));
  const auto memory = *Buffer::Allocate(gpu_->device(), norm->workspace_bytes());
  const Tensor x = Make(11).view, wide = Put(*gpu_, RandomTensor(WideOf(dtype_), {kChannels}, 1));
  const auto infer = [&](const Tensor& signs) {
    return norm->Infer(x, {{wide, 1}, {wide, 1}}, {{wide, 1}, {wide, 1}}, x, {x, signs},
                       {memory->data(), norm->workspace_bytes()});
  };
  const int64_t bytes = norm->signs_bytes();
  const auto is_refused = [&](DType dtype, const Shape& shape) {
    const absl::Status status = infer(Put(*gpu_, *Tensor::Zeros(dtype, shape)));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("the signs"), std::string::npos) << status;
  };
  is_refused(DType::kUint8, {kSamples, bytes - 1});
  is_refused(DType::kUint8, {kSamples - 1, bytes});
  is_refused(DType::kInt32, {kSamples, bytes});
}

INSTANTIATE_TEST_SUITE_P(, BatchNormSignsGpuTest,
                         ::testing::Combine(::testing::Values(Device::Simulated(0),
                                                              Device::Cuda(0)),
                                            ::testing::Values(DType::kFloat32, DType::kFloat64,
                                                              DType::kBfloat16, DType::kFloat16),
                                            ::testing::Bool()));

}  // namespace
}  // namespace dtnn
